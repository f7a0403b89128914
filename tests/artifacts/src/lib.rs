//! Paths of the plugins and of the plugins for tests (`tests/guests`), which `build.rs` compiles to
//! Wasm components.
//!
//! [`versioned`] and [`tenant`] make many plugins out of one, by changing digits in its bytes.
//!
//! A test of the misbehaving guests begins as follows. It compiles only if there is a function for
//! each of them, with the guest's name:
//!
//! ```text
//! macro_rules! assert_guest_is_tested {
//!     ($name:ident) => {
//!         #[expect(unused_imports, reason = "it is enough that the test exists")]
//!         use self::$name as _;
//!     };
//! }
//! gyre_artifacts::for_each_guest!(assert_guest_is_tested);
//!
//! #[test]
//! fn trap() {
//!     let component = std::fs::read(gyre_artifacts::guests::TRAP).unwrap();
//! }
//! ```

include!(concat!(env!("OUT_DIR"), "/artifacts.rs"));

use std::{fs, io};

/// Guests whose calls end in an error, each with the reason that the sandbox gives. Only the
/// endless loop reaches its deadline.
pub const CALLS_THAT_FAIL: [(&str, &str); 9] = [
    (guests::TRAP, "Trapped"),
    (guests::PANICS, "Trapped"),
    (guests::ENDLESS_LOOP, "DeadlineExceeded"),
    (guests::HUGE_MEMORY, "OutOfMemory"),
    (guests::DEEP_RECURSION, "StackOverflow"),
    (guests::ENDLESS_OUTPUT, "OutputTooLarge"),
    (guests::MALFORMED_OUTPUT, "InvalidOutput"),
    (guests::MANY_CHILDREN, "TooManyChildren"),
    (guests::LOG_FLOOD, "LogFlood"),
];

/// The texts around the digits in the component [`probes::VERSIONED`].
const VERSION: [&str; 2] = ["gyre-version:", "v"];

/// The texts around the digits in the component [`probes::TENANT`].
const TENANT: [&str; 2] = ["gyre-tenant-number:", ":ok"];

/// The plugin [`probes::VERSIONED`] in this version, which it writes down in ten digits. Version 0
/// is the file as it is.
///
/// # Errors
///
/// If the file cannot be read, the version has more than ten digits, or the file does not have
/// those of version 0 exactly once.
pub fn versioned(version: u64) -> io::Result<Vec<u8>> {
    changed(probes::VERSIONED, VERSION, 10, version)
}

/// The plugin [`probes::TENANT`] with this number, of two digits: `tenant-07` reconciles
/// `Tenant07`.
///
/// # Errors
///
/// If the file cannot be read, the number has more than two digits, or the file does not have those
/// of number 0 exactly once.
pub fn tenant(number: u64) -> io::Result<Vec<u8>> {
    changed(probes::TENANT, TENANT, 2, number)
}

/// The component with other digits between two texts; it has as many zeros there.
fn changed(path: &str, [before, after]: [&str; 2], width: usize, number: u64) -> io::Result<Vec<u8>> {
    let mut component = fs::read(path)?;
    let text = |number: u64| format!("{before}{number:0width$}{after}");
    let (marker, replacement) = (text(0), text(number));
    let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, format!("{path}: {message}"));
    if replacement.len() != marker.len() {
        return Err(invalid(format!("{number} has more than {width} digits")));
    }
    let is_marker = |window: &[u8]| window == marker.as_bytes();
    let places: Vec<usize> =
        (0..).zip(component.windows(marker.len())).filter(|(_, window)| is_marker(window)).map(|(at, _)| at).collect();
    match places[..] {
        [at] => {
            component.splice(at..at + marker.len(), replacement.into_bytes());
            Ok(component)
        }
        _ => Err(invalid(format!("{marker:?} is there {} times", places.len()))),
    }
}
