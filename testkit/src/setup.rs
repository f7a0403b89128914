//! The setup of a world.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::native::milliseconds;
use crate::plugin::Plugin;
use crate::session::Session;
use crate::world::World;

/// The setup of a world. [`Setup::start`] reports errors in it.
#[must_use = "`start` creates the world"]
pub struct Setup {
    plugins: Vec<(Plugin, Value)>,
    mount: Value,
    objects: Vec<Result<Value>>,
    files: Vec<Value>,
    /// The other fields of the request.
    fields: Map<String, Value>,
}

impl World {
    /// Starts the [setup](Setup) of a world with this plugin.
    pub fn of(plugin: Plugin) -> Setup {
        Setup {
            plugins: vec![(plugin, Value::Null)],
            mount: json!({}),
            objects: Vec::new(),
            files: Vec::new(),
            fields: Map::new(),
        }
    }
}

impl Setup {
    /// Sets the simulated time in RFC 3339. The default is 2026-01-01T00:00:00Z.
    pub fn at(self, time: &str) -> Self {
        self.field("time", time)
    }

    /// Mounts another plugin too, e.g. one whose parents are children of the first.
    pub fn beside(mut self, plugin: Plugin) -> Self {
        self.plugins.push((plugin, Value::Null));
        self
    }

    /// Sets the settings of the last added plugin, which are validated like those of a mount.
    pub fn settings(mut self, settings: impl Into<Value>) -> Self {
        if let Some((_, last)) = self.plugins.last_mut() {
            *last = settings.into();
        }
        self
    }

    /// Configures all mounts, with the keys of an entry of `mounts` in the configuration file, e.g.
    /// `{"limits": {"children": 10}}`. By default, deletions are not guarded, and a plugin may
    /// delete parents if its manifest says so.
    pub fn mounted(mut self, keys: impl Into<Value>) -> Self {
        self.mount = keys.into();
        self
    }

    /// Adds an object unchanged, with its UID, owners and status. Owners need no UIDs.
    pub fn with(mut self, object: impl Serialize) -> Self {
        let object = serde_json::to_value(object);
        self.objects.push(object.map_err(|error| Error::new(format!("an object is no JSON: {error}"))));
        self
    }

    /// Adds the objects of a file or directory of YAML and JSON files, relative to the package.
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        self.files.push(json!(path.as_ref()));
        self
    }

    /// Uses the objects, settings and time of a case of `gyre test`, [without
    /// controllers](Self::without_controllers).
    pub fn case(self, folder: impl AsRef<Path>) -> Self {
        self.field("case", json!(folder.as_ref()))
    }

    /// Runs no controllers, like `gyre test`: no garbage collection, no Pods of Jobs.
    pub fn without_controllers(self) -> Self {
        self.field("withoutControllers", true)
    }

    /// Sets the time that Pods run, after which they succeed. By default, they run until a test
    /// ends them.
    pub fn pods_run_for(self, time: Duration) -> Self {
        self.field("podsRunForMs", milliseconds(time))
    }

    fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Creates the world. The host starts when the world is [settled](World::settle).
    ///
    /// # Errors
    ///
    /// If the settings, the files or the objects are invalid.
    pub fn start(self) -> Result<World> {
        let Self { plugins, mount, objects, files, mut fields } = self;
        let session = Session::open()?;
        plugins.iter().for_each(|(plugin, _)| session.add(plugin));
        let mounted =
            |(plugin, settings): &(Plugin, Value)| json!({"plugin": plugin.number(), "settings": settings, "mount": mount});
        fields.insert("plugins".to_owned(), plugins.iter().map(mounted).collect());
        fields.insert("objects".to_owned(), Value::Array(objects.into_iter().collect::<Result<_>>()?));
        fields.insert("files".to_owned(), Value::Array(files));
        session.ask(&json!({"start": fields}))?;
        Ok(World::new(session))
    }
}
