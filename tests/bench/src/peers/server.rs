//! The control plane, its Echos, and a running operator.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use gyre_controlplane::{AuditEvent, AuditReader, ControlPlane, Controllers, Guarded, Mark, Options, Tools};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use tokio::time::{MissedTickBehavior, sleep};

use super::peer::Peer;
use crate::process::{processor_seconds, resident_bytes};
use crate::stage::{api, quantile};

const USER: &str = "gyre-bench-peer";
const AT_ONCE: usize = 16;
const PER_SECOND: u32 = 20;
/// An operator is idle if it uses almost no CPU time in this interval; see [`Running::until_idle`].
const IDLE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(600);

/// A control plane without controllers.
pub(super) struct Server {
    plane: ControlPlane,
    kubeconfig: PathBuf,
    client: Client,
    audit: AuditReader,
}

/// A position in the audit log, and the CPU time until then.
pub(super) struct Checkpoint {
    mark: Mark,
    processor_seconds: f64,
}

pub(super) struct Running<'a> {
    server: &'a Server,
    process: Guarded,
    start: Checkpoint,
    started: SystemTime,
}

impl Server {
    pub(super) async fn start(tools: &Tools) -> anyhow::Result<Self> {
        let plane = ControlPlane::start(tools, Options { controllers: Controllers::Absent, ..Options::default() })?;
        let definitions =
            std::process::Command::new(crate::process::program("gyre")?).arg("crds").arg(gyre_artifacts::ECHO).output()?;
        plane.apply(&String::from_utf8(definitions.stdout)?)?;
        let kubeconfig = plane.kubeconfig_for_user(USER, &["system:masters"])?;
        let config = Kubeconfig::read_from(plane.kubeconfig())?;
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
        let (client, audit) = (Client::try_from(config)?, plane.audit()?);
        let server = Self { plane, kubeconfig, client, audit };
        server.until_served().await?;
        Ok(server)
    }

    pub(super) fn folder(&self) -> &Path {
        self.plane.folder()
    }

    pub(super) fn mark(&self) -> anyhow::Result<Checkpoint> {
        let processes = self.plane.process_ids();
        let processor_seconds = processes.into_iter().map(processor_seconds).sum::<anyhow::Result<f64>>()?;
        Ok(Checkpoint { mark: self.plane.audit_barrier()?, processor_seconds })
    }

    pub(super) fn processor_seconds_since(&self, before: &Checkpoint) -> anyhow::Result<f64> {
        Ok(self.mark()?.processor_seconds - before.processor_seconds)
    }

    fn echos(&self) -> Api<DynamicObject> {
        api(&self.client, "mmontes.io", "v1alpha1", "Echo", Some("default"))
    }

