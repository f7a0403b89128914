//! The tests of a run: the quick ones, the ordinary ones, or all.
//!
//! | run | what it leaves out | for |
//! |---|---|---|
//! | `--quick` | what needs a control plane or minutes: see [`QUICK`] | each commit |
//! | ordinary | scenarios on the real API server that devcluster runs as well: see [`BRIDGED`] | each submission |
//! | `--all` | nothing | each release |

/// The extent of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The tests before each commit.
    Quick,
    /// The tests before a change is merged.
    #[default]
    Ordinary,
    /// The tests before a release.
    All,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// The format, the lints and the documentation.
    Checks,
    /// The scenarios of tests/e2e.
    EndToEnd,
    /// All other suites, and the examples in the documentation.
    Others,
}

impl Part {
    /// Returns whether a suite belongs to the part.
    pub(super) fn has_suite(self, suite: &str) -> bool {
        let is_end_to_end = [ON_CONTROL_PLANE, ON_DEVCLUSTER].contains(&suite);
        match self {
            Self::Checks => false,
            Self::EndToEnd => is_end_to_end,
            Self::Others => !is_end_to_end,
        }
    }
}

/// The scenarios on the real API server.
pub(super) const ON_CONTROL_PLANE: &str = "gyre e2e";

/// The same program on devcluster.
pub(super) const ON_DEVCLUSTER: &str = "gyre e2e-devcluster";

/// Modules of `tests/e2e` that do not run on devcluster: they need permissions, certificates or
/// several replicas, or no cluster at all.
const NOT_ON_DEVCLUSTER: [&str; 16] = [
    "admission",
    "author",
    "build",
    "command_line",
    "dev",
    "documents",
    "election",
    "errors",
    "fuzz",
    "impersonation",
    "offline",
    "permissions",
    "replicas",
    "secure",
    "shares",
    "worlds",
];

/// Modules of `tests/e2e` that run on devcluster alone: they read its requests, which have no TLS.
const ONLY_ON_DEVCLUSTER: [&str; 1] = ["answers"];

/// Modules of `tests/e2e` whose scenarios an ordinary run leaves to devcluster: what they show does
/// not depend on the API server. `tests/contract` compares the two servers, so a difference is
/// found there. The modules that stay test what can differ: permissions, networks, names, creation,
/// fields of others, finalizers, admission, watches and previews.
const BRIDGED: [&str; 25] = [
    "composed",
    "counted",
    "diff",
    "failures",
    "gateway",
    "host_status",
    "hostile",
    "logs",
    "many",
    "memo",
    "metrics",
    "mounts",
    "pod_log",
    "probes",
    "reads",
    "record",
    "registry",
    "render",
    "scale",
    "shadow",
    "signals",
    "state",
    "swap",
    "traces",
    "xca",
];

/// A suite of a quick run.
struct Quick {
    suite: &'static str,
    /// The parts of names of its tests that run; empty: all.
    only: &'static [&'static str],
    /// The parts of names of tests that do not run.
    except: &'static [&'static str],
}

impl Quick {
    const fn whole(suite: &'static str) -> Self {
        Self { suite, only: &[], except: &[] }
    }
}

