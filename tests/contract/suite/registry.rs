//! The list of checks, and how each is run.

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
/// A folder for the transcripts of kube-apiserver.
const RECORD: &str = "GYRE_CONTRACT_RECORD";
/// A folder of recorded transcripts to compare with; kube-apiserver then runs only on request.
const REPLAY: &str = "GYRE_CONTRACT_REPLAY";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum World {
    Api,
    /// The controllers as well: garbage collection, namespaces, Jobs.
    Controllers,
}

pub(crate) struct Check {
    /// The behaviour that it states; also the name of its test.
    pub(crate) name: &'static str,
    pub(crate) module: &'static str,
    pub(crate) world: World,
    pub(crate) run: for<'a> fn(&'a Probe) -> LocalBoxFuture<'a, ()>,
}

/// Lists checks, and makes a test of each. An unlisted function is dead code.
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
    pub(crate) fn theme(&self) -> &'static str {
        self.module.rsplit("::").next().unwrap_or_default()
    }

    fn file(&self) -> String {
        format!("{}.{}.json", self.theme(), self.name)
    }
}

/// Runs a check against every server. Panics if answers differ from the first or recorded ones.
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
