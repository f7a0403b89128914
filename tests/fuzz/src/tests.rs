//! Runs some cases of each target in every test run.

use clap::ValueEnum as _;

use crate::outcome::{Log, Tally};
use crate::target::Target;

struct Silent;

impl Log for Silent {
    fn step(&mut self, _describe: &dyn Fn() -> String) {}
}

/// Runs `cases` cases. Each of the outcomes must occur, or the cases test nothing.
fn check(target: Target, cases: u64, outcomes: &[&str]) {
    let mut total = Tally::new();
    for seed in 0..cases {
        let tally = target.run(seed, &mut Silent).unwrap_or_else(|failure| panic!("{}, case {seed}: {failure}", target.name()));
        for (outcome, count) in tally {
            *total.entry(outcome).or_default() += count;
        }
    }
    for outcome in outcomes {
        assert!(total.get(*outcome).is_some_and(|count| *count > 5), "{outcome} in {total:?}");
    }
}

#[test]
fn devcluster_answers_whatever_it_is_sent() {
    check(Target::Server, 200, &["200", "201", "400", "404", "409", "415", "422"]);
}

#[test]
fn the_watch_goes_on_whatever_an_api_server_sends() {
    check(Target::Watch, 60, &["undisturbed", "recovered", "left-out", "same", "odd"]);
}

#[test]
fn plans_and_statuses_keep_their_laws_whatever_a_plugin_answers() {
    let outcomes =
        ["Success", "InvalidOutput", "create", "apply", "delete", "status", "InvalidChild", "host-event", "host-create"];
    check(Target::Answers, 450, &outcomes);
}

#[test]
fn a_configuration_file_loads_or_names_what_is_wrong_with_it() {
    check(Target::Configuration, 80, &["loaded", "refused"]);
}

#[test]
fn a_recording_reads_back_and_a_damaged_one_names_the_line() {
    check(Target::Recordings, 50, &["replayed", "wrong-line", "no-recording", "read"]);
}

#[test]
fn artifacts_of_registries_are_refused_or_keep_the_rules() {
    let outcomes = [
        "reference",
        "no-reference",
        "digest",
        "no-digest",
        "component",
        "no-component",
        "no-manifest",
        "index",
        "config",
        "docker-config",
        "no-docker-config",
        "login",
        "token",
        "no-token",
        "challenge",
        "no-challenge",
        "accepted",
        "refused-signature",
        "key",
        "no-key",
        "cached",
        "not-cached",
        "failed",
        "recovered-client",
    ];
    check(Target::Artifacts, 300, &outcomes);
}

#[test]
fn a_seed_decides_everything() {
    for target in Target::value_variants() {
        // Enough for each part of the artifacts.
        let seeds = if *target == Target::Artifacts { 0..20 } else { 7..9 };
        for seed in seeds {
            let tally = || target.run(seed, &mut Silent).map_err(|failure| failure.to_string());
            assert_eq!(tally(), tally(), "{}", target.name());
        }
    }
}