/// The suites of a quick run: unit tests, the laws of `gyre-core`, the contract suite on
/// devcluster, and one scenario for each area.
const QUICK: &[Quick] = &[
    // Its checks of workflows build a program with Go.
    Quick { suite: "xtask xtask", only: &[], except: &["workflows::"] },
    Quick::whole("gyre-core"),
    Quick::whole("gyre-core dependencies"),
    Quick::whole("gyre-input"),
    Quick::whole("gyre-sandbox"),
    Quick::whole("gyre-sandbox sandbox"),
    Quick::whole("gyre-sandbox guests"),
    Quick { suite: "gyre-engine", only: &[], except: &["churn::"] },
    Quick::whole("gyre-offline"),
    Quick::whole("gyre"),
    Quick::whole("gyre-sdk"),
    Quick::whole("gyre-sdk-derive"),
    Quick::whole("gyre-test"),
    Quick::whole("gyre-test worlds"),
    Quick::whole("echo"),
    Quick::whole("echo-pod"),
    Quick::whole("gateway"),
    Quick::whole("greeter"),
    Quick::whole("pod-log"),
    Quick::whole("scheduled-echo"),
    Quick::whole("database"),
    Quick::whole("gyre-signatures"),
    Quick::whole("gyre-signatures sign"),
    Quick::whole("gyre-signatures verify"),
    Quick::whole("gyre-registry"),
    Quick::whole("gyre-registry hostile"),
    Quick::whole("gyre-values"),
    Quick::whole("website"),
    Quick::whole("xca"),
    Quick::whole("gyre-devcluster"),
    Quick {
        suite: "gyre-sim simulation",
        only: &["claims::", "lag::", "requests::", "events::events_that_wait_when_the_claim_is_lost_are_dropped"],
        except: &[],
    },
    Quick::whole("gyre-contract contract"),
    Quick {
        suite: ON_DEVCLUSTER,
        only: &[
            "echo::the_sample_echo_gets_its_job_in_its_namespace",
            "failures::each_kind_of_failure_is_retried_in_its_own_way",
            "finalize::children_are_deleted_in_the_order_of_the_plugin_and_then_the_parent",
            "hostile::an_object_that_fails_too_often_is_parked_and_says_so",
            "inventory::",
            "logs::in_text_a_line_names_its_reconcile",
            "memo::a_change_without_a_new_value_calls_no_plugin",
            "mounts::mounts_come_and_go_while_the_host_runs",
            "ownership::each_strategy_brings_its_children_to_the_desired_state",
            "ownership::cross_namespace_children_are_deleted_with_their_parent",
            "probes::probes_list_their_checks_and_exclude_checks_on_request",
            "reads::a_change_of_a_list_calls_only_its_readers",
            "signals::an_idle_host_ends_at_the_first_signal",
            "state::a_host_without_election_always_has_its_claims",
            "status::conditions_have_a_transition_time_and_a_generation",
        ],
        except: &[],
    },
];

/// The variable that chooses the server of `tests/e2e`.
const E2E_ON_DEVCLUSTER: (&str, &str) = ("GYRE_E2E_SERVER", "devcluster");

/// The variable that keeps the contract suite from the real API server.
const CONTRACT_ON_DEVCLUSTER: (&str, &str) = ("GYRE_CONTRACT_SERVERS", "devcluster");

/// The variable that compares hosts on the real API server, too, with what `gyre render` previews.
const PREVIEWS_EVERYWHERE: (&str, &str) = ("GYRE_PREVIEW_CHECK", "all");

/// The part of a suite that a run has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// Arguments of the test program.
    pub(super) arguments: Vec<String>,
    /// Variables of its environment.
    pub(super) environment: Vec<(&'static str, &'static str)>,
}

impl Extent {
    /// Returns what a run of this extent does with a suite, or `None` if it leaves the suite out.
    pub(super) fn select(self, suite: &str) -> Option<Selection> {
        let mut selection = Selection::default();
        match self {
            Self::All => selection.environment.push(PREVIEWS_EVERYWHERE),
            Self::Ordinary if suite == ON_CONTROL_PLANE => selection.arguments = without_modules(&BRIDGED),
            Self::Ordinary => {}
            Self::Quick => {
                let quick = QUICK.iter().find(|quick| quick.suite == suite)?;
                selection.arguments = quick.only.iter().map(|part| (*part).to_owned()).collect();
                selection.arguments.extend(skips(quick.except.iter().map(|part| (*part).to_owned())));
                selection.environment.push(CONTRACT_ON_DEVCLUSTER);
            }
        }
        if suite == ON_CONTROL_PLANE {
            selection.arguments.extend(without_modules(&ONLY_ON_DEVCLUSTER));
        }
        if suite == ON_DEVCLUSTER {
            selection.arguments.extend(without_modules(&NOT_ON_DEVCLUSTER));
            selection.environment.push(E2E_ON_DEVCLUSTER);
        }
        Some(selection)
    }

