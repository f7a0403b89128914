//! A hostile plugin and a tenant without rights beside the echo plugin and quiet tenants. Each
//! attacks the others in all ways at once.
//!
//! ```text
//!   namespaces   echos              10,000 Echos are created and deleted, at a steady rate
//!                quiet-0 to 4       objects of a plugin that they share with the tenant
//!                tenant             objects with too many children, forged children, odd owners
//!                hostile-<attack>   an object of the hostile plugin for each of its attacks
//! ```
//!
//! It measures the time from the creation of an object until the host writes its child, without and
//! with the attackers in turns, in three runs. The host has half of the processors; the API server
//! and the load have the others. Finally everything is deleted. Then the host must have freed what
//! it allocated, and must have written only what is granted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, ensure};
use clap::Args;
use clap::builder::RangedU64ValueParser;
use gyre_controlplane::{AuditEvent, Mark};
use gyre_sandbox::{Options, Sandbox};
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use crate::line::Line;
use crate::process::processor_seconds;
use crate::processors::Processors;
use crate::stage::{self, Host, Stage, USER, api, quantile, until};

#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Options of hostile")]
pub(crate) struct Arguments {
    /// Number of runs of the hostile benchmark. The median of their ratios is compared with the
    /// target.
    #[arg(long, default_value_t = 3, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100))]
    runs: usize,
    /// Number of Echos that each side of a run creates and deletes.
    #[arg(long, default_value_t = 10_000, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    echos: usize,
    /// Number of Echos created per second. The default is less than half of what the API server and
    /// the host can process on two processors; at higher rates, a backlog never shrinks.
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    echos_per_second: u32,
}

const TURNS: usize = 5;
const ECHOS_PER_QUIET_OBJECT: usize = 5;
const LIVES_FOR: usize = 10;

const QUIET_TENANTS: usize = 5;
/// The attacks of the hostile plugin, and the reason of the problem that each causes, if any.
const ATTACKS: [(&str, Option<&str>); 11] = [
    ("spin", Some("DeadlineExceeded")),
    ("trap", Some("Trapped")),
    ("memory", Some("OutOfMemory")),
    ("recursion", Some("StackOverflow")),
    ("children", Some("TooManyChildren")),
    ("refusals", Some("UndeclaredKind")),
    ("failure", Some("PluginTransient")),
    ("names", None),
    ("log", Some("LogFlood")),
    ("clock", None),
    ("elsewhere", Some("NamespaceNotGranted")),
];
/// The attack of the tenant on the shared plugin, which returns too many children for its objects.
const FLOOD: &str = "flood";
/// No multiple of the Echos' interval, to hit different steps of a reconcile.
const TENANT_ACTS_EVERY: Duration = Duration::from_millis(47);
const PLUGINS: [&str; 3] = [gyre_artifacts::ECHO, gyre_artifacts::probes::FICKLE, gyre_artifacts::probes::ATTACKER];

pub(crate) fn measure(arguments: Arguments) -> anyhow::Result<Vec<Line>> {
    let measure = |processors| stage::run(run(arguments, processors));
    match Processors::divide()? {
        Some(processors) => processors.run_on_rest(|| measure(Some(processors)))?,
        None => {
            eprintln!("there is only one processor: the host shares it with the API server and the load");
            measure(None)
        }
    }
}

