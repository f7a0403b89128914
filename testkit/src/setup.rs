//! The setup of a world.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gyre_devcluster::Controllers;
use gyre_engine::program::Program;
use gyre_input::manifests;
use gyre_offline::cases::{CaseInput, START};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::plugin::Plugin;
use crate::world::World;

/// The setup of a world. [`Setup::start`] reports errors in it.
#[must_use = "`start` creates the world"]
pub struct Setup {
    plugins: Vec<(Plugin, Value)>,
    start: String,
    /// Objects with their source.
    objects: Vec<(String, Result<Value>)>,
    files: Vec<PathBuf>,
    configure: Vec<Box<Configure>>,
    controllers: Controllers,
    pod_run_time: Duration,
}

/// For ever, as far as a test is concerned.
const POD_RUN_TIME: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

type Configure = dyn Fn(&mut Program);

impl World {
    /// Starts the [setup](Setup) of a world with this plugin.
    pub fn of(plugin: Plugin) -> Setup {
        Setup::new(plugin)
    }
}

impl Setup {
    fn new(plugin: Plugin) -> Self {
        let plugins = vec![(plugin, Value::Null)];
        Self {
            plugins,
            start: START.to_string(),
            objects: Vec::new(),
            files: Vec::new(),
            configure: Vec::new(),
            controllers: Controllers::Run,
            pod_run_time: POD_RUN_TIME,
        }
    }

    /// Sets the simulated time in RFC 3339. The default is 2026-01-01T00:00:00Z.
    pub fn at(mut self, time: &str) -> Self {
        time.clone_into(&mut self.start);
        self
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

    /// Configures all mounts: limits of calls, namespaces, workers, grants.
    pub fn mounted(mut self, configure: impl Fn(&mut Program) + 'static) -> Self {
        self.configure.push(Box::new(configure));
        self
    }

    /// Adds an object unchanged, with its UID, owners and status. Owners need no UIDs.
    pub fn with(mut self, object: impl Serialize) -> Self {
        let object = serde_json::to_value(object).map_err(|error| Error::new(format!("an object is no JSON: {error}")));
        self.objects.push(("an object of the test".to_owned(), object));
        self
    }

    /// Adds the objects of a file or directory of YAML and JSON files, relative to the package.
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        self.files.push(path.as_ref().to_owned());
        self
    }

    /// Uses the objects, settings and time of a case of `gyre test`, [without
    /// controllers](Self::without_controllers).
    ///
    /// # Errors
    ///
    /// If one of its files cannot be read or is invalid.
    pub fn case(mut self, folder: impl AsRef<Path>) -> Result<Self> {
        let CaseInput { objects, settings, time } = CaseInput::read(folder.as_ref())?;
        if let Some(settings) = settings {
            self.plugins.iter_mut().for_each(|(_, own)| settings.clone_into(own));
        }
        self.start = time.to_string();
        self.objects.extend(objects.into_iter().map(|(file, object)| (file, Ok(object))));
        Ok(self.without_controllers())
    }

    /// Runs no controllers, like `gyre test`: no garbage collection, no Pods of Jobs.
    pub fn without_controllers(mut self) -> Self {
        self.controllers = Controllers::Absent;
        self
    }

    /// Sets the time that Pods run, after which they succeed. By default, they run until a test
    /// ends them.
    pub fn pods_run_for(mut self, time: Duration) -> Self {
        self.pod_run_time = time;
        self
    }

    /// Creates the world. The host starts when the world is [settled](World::settle).
    ///
    /// # Errors
    ///
    /// If the settings, the files or the objects are invalid.
    pub fn start(self) -> Result<World> {
        let Self { plugins, start, objects, files, configure, controllers, pod_run_time } = self;
        let start: Timestamp =
            start.parse().map_err(|error| Error::new(format!("{start:?} is no time such as {START}: {error}")))?;
        let mut programs =
            plugins.into_iter().map(|(plugin, settings)| plugin.program(&settings)).collect::<Result<Vec<_>>>()?;
        for configure in &configure {
            programs.iter_mut().for_each(configure);
        }
        let mut all = manifests::read(&files)?;
        for (place, object) in objects {
            all.push((place, object?));
        }
        World::new(programs, start, controllers, pod_run_time, all)
    }
}
