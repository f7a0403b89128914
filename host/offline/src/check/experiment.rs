//! One change to a simulated cluster, and how its plugin reacts.

use serde_json::Value;

use super::compare::brief;
use super::disturb::Disturbed;
use super::narrow::Focus;
use super::setup::{CheckSetup, ExperimentResult};
use super::stored::Stored;
use crate::plan::Subject;
use crate::simulation::simulate;

pub(super) enum Experiment {
    Disturbed(Disturbed),
    Restored { parent: Subject, other: Value },
    TornDown(Subject),
    Scheduled(Subject),
    Stored(Box<Stored>),
    Drawn(Vec<Value>),
}

impl CheckSetup {
    pub(super) fn run(&self, experiment: &Experiment) -> anyhow::Result<ExperimentResult> {
        let setup = self.narrowed(experiment.focus());
        simulate(async {
            match experiment {
                Experiment::Disturbed(disturbed) => setup.disturbed(disturbed).await,
                Experiment::Restored { parent, other } => setup.restored(parent, other).await,
                Experiment::TornDown(parent) => setup.torn_down(parent).await,
                Experiment::Scheduled(parent) => setup.scheduled(parent).await,
                Experiment::Stored(stored) => setup.stored(stored).await,
                Experiment::Drawn(parents) => setup.drawn(parents).await,
            }
        })?
    }
}

impl Experiment {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Disturbed(Disturbed { child, disturbance, .. }) => format!("{child} {disturbance}"),
            Self::Restored { parent, other } => format!("the spec of {parent} changes to {}, and back", brief(other)),
            Self::TornDown(parent) => format!("{parent} is deleted"),
            Self::Scheduled(parent) => format!("time passes for {parent}"),
            Self::Stored(stored) => stored.name(),
            Self::Drawn(_) => "a spec generated from the schema".to_owned(),
        }
    }

    fn focus(&self) -> Focus<'_> {
        match self {
            Self::Disturbed(Disturbed { parent, .. })
            | Self::Restored { parent, .. }
            | Self::TornDown(parent)
            | Self::Scheduled(parent) => Focus::One(parent),
            Self::Drawn(_) => Focus::Others,
            Self::Stored(_) => Focus::All,
        }
    }
}