async fn run(arguments: Arguments, processors: Option<Processors>) -> anyhow::Result<Vec<Line>> {
    let test_bed = TestBed::set(arguments, processors).await?;
    let each = arguments.echos.div_ceil(TURNS);
    // Starts threads and fills caches before the first count.
    test_bed.with_attack(async || test_bed.load(each).await.map(drop)).await?;
    test_bed.host.until_at_rest().await?;
    let before = test_bed.host.bytes().await?;
    let mut lines = Vec::new();
    let mut ratios = [Vec::new(), Vec::new()];
    for number in 1..=arguments.runs {
        let (mut without, mut with) = (Latencies::default(), Latencies::default());
        for turn in 1..=TURNS {
            without.add(test_bed.turn(&format!("run {number}, turn {turn} of {TURNS}, without them"), each).await?);
            test_bed
                .with_attack(async || {
                    with.add(test_bed.turn(&format!("run {number}, turn {turn} of {TURNS}, with them"), each).await?);
                    Ok(())
                })
                .await?;
        }
        let sides = [(&mut without.echo, &mut with.echo, "Echos"), (&mut without.quiet, &mut with.quiet, "quiet tenants")];
        for ((without, with, whose), ratios) in sides.into_iter().zip(&mut ratios) {
            let [without, with] = [without, with].map(|latencies| quantile(latencies, 0.99).as_secs_f64() * 1e3);
            eprintln!("run {number}, {whose}: 99 of 100 within {without:.1} ms without them, {with:.1} ms with them");
            lines.push(Line::new(format!("run {number}, {whose}: 99 of 100, without them"), without, "ms", None));
            lines.push(Line::new(format!("run {number}, {whose}: 99 of 100, with them"), with, "ms", None));
            ratios.push(with / without);
        }
    }
    let [echo, quiet] = ratios.map(|mut ratios| {
        ratios.sort_by(f64::total_cmp);
        ratios.get(arguments.runs / 2).copied().unwrap_or(f64::INFINITY)
    });
    lines.push(Line::new("Echos, with / without, median of the runs", echo, "x", Some(1.2)));
    lines.push(Line::new("quiet tenants, with / without, median of the runs", quiet, "x", Some(1.5)));
    test_bed.host.until_at_rest().await?;
    let after = test_bed.host.bytes_at_most(before * 1.05).await?;
    lines.push(Line::new("bytes allocated before", before / 1e6, "MB", None));
    lines.push(Line::new("bytes allocated after / before", after / before, "x", Some(1.05)));
    let outside = test_bed.writes_outside_of_the_grants()?;
    for write in &outside {
        eprintln!("not granted: {write}");
    }
    lines.push(Line::new("writes that nobody granted", outside.len() as f64, "", Some(0.0)));
    Ok(lines)
}

/// The times from the creation of objects until the host's writes of their children.
#[derive(Default)]
struct Latencies {
    echo: Vec<Duration>,
    quiet: Vec<Duration>,
}

impl Latencies {
    fn add(&mut self, more: Self) {
        self.echo.extend(more.echo);
        self.quiet.extend(more.quiet);
    }
}

struct TestBed {
    // The fields are dropped in this order: the process before its folder.
    host: Host,
    stage: Stage,
    arguments: Arguments,
}

