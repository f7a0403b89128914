//! A world before it begins.

use std::path::{Path, PathBuf};

use gyre_devcluster::Controllers;
use gyre_engine::program::Program;
use gyre_input::manifests;
use gyre_offline::cases::CaseInput;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::plugin::Plugin;
use crate::world::World;

/// When it is unless a test says so, as in `gyre test`.
const START: &str = "2026-01-01T00:00:00Z";

/// What a world begins with. What is wrong with it is said by [`Setup::start`].
#[must_use = "`start` makes a world of it"]
pub struct Setup {
    plugins: Vec<(Plugin, Value)>,
    start: String,
    /// With where each comes from.
    objects: Vec<(String, Result<Value>)>,
    files: Vec<PathBuf>,
    configure: Vec<Box<Configure>>,
    controllers: Controllers,
}

type Configure = dyn Fn(&mut Program);

impl World {
    /// A world with this plugin, to be [furnished](Setup) and started.
    pub fn of(plugin: Plugin) -> Setup {
        Setup::new(plugin)
    }
}

impl Setup {
    fn new(plugin: Plugin) -> Self {
        let plugins = vec![(plugin, Value::Null)];
        Self {
            plugins,
            start: START.to_owned(),
            objects: Vec::new(),
            files: Vec::new(),
            configure: Vec::new(),
            controllers: Controllers::Run,
        }
    }

    /// It is that time of day, in RFC 3339. Without it, it is 2026-01-01T00:00:00Z.
    pub fn at(mut self, time: &str) -> Self {
        time.clone_into(&mut self.start);
        self
    }

    /// Another plugin is mounted beside, e.g. one whose parents are this one's children.
    pub fn beside(mut self, plugin: Plugin) -> Self {
        self.plugins.push((plugin, Value::Null));
        self
    }

    /// The settings of the plugin that was named last. They are checked as those of a mount are.
    pub fn settings(mut self, settings: impl Into<Value>) -> Self {
        if let Some((_, last)) = self.plugins.last_mut() {
            *last = settings.into();
        }
        self
    }

    /// Changes how all the plugins are mounted: limits of calls, namespaces, workers, grants.
    pub fn mounted(mut self, configure: impl Fn(&mut Program) + 'static) -> Self {
        self.configure.push(Box::new(configure));
        self
    }

    /// The cluster holds this object, as it is: with its UID, its owners and its status, if it has them. Owners may be named without UIDs.
    pub fn with(mut self, object: impl Serialize) -> Self {
        let object = serde_json::to_value(object).map_err(|error| Error::new(format!("an object is no JSON: {error}")));
        self.objects.push(("an object of the test".to_owned(), object));
        self
    }

    /// The cluster holds the objects of this file, or of the YAML and JSON files of this folder. Paths are relative to the package.
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        self.files.push(path.as_ref().to_owned());
        self
    }

    /// As a case of `gyre test`: with the objects, the settings and the time of this folder, and [without
    /// controllers](Self::without_controllers).
    ///
    /// # Errors
    ///
    /// When a file of it cannot be read, or is not what it should be.
    pub fn case(mut self, folder: impl AsRef<Path>) -> Result<Self> {
        let CaseInput { objects, settings, time } = CaseInput::read(folder.as_ref())?;
        if let Some(settings) = settings {
            self.plugins.iter_mut().for_each(|(_, own)| settings.clone_into(own));
        }
        self.start = time.to_string();
        self.objects.extend(objects.into_iter().map(|(file, object)| (file, Ok(object))));
        Ok(self.without_controllers())
    }

    /// Nobody acts but the host, as in `gyre test`: garbage stays, Jobs make no Pods, and Pods do not run.
    pub fn without_controllers(mut self) -> Self {
        self.controllers = Controllers::Absent;
        self
    }

    /// Makes the world. Nothing happens in it before it is told to [settle](World::settle).
    ///
    /// # Errors
    ///
    /// What is wrong with the settings, the files, or the objects.
    pub fn start(self) -> Result<World> {
        let Self { plugins, start, objects, files, configure, controllers } = self;
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
        World::new(programs, start, controllers, all)
    }
}
