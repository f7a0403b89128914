//! Which tests a run has: the quick ones, the ordinary ones, or all.
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

/// The scenarios that run on devcluster and on the real API server.
const REAL: &str = "gyre e2e";

/// Modules of `tests/e2e` whose scenarios an ordinary run leaves to devcluster: what they show does
/// not depend on the API server. `tests/contract` compares the two servers, so a difference is
/// found there. The modules that stay test what can differ: permissions, networks, names, creation,
/// fields of others, finalizers, admission, watches and previews.
const BRIDGED: [&str; 23] = [
    "composed", "counted", "diff", "failures", "gateway", "hostile", "logs", "many", "memo", "metrics", "mounts", "pod_log",
    "probes", "reads", "record", "render", "scale", "shadow", "signals", "state", "swap", "traces", "xca",
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
const QUICK: &[Quick] = &[Quick::whole("xtask"), Quick::whole("gyre-core")];

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
            Self::Ordinary if suite == REAL => {
                selection.arguments = skips(BRIDGED.iter().map(|module| format!("{module}::")));
            }
            Self::Ordinary => {}
            Self::Quick => {
                let quick = QUICK.iter().find(|quick| quick.suite == suite)?;
                selection.arguments = quick.only.iter().map(|part| (*part).to_owned()).collect();
                selection.arguments.extend(skips(quick.except.iter().map(|part| (*part).to_owned())));
                selection.environment.push(CONTRACT_ON_DEVCLUSTER);
            }
        }
        Some(selection)
    }

    /// Returns the arguments of Cargo for the targets that a run of this extent needs.
    pub(super) fn targets(self) -> Vec<&'static str> {
        match self {
            // Without examples: the guests are examples, and native code of theirs is not run.
            Self::Ordinary | Self::All => vec!["--tests"],
            Self::Quick => {
                // A suite is named after its package, or after its package and its target.
                let targets = QUICK.iter().filter_map(|quick| quick.suite.split_once(' '));
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
    fn a_scenario_is_left_to_devcluster_only_if_it_runs_there() {
        let folder = build::root().join("tests/e2e");
        let modules = |file: &str| {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            let names = text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        let (real, devcluster) = (modules("main.rs"), modules("devcluster.rs"));
        for module in BRIDGED {
            assert!(real.iter().any(|name| name == module), "tests/e2e/main.rs has no module {module}");
            assert!(devcluster.iter().any(|name| name == module), "tests/e2e/devcluster.rs has no module {module}");
        }
    }

    #[test]
    fn an_ordinary_run_leaves_out_bridged_modules_on_the_real_server_alone() {
        assert_eq!(Extent::Ordinary.select("gyre-core"), Some(Selection::default()));
        let real = Extent::Ordinary.select(REAL).unwrap();
        assert_eq!(real.arguments[..2], ["--skip", "composed::"]);
        assert_eq!(real.arguments.len(), 2 * BRIDGED.len());
        assert_eq!(Extent::All.select(REAL).unwrap().arguments, [""; 0]);
        assert_eq!(Extent::Quick.select(REAL), None);
    }
}
