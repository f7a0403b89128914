//! The progress of a long command, in one line of a terminal that is overwritten.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};

/// A progress line on a terminal. Without a terminal, only announcements are shown.
#[derive(Debug)]
pub struct Progress {
    is_watched: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self { is_watched: std::io::stderr().is_terminal() }
    }
}

impl Progress {
    /// Replaces the text.
    pub fn say(&self, text: fmt::Arguments<'_>) {
        if self.is_watched {
            let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
        }
    }

    /// Announces a step that may take minutes. Without a terminal, this line stays.
    pub fn announce(&self, text: fmt::Arguments<'_>) {
        if self.is_watched {
            self.say(text);
        } else {
            let _ = writeln!(std::io::stderr(), "gyre: {text}");
        }
    }

    /// Clears the line until the next text.
    pub fn clear(&self) {
        if self.is_watched {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
