//! The requests of one world, one after the other.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use gyre_devcluster::Controllers;
use gyre_engine::error::error_chain;
use gyre_engine::record::format::{AnswerLine, CallLine};
use gyre_engine::record::{CallInputs, CallRecord};
use gyre_input::manifests;
use gyre_offline::cases::{Case, CaseInput, EXPECTED, START, cases_in};
use gyre_offline::plan::Action;
use gyre_offline::world::{self, Reference, Run, World};
use serde_json::{Map, Value, json};

use super::compare;
use super::link::Link;
use super::plugins::Plugins;
use super::protocol::{ActionLine, Body, Mount, Request, RunLine, Start};

/// For ever, as far as a test is concerned.
const POD_RUN_TIME: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The most calls in an answer. Each has some 10 KB, and a day of a schedule has thousands.
const MOST_CALLS: usize = 1000;

pub(super) struct Session {
    link: Arc<Link>,
    plugins: Arc<Plugins>,
    world: Option<World>,
}

impl Session {
    pub(super) fn new(link: Arc<Link>, plugins: Arc<Plugins>) -> Self {
        Self { link, plugins, world: None }
    }

    /// Answers requests until the last one.
    pub(super) fn run(mut self) -> io::Result<()> {
        while let Some(request) = self.link.next() {
            if matches!(request, Ok(Request::End {})) {
                self.world = None;
                self.link.answer(Ok(Body::Value(json!({}))));
                break;
            }
            let answer = request.and_then(|request| {
                let answered = catch_unwind(AssertUnwindSafe(|| self.answer(request)));
                let answered = answered.unwrap_or_else(|_| {
                    self.world = None;
                    Err(anyhow!("a defect of gyre has ended this world; the standard error of gyre says where"))
                });
                answered.map_err(|error| error_chain(error.as_ref()))
            });
            self.link.answer(answer);
        }
        self.link.failure().map_or(Ok(()), Err)
    }

    fn answer(&mut self, request: Request) -> anyhow::Result<Body> {
        let done = Body::Value(json!({}));
        match request {
            Request::Load(source) => {
                let (plugin, manifest) = self.plugins.load(*source, &self.link)?;
                return Ok(Body::Value(json!({"plugin": plugin, "manifest": manifest})));
            }
            Request::Start(start) => self.world = Some(self.start(*start)?),
            Request::Compare(comparison) => return difference(compare::compare(comparison)?),
            Request::Golden { actual, path, write } => return difference(compare::golden(&actual, &path, write)?),
            Request::Cases { plugin, folder, write } => {
                let cases = cases_in(&folder)?;
                if cases.is_empty() {
                    let folder = folder.display();
                    bail!(
                        "there is no case in {folder}: create a directory with objects in it, and use {} to write its {EXPECTED}",
                        compare::BLESS
                    );
                }
                return difference(self.cases(plugin, &cases, write));
            }
            Request::Settle { allow_faults } => {
                let world = self.world()?;
                let run = if allow_faults { world.settle_with_faults() } else { world.settle() };
                return Ok(Body::Run(Box::new(run_line(&run?))));
            }
            Request::Advance { ms } => self.world()?.advance(Duration::from_millis(ms))?,
            Request::Restart {} => self.world()?.restart()?,
            Request::Upgrade { plugin } => {
                let name = self.plugins.name(plugin).with_context(|| format!("no plugin {plugin} is loaded"))?;
                let settings = self.world()?.settings_of(&name).unwrap_or_default();
                let version = self.plugins.version(plugin, settings, &self.link)?;
                self.world()?.upgrade(version)?;
            }
            Request::Put { object } => self.world()?.put(object)?,
            Request::Replace { object } => self.world()?.replace(&object)?,
            Request::SetStatus { object, status } => self.world()?.set_status(&named(&object)?, status)?,
            Request::Delete { object } => self.world()?.delete(&named(&object)?)?,
            Request::EndJob { object, end } => self.world()?.end_job(&named(&object)?, end.into())?,
            Request::Find { object } => {
                let object = self.world()?.find(&named(&object)?)?;
                return Ok(Body::Value(json!({"object": object})));
            }
            Request::List { kind } => return Ok(Body::Value(json!({"objects": self.world()?.list(&kind)?}))),
            Request::Now {} => return Ok(Body::Value(json!({"time": self.world()?.now()}))),
            Request::Steps {} => return Ok(Body::Value(json!({"steps": self.world()?.steps()}))),
            Request::Read(_) | Request::Clock {} | Request::Log { .. } | Request::Return(_) => {
                bail!("there is no call of a plugin in the kit")
            }
            Request::End {} => {}
        }
        Ok(done)
    }