    /// Returns the arguments of Cargo for the targets that a run of this extent needs.
    pub(super) fn targets(self) -> Vec<&'static str> {
        match self {
            // Without examples: the guests are examples, and native code of theirs is not run.
            Self::Ordinary | Self::All => vec!["--tests"],
            Self::Quick => {
                // A suite is named after its package, or after its package and its target. The only
                // target that is no test is the program of `xtask`.
                let programs =
                    QUICK.iter().map(|quick| if quick.suite == ON_DEVCLUSTER { ON_CONTROL_PLANE } else { quick.suite });
                let targets =
                    programs.filter_map(|program| program.split_once(' ')).filter(|(package, target)| package != target);
                let tests = targets.flat_map(|(_, target)| ["--test", target]);
                ["--lib", "--bins"].into_iter().chain(tests).collect()
            }
        }
    }

    /// Says what a run of this extent leaves out, or returns `None` if it leaves out nothing.
    pub(super) const fn omission(self) -> Option<&'static str> {
        match self {
            Self::Quick => Some(
                "left out: everything on a real API server, the chart, most scenarios of tests/e2e, most simulations, and the \
                 examples in documents; `cargo xtask test` runs them",
            ),
            Self::Ordinary => Some(
                "left out: scenarios that ran on devcluster, a second time on a real API server; `cargo xtask test --all` runs them",
            ),
            Self::All => None,
        }
    }
}

fn without_modules(modules: &[&str]) -> Vec<String> {
    skips(modules.iter().map(|module| format!("{module}::")))
}

fn skips(parts: impl Iterator<Item = String>) -> Vec<String> {
    parts.flat_map(|part| ["--skip".to_owned(), part]).collect()
}

/// Returns the place of a suite in a run: those of a quick run come first, because what is quick to
/// fail should fail early.
pub(super) fn place(suite: &str) -> usize {
    QUICK.iter().position(|quick| quick.suite == suite).unwrap_or(QUICK.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;

    #[test]
    fn modules_that_run_on_one_server_exist() {
        let text = std::fs::read_to_string(build::root().join("tests/e2e/main.rs")).unwrap();
        for module in BRIDGED.iter().chain(&NOT_ON_DEVCLUSTER).chain(&ONLY_ON_DEVCLUSTER) {
            assert!(text.contains(&format!("\nmod {module};\n")), "tests/e2e/main.rs has no module {module}");
        }
        assert!(!BRIDGED.iter().any(|module| NOT_ON_DEVCLUSTER.contains(module)), "a module must run on one of the servers");
    }

    #[test]
    fn a_quick_run_names_tests_that_exist() {
        let named = QUICK.iter().flat_map(|quick| quick.only.iter().chain(quick.except));
        for name in named {
            let (module, test) = name.split_once("::").unwrap();
            let folders = ["tests/e2e", "tests/sim/tests/simulation", "host/engine/src/host/tests", "tests/xtask/src/tidy"];
            let files = folders.map(|folder| build::root().join(folder).join(format!("{module}.rs")));
            let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
            let exists = texts.into_iter().any(|text| test.is_empty() || text.contains(&format!("fn {test}(")));
            assert!(exists, "no test is called {name}");
        }
    }

    #[test]
    fn the_parts_have_each_suite_once() {
        let parts = <Part as clap::ValueEnum>::value_variants();
        for suite in QUICK.iter().map(|quick| quick.suite).chain([ON_CONTROL_PLANE, "documentation"]) {
            assert_eq!(parts.iter().filter(|part| part.has_suite(suite)).count(), 1, "{suite}");
        }
    }

    #[test]
    fn an_ordinary_run_leaves_out_bridged_modules_on_the_real_server_alone() {
        assert_eq!(Extent::Ordinary.select("gyre-core"), Some(Selection::default()));
        let real = Extent::Ordinary.select(ON_CONTROL_PLANE).unwrap();
        assert_eq!(real.arguments[..2], ["--skip", "composed::"]);
        assert_eq!(real.arguments.len(), 2 * (BRIDGED.len() + ONLY_ON_DEVCLUSTER.len()));
        assert_eq!(Extent::All.select(ON_CONTROL_PLANE).unwrap().arguments, ["--skip", "answers::"]);
        assert_eq!(Extent::Quick.select(ON_CONTROL_PLANE), None);
        let devcluster = Extent::Ordinary.select(ON_DEVCLUSTER).unwrap();
        assert_eq!(devcluster.arguments.len(), 2 * NOT_ON_DEVCLUSTER.len());
        assert!(devcluster.environment.contains(&E2E_ON_DEVCLUSTER));
    }
}
