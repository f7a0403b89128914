//! Counts the bytes that another process has allocated and not freed. Unlike the memory that the
//! system gives to a process, they do not depend on the allocator, the threads and the machine.
//!
//! The counted process writes the count to a file whenever the file is absent. A test requests a
//! count by removing the file.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Writes the result of `bytes` (allocated and not freed) on request, while the process lives.
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

/// Requests a new count, which [`answered`] returns later.
pub fn ask(file: &Path) {
    // There is no file before the first count.
    drop(std::fs::remove_file(file));
}

/// Returns the requested count, or `None` if it is not written yet.
pub fn answered(file: &Path) -> Option<usize> {
    std::fs::read_to_string(file).ok()?.parse().ok()
}
