//! Some cases in every test run.

use crate::case::{self, Log, Tally};

struct Silent;

impl Log for Silent {
    fn step(&mut self, _describe: &dyn Fn() -> String) {}
}

#[test]
fn no_case_finds_anything() {
    let mut total = Tally::new();
    for seed in 0..200 {
        let tally = case::run(seed, &mut Silent).unwrap_or_else(|failure| panic!("case {seed}: {failure}"));
        for (status, count) in tally {
            *total.entry(status).or_default() += count;
        }
    }
    // Both what is right and what is wrong come by, or the cases have nothing to find.
    for status in [200, 201, 400, 404, 409, 415, 422] {
        assert!(total.get(&status).is_some_and(|count| *count > 10), "{status} in {total:?}");
    }
}

#[test]
fn a_seed_decides_everything() {
    for seed in [7, 8] {
        let tally = || case::run(seed, &mut Silent).map_err(|failure| failure.to_string());
        assert_eq!(tally(), tally());
    }
}
