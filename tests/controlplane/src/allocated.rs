//! Counts the bytes that a process has allocated: one that counts writes it to a file, whenever that file is absent, and another asks.
//!
//! What the system gives a process depends on the allocator, on the threads and on the machine; what a program has allocated and not
//! given back does not.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Answers for as long as the process lives, with what `bytes` counts: bytes that are allocated and not given back.
pub fn answer(file: PathBuf, bytes: impl Fn() -> usize + Send + 'static) {
    let write = move || -> io::Result<()> {
        let new = file.with_extension("new");
        loop {
            if !file.exists() {
                std::fs::write(&new, bytes().to_string())?;
                std::fs::rename(&new, &file)?;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    std::thread::spawn(move || {
        if let Err(error) = write() {
            eprintln!("the count of allocated bytes cannot be written: {error}");
        }
    });
}

/// Asks for a count that is made after this. [`answered`] has it in a while.
pub fn ask(file: &Path) {
    // Until the first count there is none to remove.
    drop(std::fs::remove_file(file));
}

/// The count that was asked for, if it is there.
pub fn answered(file: &Path) -> Option<usize> {
    std::fs::read_to_string(file).ok()?.parse().ok()
}
