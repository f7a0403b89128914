//! The list of checks, and running one of them.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::compare::diff;
use super::probe::Probe;
use super::servers::{Server, runtime, servers};
use super::transcript::Transcript;

/// If set, transcripts are printed (with `--nocapture`).
const PRINT: &str = "GYRE_CONTRACT_PRINT";
/// A folder into which the transcripts of the first server are written.
const RECORD: &str = "GYRE_CONTRACT_RECORD";
/// A folder of recorded transcripts, with which every server is compared; the real one is then not started unless it is
/// asked for by name.
const REPLAY: &str = "GYRE_CONTRACT_REPLAY";

/// The environment that a check needs around the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum World {
    /// Nothing: the API server alone.
    Api,
    /// The controllers: garbage collection, namespaces, Jobs.
    Controllers,
}

/// One check.
pub(crate) struct Check {
    /// The behaviour that it states; also the name of its test.
    pub(crate) name: &'static str,
    /// The module that it is in.
    pub(crate) module: &'static str,
    pub(crate) world: World,
    pub(crate) run: for<'a> fn(&'a Probe) -> LocalBoxFuture<'a, ()>,
}

/// Puts checks on the list, and makes a test of each. A function that is left out is dead code, which does not compile.
macro_rules! checks {
    ($world:ident: $($name:ident),* $(,)?) => {
        pub(crate) const CHECKS: &[$crate::suite::registry::Check] = &[$(
            $crate::suite::registry::Check {
                name: stringify!($name),
                module: module_path!(),
                world: $crate::suite::registry::World::$world,
                run: |server| Box::pin($name(server)),
            },
        )*];

        mod law {
            $(
                #[test]
                fn $name() {
                    $crate::suite::registry::verify(super::CHECKS.iter().find(|check| check.name == stringify!($name)).unwrap());
                }
            )*
        }
    };
}
pub(crate) use checks;

impl Check {
    /// The last part of its module's path.
    pub(crate) fn theme(&self) -> &'static str {
        self.module.rsplit("::").next().unwrap_or_default()
    }

    fn file(&self) -> String {
        format!("{}.{}.json", self.theme(), self.name)
    }
}

/// Runs a check against every server, and compares their answers with the first one's, or with recorded ones.
///
/// Panics: an assertion of the check fails, or a server answers otherwise.
pub(crate) fn verify(check: &Check) {
    let folder = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut expected = folder(REPLAY).map(|folder| ("recorded", Transcript::load(&folder.join(check.file()))));
    for server in servers() {
        let Some(client) = server.client(check.world) else { return };
        let (transcript, panic) = run(check, client);
        if std::env::var_os(PRINT).is_some() || (panic.is_some() && expected.is_none()) {
            println!("{} against {}:\n{transcript}", check.name, server.name());
        }
        if let Some((origin, expected)) = &expected {
            let diff = diff(check.name, expected, &transcript);
            assert!(diff.is_empty(), "{} does not answer as {origin}:\n{diff}", server.name());
        }
        if let Some(panic) = panic {
            std::panic::resume_unwind(panic);
        }
        if let Some(folder) = folder(RECORD).filter(|_| server == Server::KubeApiserver) {
            std::fs::create_dir_all(&folder).unwrap();
            transcript.save(&folder.join(check.file()));
        }
        expected.get_or_insert((server.name(), transcript));
    }
}

/// Returns the transcript of a check, and its failure.
fn run(check: &Check, client: kube::Client) -> (Transcript, Option<Box<dyn Any + Send>>) {
    let probe = Probe::new(client, check.name);
    let result = runtime().block_on(
        AssertUnwindSafe(async {
            probe.make_namespace().await;
            (check.run)(&probe).await;
        })
        .catch_unwind(),
    );
    (probe.into_transcript(), result.err())
}