impl TestBed {
    async fn set(arguments: Arguments, processors: Option<Processors>) -> anyhow::Result<Self> {
        let stage = Stage::set().await?.with_processors(processors);
        let sandbox = Sandbox::new(Options { cache_dir: Some(stage.code()), ..Options::default() })?;
        for plugin in PLUGINS {
            stage.install(sandbox.load(&std::fs::read(plugin)?)?.manifest()).await?;
        }
        let quiet = (0..QUIET_TENANTS).map(quiet_tenant);
        let hostile = ATTACKS.map(|(attack, _)| format!("hostile-{attack}"));
        let namespaces = stage.api("", "v1", "Namespace", None);
        for name in ["echos".to_owned(), "tenant".to_owned()].into_iter().chain(quiet).chain(hostile) {
            create(&namespaces, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await?;
        }
        let host = stage
            .host("host", |command| {
                for plugin in PLUGINS {
                    command.arg(plugin);
                }
            })
            .await?;
        host.until_mounted(PLUGINS.len()).await?;
        Ok(Self { host, stage, arguments })
    }

    /// Runs the load, and prints progress that helps to explain unexpected ratios.
    async fn turn(&self, what: &str, echos: usize) -> anyhow::Result<Latencies> {
        let used = || anyhow::Ok((processor_seconds(std::process::id())?, self.host.processor_seconds()?));
        let (start, (server_before, host_before)) = (Instant::now(), used()?);
        let mut latencies = self.load(echos).await?;
        let (lasted, (server_after, host_after)) = (start.elapsed().as_secs_f64(), used()?);
        let server = 100.0 * (server_after - server_before) / lasted;
        let host = 100.0 * (host_after - host_before) / lasted;
        let [median, slow] = [0.5, 0.99].map(|share| quantile(&mut latencies.echo, share).as_secs_f64() * 1e3);
        eprintln!(
            "{what}: {lasted:.0} s; half of the Echos within {median:.1} ms, 99 of 100 within {slow:.1} ms; the API server and the load \
             take {server:.0} % of a processor, the host {host:.0} %"
        );
        Ok(latencies)
    }

    /// Creates Echos and objects of quiet tenants at a steady rate, and deletes each later.
    async fn load(&self, echos: usize) -> anyhow::Result<Latencies> {
        let start = self.stage.audit.mark()?;
        let client = &self.stage.client;
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / self.arguments.echos_per_second);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut requests = JoinSet::new();
        let lives_for = LIVES_FOR * self.arguments.echos_per_second as usize;
        for number in 0..echos + lives_for {
            let objects = if number < echos { objects(client, number) } else { Vec::new() };
            let old = number.checked_sub(lives_for).map(|old| self::objects(client, old)).unwrap_or_default();
            if !objects.is_empty() {
                ticks.tick().await;
            }
            requests.spawn(async move {
                for (api, object) in objects {
                    create(&api, object).await?;
                }
                for (api, object) in old {
                    delete(&api, name_of(&object)).await?;
                }
                anyhow::Ok(())
            });
            while let Some(done) = requests.try_join_next() {
                done??;
            }
            if number + 1 == echos {
                // The last ones stay until their children exist.
                self.latencies(start).await?;
            }
        }
        while let Some(done) = requests.join_next().await {
            done??;
        }
        let latencies = self.latencies(start).await?;
        self.until_gone("batch", "Job", "echos").await?;
        for tenant in (0..QUIET_TENANTS).map(quiet_tenant) {
            self.until_gone("", "ConfigMap", &tenant).await?;
        }
        Ok(latencies)
    }

    async fn until_gone(&self, group: &str, kind: &str, namespace: &str) -> anyhow::Result<()> {
        let children = self.stage.api(group, "v1", kind, Some(namespace));
        until(&format!("the {kind} objects of {namespace} to go"), async || {
            let left = children.list_metadata(&Default::default()).await?;
            Ok(left.items.iter().all(|child| child.metadata.name.as_deref().is_some_and(|name| !name.starts_with("load-"))))
        })
        .await
    }

    async fn latencies(&self, start: Mark) -> anyhow::Result<Latencies> {
        let mut latencies = Latencies::default();
        until("the last child to be written", async || {
            let events = self.stage.audit.since(start)?;
            let all = |parents: &'static str, children: &'static str| -> Option<Vec<Duration>> {
                latencies_of(&events, parents, children).into_iter().collect()
            };
            let (Some(echo), Some(quiet)) = (all("echos", "jobs"), all("fickles", "configmaps")) else { return Ok(false) };
            latencies = Latencies { echo, quiet };
            Ok(true)
        })
        .await?;
        Ok(latencies)
    }

    /// Runs `during` while the plugin and the tenant attack, and then deletes their objects.
    async fn with_attack(&self, during: impl AsyncFnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let (start, problems) = (self.stage.audit.mark()?, self.problems()?);
        for (api, object) in hostile_objects(&self.stage.client) {
            create(&api, object).await?;
        }
        let victim = self.victim().await?;
        let tenant = tokio::spawn(attack_as_a_tenant(self.stage.client.clone(), victim));
        let done = during().await.and_then(|()| self.assert_attacked(start, &problems));
        tenant.abort();
        // The task ends at an await, so its current request completes.
        drop(tenant.await);
        done?;
        for (api, object) in hostile_objects(&self.stage.client) {
            delete(&api, name_of(&object)).await?;
        }
        for number in 0..TENANT_OBJECTS {
            let (api, object) = tenant_object(&self.stage.client, number, "");
            delete(&api, name_of(&object)).await?;
        }
        delete(&echos(&self.stage.client), VICTIM).await
    }