    async fn until_served(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while self.echos().list(&ListParams::default().limit(1)).await.is_err() {
            ensure!(Instant::now() < deadline, "Echos are not served");
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    pub(super) async fn create_echos(&self, numbers: std::ops::Range<usize>) -> anyhow::Result<()> {
        let echos = self.echos();
        let create = |number| {
            let echos = echos.clone();
            async move {
                echos.create(&PostParams::default(), &echo(number)?).await?;
                anyhow::Ok(())
            }
        };
        stream::iter(numbers).map(create).buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Annotates each Echo, which does not matter to the plugin.
    pub(super) async fn touch_echos(&self, numbers: std::ops::Range<usize>) -> anyhow::Result<()> {
        let echos = self.echos();
        let touch = |number| {
            let echos = echos.clone();
            async move {
                let patch = Patch::Merge(json!({ "metadata": { "annotations": { "touched": "yes" } } }));
                echos.patch(&name(number), &PatchParams::default(), &patch).await?;
                anyhow::Ok(())
            }
        };
        stream::iter(numbers).map(touch).buffer_unordered(AT_ONCE).try_collect().await
    }

    pub(super) async fn clear(&self) -> anyhow::Result<()> {
        let kinds = [("mmontes.io", "v1alpha1", "Echo"), ("batch", "v1", "Job"), ("events.k8s.io", "v1", "Event")];
        for (group, version, kind) in kinds {
            let objects = api(&self.client, group, version, kind, Some("default"));
            objects.delete_collection(&DeleteParams::background(), &ListParams::default()).await?;
        }
        Ok(())
    }

    pub(super) fn run(&self, peer: &Peer, workers: usize) -> anyhow::Result<Running<'_>> {
        let (start, log) = (self.mark()?, self.folder().join(format!("{}.log", peer.name)));
        let command = peer.command(&self.kubeconfig, workers);
        let started = SystemTime::now();
        let process = Guarded::spawn(peer.name, &command, &log, Duration::from_secs(30))?;
        Ok(Running { server: self, process, start, started })
    }
}

impl Running<'_> {
    pub(super) async fn until_statuses(&mut self, count: usize) -> anyhow::Result<()> {
        let mut file = File::open(self.server.plane.audit_log()?)?;
        file.seek(SeekFrom::End(0))?;
        let (mut found, mut rest, deadline) = (self.statuses()?.len(), String::new(), Instant::now() + PATIENCE);
        // Searches text, because parsing would take CPU time from the operator.
        while found < count {
            self.check(deadline, "statuses")?;
            sleep(Duration::from_millis(200)).await;
            file.read_to_string(&mut rest)?;
            let whole = rest.rfind('\n').map_or(0, |end| end + 1);
            let is_status = |line: &&str| line.contains(USER) && line.contains(r#""subresource":"status""#);
            found += rest.drain(..whole).as_str().lines().filter(is_status).count();
        }
        Ok(())
    }

    /// Waits until it has used at most `TIMERS` of CPU time in [`IDLE`].
    pub(super) async fn until_idle(&mut self) -> anyhow::Result<()> {
        /// The seconds of CPU time that metrics, leases and garbage collection may use.
        const TIMERS: f64 = 0.02;
        let deadline = Instant::now() + PATIENCE;
        let mut before = self.processor_seconds()?;
        loop {
            self.check(deadline, "rest")?;
            sleep(IDLE).await;
            let now = self.processor_seconds()?;
            if now - before <= TIMERS {
                return Ok(());
            }
            before = now;
        }
    }

    /// Creates Echos, and returns the median and 99th percentile until their Jobs, in ms.
    pub(super) async fn live(&mut self, seconds: u64) -> anyhow::Result<(f64, f64)> {
        let count = usize::try_from(seconds)? * PER_SECOND as usize;
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / PER_SECOND);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        for number in 0..count {
            ticks.tick().await;
            self.server.create_echos(number..number + 1).await?;
        }
        self.until_idle().await?;
        let events = self.server.audit.since(self.start.mark)?;
        let created = |resource: &str| -> BTreeMap<&str, SystemTime> {
            let is_meant = |event: &&AuditEvent| event.verb == "create" && event.resource == resource && event.succeeded();
            events.iter().filter(is_meant).map(|event| (event.name.as_str(), event.timestamp)).collect()
        };
        let (echos, jobs) = (created("echos"), created("jobs"));
        // kube-rs applies its Jobs.
        let applied = events.iter().filter(|event| event.verb == "patch" && event.resource == "jobs" && event.code == 201);
        let jobs: BTreeMap<&str, SystemTime> =
            jobs.into_iter().chain(applied.map(|event| (event.name.as_str(), event.timestamp))).collect();
        let latency = |(name, at): (&&str, &SystemTime)| Some(jobs.get(*name)?.duration_since(*at).unwrap_or_default());
        let mut latencies: Vec<Duration> = echos.iter().filter_map(latency).collect();
        ensure!(latencies.len() == count, "{} of {count} Echos have a Job", latencies.len());
        let millis = |latency: Duration| latency.as_secs_f64() * 1e3;
        Ok((millis(quantile(&mut latencies, 0.5)), millis(quantile(&mut latencies, 0.99))))
    }

    pub(super) fn last_status(&self) -> anyhow::Result<Duration> {
        let last = self.statuses()?.iter().map(|event| event.timestamp).max().context("no status was written")?;
        Ok(last.duration_since(self.started)?)
    }

    fn statuses(&self) -> anyhow::Result<Vec<AuditEvent>> {
        let is_status = |event: &AuditEvent| event.user == USER && event.subresource == "status" && event.succeeded();
        self.server.audit.matching(self.start.mark, is_status)
    }

    pub(super) fn requests(&self) -> anyhow::Result<BTreeMap<String, usize>> {
        let mut requests = BTreeMap::new();
        for event in self.requests_since(&self.start)? {
            let AuditEvent { verb, resource, subresource, code, .. } = event;
            let subresource = if subresource.is_empty() { subresource } else { format!("/{subresource}") };
            *requests.entry(format!("{verb} {resource}{subresource} {code}")).or_default() += 1;
        }
        Ok(requests)
    }

    /// Returns the number of its requests other than lists and watches.
    pub(super) fn writes_and_gets(&self) -> anyhow::Result<usize> {
        self.writes_and_gets_since(&self.start)
    }

    pub(super) fn writes_and_gets_since(&self, since: &Checkpoint) -> anyhow::Result<usize> {
        Ok(self.requests_since(since)?.len())
    }

    /// Returns its requests about objects other than lists and watches.
    fn requests_since(&self, since: &Checkpoint) -> anyhow::Result<Vec<AuditEvent>> {
        self.server.plane.audit_barrier()?;
        let is_meant = |event: &AuditEvent| {
            event.user == USER && !event.resource.is_empty() && !matches!(event.verb.as_str(), "list" | "watch")
        };
        self.server.audit.matching(since.mark, is_meant)
    }

    pub(super) fn processor_seconds(&self) -> anyhow::Result<f64> {
        processor_seconds(self.process.id())
    }

    pub(super) fn resident_bytes(&self) -> anyhow::Result<f64> {
        Ok(resident_bytes(self.process.id())? as f64)
    }

    pub(super) fn stop(mut self) -> anyhow::Result<()> {
        self.process.stop()?;
        Ok(())
    }

    fn check(&mut self, deadline: Instant, what: &str) -> anyhow::Result<()> {
        if let Some(status) = self.process.exited()? {
            anyhow::bail!("{} ended: {status}\n{}", self.process.name(), self.process.log_tail());
        }
        ensure!(Instant::now() < deadline, "{}: gave up waiting for {what}\n{}", self.process.name(), self.process.log_tail());
        Ok(())
    }
}

fn name(number: usize) -> String {
    format!("echo-{number}")
}

fn echo(number: usize) -> Result<DynamicObject, serde_json::Error> {
    serde_json::from_value(json!({
        "apiVersion": "mmontes.io/v1alpha1",
        "kind": "Echo",
        "metadata": { "name": name(number) },
        "spec": { "message": format!("message {number}") },
    }))
}
