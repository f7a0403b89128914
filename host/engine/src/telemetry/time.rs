//! Durations, for people.

use std::fmt;
use std::time::Duration;

/// Displays a duration as milliseconds, and from one second on as seconds.
#[derive(Clone, Copy, Debug)]
pub struct Took(pub Duration);

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded first, so that nothing is 1000.0 ms.
        let tenths = (self.0.as_secs_f64() * 1e4).round();
        if tenths < 1e4 { write!(f, "{:.1} ms", tenths / 10.0) } else { write!(f, "{:.1} s", self.0.as_secs_f64()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_from_one_second_on_are_seconds() {
        for (micros, expected) in [
            (0, "0.0 ms"),
            (40, "0.0 ms"),
            (1_250, "1.3 ms"),
            (999_900, "999.9 ms"),
            (999_999, "1.0 s"),
            (1_000_000, "1.0 s"),
            (141_513_300, "141.5 s"),
            (7_200_000_000, "7200.0 s"),
        ] {
            assert_eq!(Took(Duration::from_micros(micros)).to_string(), expected, "{micros} µs");
        }
    }
}
