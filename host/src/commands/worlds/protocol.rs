//! The requests and answers, as `docs/test-kit-protocol.md` documents them.

use std::path::PathBuf;

use gyre_core::groups::Grouping;
use gyre_core::manifest::Manifest;
use gyre_core::object::GroupVersionKind;
use gyre_core::response::{Failure, Response};
use gyre_engine::difference::{Subject, Verb};
use gyre_engine::record::format::{CallLine, Text};
use gyre_offline::world::JobEnd;
use gyre_sandbox::{LogLevel, LogLine};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the protocol. A kit refuses others. Additions that kits may ignore do not change
/// it; this program refuses requests and fields that it does not know.
pub(super) const PROTOCOL: u32 = 1;

/// The first line of the output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Greeting {
    pub(super) gyre: &'static str,
    pub(super) protocol: u32,
    pub(super) longest_line: usize,
}

/// A line of the input, except its request.
#[derive(Deserialize)]
pub(super) struct Addressed {
    pub(super) world: u64,
}

/// A line of the input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) world: u64,
    #[serde(rename = "do")]
    pub(super) request: Request,
}

/// A request. The names of objects are those of [`gyre_offline::world::Reference`].
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub(super) enum Request {
    // Plugins and worlds.
    Load(Box<PluginSource>),
    Start(Box<Start>),
    End {},
    // Actions of the host.
    Settle {
        #[serde(default)]
        allow_faults: bool,
    },
    Advance {
        ms: u64,
    },
    Restart {},
    Upgrade {
        plugin: usize,
    },
    // Changes by others.
    Put {
        object: Value,
    },
    Replace {
        object: Value,
    },
    SetStatus {
        object: String,
        status: Value,
    },
    Delete {
        object: String,
    },
    EndJob {
        object: String,
        end: End,
    },
    // Questions.
    Find {
        object: String,
    },
    List {
        kind: String,
    },
    Now {},
    Steps {},
    // Assertions.
    Compare(Comparison),
    Golden {
        actual: Value,
        path: PathBuf,
        write: bool,
    },
    Cases {
        plugin: usize,
        folder: PathBuf,
        write: bool,
    },
    // Within a call of a plugin in the kit.
    Read(Read),
    Clock {},
    Log {
        level: LogLevel,
        message: String,
        #[serde(default)]
        fields: Vec<(String, String)>,
    },
    Return(Returned),
}

/// The source of a plugin: one of the first three.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PluginSource {
    /// A file with a component, or a reference in a registry.
    pub(super) path: Option<String>,
    /// A component in base64.
    pub(super) base64: Option<String>,
    pub(super) kit: Option<Box<KitPlugin>>,
    /// The reconciler of a component that has several.
    pub(super) reconciler: Option<String>,
}

/// A plugin whose code is in the kit.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KitPlugin {
    /// Distinguishes it from other versions.
    pub(super) identity: String,
    pub(super) manifest: Described,
}

/// The manifest of a plugin in the kit: what `describe` returns.
#[derive(Clone, Deserialize)]
pub(super) struct Described {
    /// As `gyre inspect -o json` prints it for a plugin that does not group its parents.
    #[serde(flatten)]
    pub(super) manifest: Manifest,
    /// `None` calls the plugin about each parent.
    #[serde(default)]
    pub(super) grouping: Option<Grouping>,
}

/// The setup of a world.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Start {
    pub(super) plugins: Vec<Mount>,
    pub(super) time: Option<String>,
    pub(super) objects: Vec<Value>,
    pub(super) files: Vec<PathBuf>,
    pub(super) case: Option<PathBuf>,
    pub(super) without_controllers: bool,
    pub(super) pods_run_for_ms: Option<u64>,
}

/// A plugin of a world.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mount {
    pub(super) plugin: usize,
    #[serde(default)]
    pub(super) settings: Value,
    /// Keys of an entry of `mounts` in the configuration file.
    #[serde(default)]
    pub(super) mount: Map<String, Value>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum End {
    Succeeds,
    Fails,
}

impl From<End> for JobEnd {
    fn from(end: End) -> Self {
        match end {
            End::Succeeds => Self::Succeeds,
            End::Fails => Self::Fails,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Comparison {
    pub(super) actual: Value,
    pub(super) expected: Expected,
    pub(super) how: How,
    /// The first sentence of the difference.
    pub(super) what: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Expected {
    Yaml(String),
    Value(Value),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum How {
    /// The values are equal.
    Equal,
    /// Maps of the actual value may have more fields.
    Includes,
    /// Both are texts of some lines.
    Lines,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Read {
    Children { kind: GroupVersionKind },
    Get { kind: GroupVersionKind, namespace: Option<String>, name: String },
    List { kind: GroupVersionKind, namespace: Option<String>, label_selector: Option<String> },
}

/// How a call of a plugin in the kit ended.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Returned {
    Response(Response<Text>),
    Failure(Failure),
    /// The plugin accepts the settings, or says why not.
    Settings(Option<String>),
    /// It ended by an error of the language, such as a panic or an exception.
    Panic(String),
}

/// A line of the output.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) world: Option<u64>,
    #[serde(flatten)]
    pub(super) what: What<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum What<'a> {
    Ok(Body),
    Error(&'a str),
    /// The kit calls its plugin, and sends what that returns.
    Call(Call),
    /// The kit abandons the call: the plugin has gone beyond a limit.
    Stop {},
}

/// The answer to a request that succeeded.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Body {
    /// The fields depend on the request.
    Value(Value),
    Run(Box<RunLine>),
    /// The answer to a read.
    Found {
        found: Vec<Text>,
    },
}

#[derive(Serialize)]
pub(super) struct Call {
    pub(super) plugin: usize,
    pub(super) function: Function,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<Text>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) members: Vec<Text>,
    pub(super) settings: Text,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Function {
    ValidateSettings,
    Reconcile,
    Finalize,
}

/// The actions of the host until it had nothing left to do, and their results.
#[derive(Serialize)]
pub(super) struct RunLine {
    pub(super) plan: Vec<ActionLine>,
    pub(super) children: Vec<Value>,
    pub(super) parents: Vec<Value>,
    /// As in recordings.
    pub(super) calls: Vec<CallLine>,
    pub(super) reads: Vec<String>,
    pub(super) log: Vec<LogLine>,
    pub(super) summary: Value,
}

#[derive(Serialize)]
pub(super) struct ActionLine {
    /// In one line, for people and tests.
    pub(super) text: String,
    pub(super) verb: Verb,
    pub(super) subject: Subject,
    /// The object that was sent, or the deleted one.
    pub(super) object: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refusal: Option<String>,
}
