//! The time of each test of a program. The test runner of stable Rust does not print it, but it
//! prints when each has ended.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// A test has ended, so long after the program was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) name: String,
    pub(super) at: Duration,
}

/// The test that a line such as `test module::name ... ok` says has ended.
pub(super) fn ended(line: &str) -> Option<&str> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let is_result = ["ok", "FAILED"].iter().any(|word| result == *word || result.starts_with(&format!("{word} <")));
    is_result.then(|| name.strip_suffix(" - should panic").unwrap_or(name))
}

/// The time of each test that has ended, in that order.
///
/// The test runner takes tests in the order in which it lists them. It begins with as many as may
/// run at a time, and begins the next one as soon as one has ended: so it is known when each began.
pub(super) fn durations(listed: &[String], threads: usize, ended: &[Ended]) -> Vec<(String, Duration)> {
    let mut waiting: VecDeque<&str> = listed.iter().map(String::as_str).collect();
    let mut began: HashMap<&str, Duration> = HashMap::new();
    for _ in 0..threads {
        began.extend(waiting.pop_front().map(|name| (name, Duration::ZERO)));
    }
    let mut durations = Vec::new();
    for Ended { name, at } in ended {
        let Some(start) = began.remove(name.as_str()) else { continue };
        durations.push((name.clone(), at.saturating_sub(start)));
        began.extend(waiting.pop_front().map(|next| (next, *at)));
    }
    durations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_which_test_has_ended() {
        for (line, expected) in [
            ("test queue::tests::a_key_is_there_once ... ok", Some("queue::tests::a_key_is_there_once")),
            ("test a ... FAILED", Some("a")),
            ("test a - should panic ... ok", Some("a")),
            ("test a ... ok <0.001s>", Some("a")),
            ("test a has been running for over 60 seconds", None),
            ("test result: ok. 17 passed; 0 failed", None),
            ("running 2 tests", None),
        ] {
            assert_eq!(ended(line), expected, "{line}");
        }
    }

    #[test]
    fn a_test_begins_when_there_is_room_for_it() {
        let listed: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let seconds = Duration::from_secs;
        let ended = |ends: &[(&str, u64)]| -> Vec<Ended> {
            ends.iter().map(|(name, at)| Ended { name: (*name).to_owned(), at: seconds(*at) }).collect()
        };
        let named = |times: &[(&str, u64)]| -> Vec<(String, Duration)> {
            times.iter().map(|(name, took)| ((*name).to_owned(), seconds(*took))).collect()
        };
        // c begins after b, at 3, and d after c, at 5.
        let two_at_a_time = durations(&listed, 2, &ended(&[("b", 3), ("c", 5), ("d", 6), ("a", 10)]));
        assert_eq!(two_at_a_time, named(&[("b", 3), ("c", 2), ("d", 1), ("a", 10)]));
        let one_at_a_time = durations(&listed, 1, &ended(&[("a", 3), ("b", 5), ("c", 6), ("d", 10)]));
        assert_eq!(one_at_a_time, named(&[("a", 3), ("b", 2), ("c", 1), ("d", 4)]));
        // Of a program that crashes, and of more threads than tests.
        assert_eq!(durations(&listed, 9, &ended(&[("d", 1), ("unknown", 2)])), named(&[("d", 1)]));
        assert_eq!(durations(&[], 2, &[]), []);
    }
}