    /// Returns the number of problems by attack.
    fn problems(&self) -> anyhow::Result<Vec<(&'static str, f64)>> {
        let attacks = ATTACKS.into_iter().filter_map(|(attack, reason)| Some((attack, "attacker", reason?)));
        let count = |(attack, plugin, reason): (&'static str, &str, &str)| {
            Ok((attack, self.host.metric("gyre_plugin_problems_total", &[&format!("{plugin:?}"), &format!("{reason:?}")])?))
        };
        attacks.chain([(FLOOD, "fickle", "TooManyChildren")]).map(count).collect()
    }

    /// Fails if an attack did not take place, because then nothing is measured.
    fn assert_attacked(&self, start: Mark, before: &[(&'static str, f64)]) -> anyhow::Result<()> {
        for ((attack, after), (_, before)) in self.problems()?.into_iter().zip(before) {
            eprintln!("{attack}: {} times", after - before);
            // The namespace of the tenant stays quarantined for longer than a turn.
            let is_held_off = attack == FLOOD && *before > 0.0;
            ensure!(after > *before || is_held_off, "the attack {attack} did not take place");
        }
        let events = self.stage.audit.since(start)?;
        let count =
            |is_it: &dyn Fn(&AuditEvent) -> bool| events.iter().filter(|event| event.is_write() && is_it(event)).count();
        for attack in ["names", "clock"] {
            let namespace = format!("hostile-{attack}");
            let statuses = count(&|event| event.user == USER && event.resource == "attackers" && event.namespace == namespace);
            eprintln!("{attack}: {statuses} statuses");
            ensure!(statuses > 0, "the attack {attack} did not take place");
        }
        let of_tenant = count(&|event| event.user != USER && event.namespace == "tenant" && event.succeeded());
        eprintln!("tenant: {of_tenant} writes");
        ensure!(of_tenant > TENANT_OBJECTS, "the tenant did not attack");
        Ok(())
    }

    async fn victim(&self) -> anyhow::Result<String> {
        let victim = create(&echos(&self.stage.client), echo(VICTIM)).await?;
        victim.metadata.uid.context("no UID")
    }

    /// Returns the writes of the host other than children, statuses and events of the parents.
    fn writes_outside_of_the_grants(&self) -> anyhow::Result<BTreeSet<String>> {
        let is_granted = |event: &AuditEvent| match (event.resource.as_str(), event.namespace.as_str()) {
            ("jobs", "echos") | ("echos", "echos") => true,
            ("configmaps" | "fickles", "tenant") => !event.name.starts_with("forged-") && !event.name.starts_with("odd-"),
            ("configmaps" | "fickles", namespace) => namespace.starts_with("quiet-"),
            ("attackers", namespace) => namespace.starts_with("hostile-"),
            ("events", namespace) => {
                ["echos", "tenant"].contains(&namespace) || namespace.starts_with("quiet-") || namespace.starts_with("hostile-")
            }
            _ => false,
        };
        let events = self.stage.audit.since(Mark::START)?;
        let of_host = events.iter().filter(|event| event.user == USER && event.is_write() && event.succeeded());
        let outside = of_host.filter(|event| !is_granted(event));
        Ok(outside.map(|event| format!("{} {} {}/{}", event.verb, event.resource, event.namespace, event.name)).collect())
    }
}

type Object = (Api<DynamicObject>, Value);

fn objects(client: &Client, number: usize) -> Vec<Object> {
    let name = format!("load-{number}");
    let mut objects = vec![(echos(client), echo(&name))];
    if number.is_multiple_of(ECHOS_PER_QUIET_OBJECT) {
        let tenant = quiet_tenant(number / ECHOS_PER_QUIET_OBJECT % QUIET_TENANTS);
        objects.push((guests(client, "Fickle", &tenant), guest("Fickle", &name, json!({}))));
    }
    objects
}

/// Returns an object for each attack, and six with too many children for the shared plugin.
fn hostile_objects(client: &Client) -> Vec<Object> {
    let attack = |attack: &str| {
        let api = guests(client, "Attacker", &format!("hostile-{attack}"));
        (api, guest("Attacker", "it", json!({"attack": attack})))
    };
    let flood = |number| {
        let object = guest("Fickle", &format!("flood-{number}"), json!({"fail": "flood"}));
        (guests(client, "Fickle", "tenant"), object)
    };
    ATTACKS.into_iter().map(|(name, _)| attack(name)).chain((0..6).map(flood)).collect()
}

const VICTIM: &str = "victim";
const TENANT_OBJECTS: usize = 60;

async fn attack_as_a_tenant(client: Client, victim: String) -> anyhow::Result<()> {
    let mut ticks = tokio::time::interval(TENANT_ACTS_EVERY);
    for number in (0..TENANT_OBJECTS).cycle() {
        ticks.tick().await;
        let (api, object) = tenant_object(&client, number, &victim);
        delete(&api, name_of(&object)).await?;
        create(&api, object).await?;
    }
    Ok(())
}

fn tenant_object(client: &Client, number: usize, victim: &str) -> Object {
    let (group, kind, spec) = match number % 2 {
        0 => ("", "ConfigMap", Value::Null),
        _ => {
            let container = json!({"name": "it", "image": "it"});
            ("batch", "Job", json!({"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}))
        }
    };
    let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    let metadata = match number % 3 {
        0 => json!({
            "name": format!("odd-{number}"),
            "annotations": {"odd": "\u{7f}\u{2028}\"\\"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a\"b", "uid": "a\"b"}],
        }),
        1 => json!({
            "name": format!("odd-{number}"),
            "ownerReferences": [{"apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "name": VICTIM, "uid": victim, "controller": true}],
        }),
        _ => json!({
            "name": format!("forged-{number}"),
            "labels": {"gyre.dev/plugin": "echo", "gyre.dev/owner-uid": victim},
        }),
    };
    let object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec});
    (api(client, group, "v1", kind, Some("tenant")), object)
}

fn quiet_tenant(number: usize) -> String {
    format!("quiet-{number}")
}

fn echos(client: &Client) -> Api<DynamicObject> {
    api(client, "mmontes.io", "v1alpha1", "Echo", Some("echos"))
}

fn echo(name: &str) -> Value {
    json!({"apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "metadata": {"name": name}, "spec": {"message": name}})
}

fn guests(client: &Client, kind: &str, namespace: &str) -> Api<DynamicObject> {
    api(client, "guests.gyre.dev", "v1", kind, Some(namespace))
}

fn guest(kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "guests.gyre.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn name_of(object: &Value) -> &str {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

async fn create(api: &Api<DynamicObject>, object: Value) -> anyhow::Result<DynamicObject> {
    let text = object.to_string();
    api.create(&PostParams::default(), &serde_json::from_value(object)?).await.with_context(|| text)
}

/// Deletes the object if it exists, and removes its finalizers.
async fn delete(api: &Api<DynamicObject>, name: &str) -> anyhow::Result<()> {
    let deleted = match api.delete(name, &DeleteParams::background()).await {
        Ok(either) => either.left(),
        Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if deleted.is_some_and(|object| object.metadata.finalizers.is_some()) {
        let nobody = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        api.patch(name, &PatchParams::default(), &nobody).await?;
    }
    Ok(())
}

/// Returns the time from the creation of each parent until the host's first creation of its child
/// or, without one, its deletion; `None` if neither happened yet.
fn latencies_of(events: &[AuditEvent], parents: &'static str, children: &'static str) -> Vec<Option<Duration>> {
    let is_load = |event: &&AuditEvent| event.succeeded() && event.name.starts_with("load-");
    let of = |verb: &'static str, resource: &'static str, by_host: bool| {
        let is_it =
            move |event: &&AuditEvent| event.verb == verb && event.resource == resource && (event.user == USER) == by_host;
        events.iter().filter(is_load).filter(is_it)
    };
    let mut ends: BTreeMap<&str, SystemTime> = BTreeMap::new();
    for end in of("create", children, true).chain(of("delete", parents, false)) {
        ends.entry(&end.name).or_insert(end.received);
    }
    let latency = |parent: &AuditEvent| {
        // The host may learn of it before its creator.
        Some(ends.get(parent.name.as_str())?.duration_since(parent.timestamp).unwrap_or_default())
    };
    of("create", parents, false).map(latency).collect()
}
