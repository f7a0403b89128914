//! The labels of metrics. None has a value for each object.

use prometheus_client::encoding::{EncodeLabel as _, EncodeLabelSet, LabelSetEncoder};

/// A mount, under the label `mount`, and under `plugin`, its former label in dashboards.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Mount(String);

impl Mount {
    pub(super) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl EncodeLabelSet for Mount {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), std::fmt::Error> {
        ["mount", "plugin"].into_iter().try_for_each(|label| (label, self.0.as_str()).encode(encoder.encode_label()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Controller {
    pub(super) controller: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ControllerResult {
    pub(super) controller: String,
    pub(super) result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct QueueName {
    pub(super) name: String,
    pub(super) controller: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct MountOutcome {
    #[prometheus(flatten)]
    pub(super) mount: Mount,
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct MountReason {
    #[prometheus(flatten)]
    pub(super) mount: Mount,
    pub(super) reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct MountKind {
    #[prometheus(flatten)]
    pub(super) mount: Mount,
    pub(super) kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct MountWrite {
    #[prometheus(flatten)]
    pub(super) mount: Mount,
    pub(super) verb: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Watch {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) selector: String,
    pub(super) extent: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct LeaseName {
    pub(super) name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct QueuePriority {
    pub(super) name: String,
    pub(super) controller: String,
    pub(super) priority: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct MountState {
    #[prometheus(flatten)]
    pub(super) mount: Mount,
    pub(super) state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ClientRequest {
    pub(super) code: String,
    pub(super) method: String,
    pub(super) host: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct MountInfo {
    #[prometheus(flatten)]
    pub(super) mount: Mount,
    pub(super) version: String,
    pub(super) digest: String,
    pub(super) artifact: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Build {
    pub(super) version: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ReloadResult {
    pub(super) result: &'static str,
}