    fn world(&mut self) -> anyhow::Result<&mut World> {
        self.world.as_mut().context("this world has not been started")
    }

    fn start(&self, start: Start) -> anyhow::Result<World> {
        let Start { mut plugins, time, objects, files, case, without_controllers, pods_run_for_ms } = start;
        let time = time.map(|time| time.parse().map_err(|error| anyhow!("{time:?} is no time such as {START}: {error}")));
        let mut all = manifests::read(&files)?;
        all.extend(objects.into_iter().map(|object| ("an object of the test".to_owned(), object)));
        let mut options = world::Start {
            time: time.unwrap_or(Ok(START))?,
            controllers: if without_controllers { Controllers::Absent } else { Controllers::Run },
            pod_run_time: pods_run_for_ms.map_or(POD_RUN_TIME, Duration::from_millis),
        };
        if let Some(folder) = case {
            let CaseInput { objects, settings, mount: keys, time } = CaseInput::read(&folder)?;
            let keys = keys_of_case(keys);
            for mount in &mut plugins {
                if let Some(settings) = &settings {
                    settings.clone_into(&mut mount.settings);
                }
                keys.clone_into(&mut mount.mount);
            }
            all.extend(objects);
            options = world::Start { time, controllers: Controllers::Absent, ..options };
        }
        let programs = plugins.iter().map(|mount| self.plugins.program(mount, &self.link)).collect::<Result<Vec<_>, _>>()?;
        World::new(programs, options, all)
    }

    /// Returns the differences of all cases in one text.
    fn cases(&self, plugin: usize, cases: &[Case], write: bool) -> Option<String> {
        let failure = |case: &Case| match self.case(plugin, case, write) {
            Ok(difference) => difference,
            Err(error) => Some(error_chain(error.as_ref())),
        };
        let failed: Vec<String> = cases.iter().filter_map(|case| Some(format!("{}: {}", case.name, failure(case)?))).collect();
        let count = failed.len();
        (count > 0).then(|| format!("{count} of {} cases are not as expected\n\n{}", cases.len(), failed.join("\n")))
    }

    fn case(&self, plugin: usize, case: &Case, write: bool) -> anyhow::Result<Option<String>> {
        let mount = Mount { plugin, settings: Value::Null, mount: Default::default() };
        let start = Start { plugins: vec![mount], case: Some(case.folder.clone()), ..Start::default() };
        let run = self.start(start)?.wait()?;
        compare::golden(&run.host_run.summary(), &case.folder.join(EXPECTED), write)
    }
}

/// The keys of the mount of a case. As in `gyre test`, nothing is granted of the parent unless the
/// case says it.
fn keys_of_case(keys: Option<Map<String, Value>>) -> Map<String, Value> {
    let mut keys = keys.unwrap_or_default();
    if let Some(grants) = keys.entry("grants").or_insert_with(|| json!({})).as_object_mut() {
        grants.entry("deleteParents").or_insert(json!(false));
        grants.entry("parentFields").or_insert(json!([]));
    }
    keys
}

fn named(object: &str) -> anyhow::Result<Reference> {
    object.parse().map_err(anyhow::Error::msg)
}

fn difference(difference: Option<String>) -> anyhow::Result<Body> {
    Ok(Body::Value(json!({"difference": difference})))
}

fn run_line(run: &Run) -> RunLine {
    let Run { host_run, calls } = run;
    let mut reads: Vec<String> = Vec::new();
    for question in calls.iter().flat_map(|call| call.reads.keys()) {
        let question = question.to_string();
        if !reads.contains(&question) {
            reads.push(question);
        }
    }
    let call = |(number, call): (u64, &Arc<CallRecord>)| {
        let answer = AnswerLine::of(&call.answer, call.usage.clock);
        CallLine::of((number, 0), &CallInputs::of(call), &call.reads, answer, None)
    };
    let action = |action: &Action| ActionLine {
        text: action.to_string(),
        verb: action.verb,
        subject: action.subject.clone(),
        object: action.object.clone(),
        refusal: action.refusal.clone(),
    };
    RunLine {
        plan: host_run.actions.iter().map(action).collect(),
        children: host_run.children().into_iter().cloned().collect(),
        parents: host_run.parents.clone(),
        calls: (1..).zip(calls).take(MOST_CALLS).map(call).collect(),
        reads,
        log: calls.iter().flat_map(|call| call.answer.log.iter().cloned()).collect(),
        summary: host_run.summary(),
    }
}
