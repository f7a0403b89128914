//! How far a long command is, in one line of a terminal that is written over and does not stay.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};

/// Such a line on standard error, which is taken away when this is dropped. In a pipe there is none, but for what is announced.
#[derive(Debug)]
pub struct Progress {
    is_watched: bool,
}

impl Default for Progress {
    /// An empty one.
    fn default() -> Self {
        Self { is_watched: std::io::stderr().is_terminal() }
    }
}

impl Progress {
    /// Says this instead of what was said before.
    pub fn say(&self, text: fmt::Arguments<'_>) {
        if self.is_watched {
            let _ = write!(std::io::stderr(), "\r{text}\x1b[K");
        }
    }

    /// Says this at the beginning of what may take minutes: in a pipe, as a line that stays, so that nobody takes the silence for an end.
    pub fn announce(&self, text: fmt::Arguments<'_>) {
        if self.is_watched {
            self.say(text);
        } else {
            let _ = writeln!(std::io::stderr(), "gyre: {text}");
        }
    }

    /// Leaves the line to others, until something is said again.
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
