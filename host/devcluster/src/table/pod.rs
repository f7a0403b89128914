use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::read::{condition, filled_or, flag, list, number, text};
use crate::object;

pub(super) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let mut tally = Tally::new(pod);
    let initializing = tally.init_containers(pod);
    if !initializing || condition(pod, "Initialized") == Some("True") {
        tally.containers(pod);
    }
    let phase = text(pod, "/status/phase");
    if object::is_deleting(pod) {
        if text(pod, "/status/reason") == "NodeLost" {
            tally.reason = "Unknown".to_owned();
        } else if phase != "Succeeded" && phase != "Failed" {
            tally.reason = "Terminating".to_owned();
        }
    }
    let restarts = match tally.restarts.last {
        Some(last) if tally.restarts.count != 0 => {
            format!("{} ({} ago)", tally.restarts.count, age::human(now.duration_since(last)))
        }
        _ => tally.restarts.count.to_string(),
    };
    vec![
        object::name(pod).into(),
        format!("{}/{}", tally.ready, tally.total).into(),
        tally.reason.into(),
        restarts.into(),
        age::since(Some(object::metadata(pod, "creationTimestamp")), now).into(),
        filled_or(pod, "/status/podIPs/0/ip", "<none>").into(),
        filled_or(pod, "/spec/nodeName", "<none>").into(),
        filled_or(pod, "/status/nominatedNodeName", "<none>").into(),
        readiness_gates(pod).into(),
    ]
}

pub(super) fn conditions(pod: &Value) -> Option<Value> {
    let (reason, message) = match text(pod, "/status/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{ "type": "Completed", "status": "True", "reason": reason, "message": message }]))
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(pod, "/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| condition(pod, text(gate, "/conditionType")) == Some("True")).count();
    format!("{open}/{}", gates.len())
}

#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, status: &Value) {
        self.count = self.count.saturating_add(number(status, "/restartCount"));
        self.last = self.last.max(age::parse(text(status, "/lastState/terminated/finishedAt")));
    }
}

struct Tally {
    reason: String,
    ready: usize,
    total: usize,
    restarts: Restarts,
    sidecar_restarts: Restarts,
}

impl Tally {
    fn new(pod: &Value) -> Self {
        let gated = list(pod, "/status/conditions")
            .iter()
            .any(|condition| text(condition, "/type") == "PodScheduled" && text(condition, "/reason") == "SchedulingGated");
        let reason = if gated { "SchedulingGated" } else { filled_or(pod, "/status/reason", text(pod, "/status/phase")) };
        let sidecars = list(pod, "/spec/initContainers").iter().filter(|container| is_sidecar(container)).count();
        Self {
            reason: reason.to_owned(),
            ready: 0,
            total: list(pod, "/spec/containers").len() + sidecars,
            restarts: Restarts::default(),
            sidecar_restarts: Restarts::default(),
        }
    }

    /// Counts the init containers. Returns whether one of them has not succeeded yet.
    fn init_containers(&mut self, pod: &Value) -> bool {
        let containers = list(pod, "/spec/initContainers");
        for (index, status) in list(pod, "/status/initContainerStatuses").iter().enumerate() {
            let name = text(status, "/name");
            let is_sidecar = containers.iter().any(|container| text(container, "/name") == name && is_sidecar(container));
            self.restarts.add(status);
            if is_sidecar {
                self.sidecar_restarts.add(status);
            }
            let terminated = status.pointer("/state/terminated");
            if terminated.is_some_and(|terminated| number(terminated, "/exitCode") == 0) {
                continue;
            }
            if is_sidecar && flag(status, "/started") {
                self.ready += usize::from(flag(status, "/ready"));
                continue;
            }
            self.reason = match (terminated, text(status, "/state/waiting/reason")) {
                (Some(terminated), _) => format!("Init:{}", ended(terminated)),
                (None, "" | "PodInitializing") => format!("Init:{index}/{}", containers.len()),
                (None, waiting) => format!("Init:{waiting}"),
            };
            return true;
        }
        false
    }

    fn containers(&mut self, pod: &Value) {
        self.restarts = self.sidecar_restarts;
        let (mut has_running, mut error) = (false, None);
        for status in list(pod, "/status/containerStatuses").iter().rev() {
            self.restarts.add(status);
            let waiting = text(status, "/state/waiting/reason");
            if !waiting.is_empty() {
                self.reason = waiting.to_owned();
            } else if let Some(terminated) = status.pointer("/state/terminated") {
                self.reason = ended(terminated);
                if number(terminated, "/exitCode") != 0 {
                    error = Some(self.reason.clone());
                }
            } else if flag(status, "/ready") && status.pointer("/state/running").is_some() {
                has_running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            let is_ready = list(pod, "/status/conditions")
                .iter()
                .any(|condition| text(condition, "/type") == "Ready" && text(condition, "/status") == "True");
            match error {
                _ if has_running && is_ready => self.reason = "Running".to_owned(),
                Some(error) => self.reason = error,
                None if has_running => self.reason = "NotReady".to_owned(),
                None => {}
            }
        }
    }
}

fn is_sidecar(container: &Value) -> bool {
    text(container, "/restartPolicy") == "Always"
}

fn ended(terminated: &Value) -> String {
    let (reason, signal) = (text(terminated, "/reason"), number(terminated, "/signal"));
    match (reason, signal) {
        ("", 0) => format!("ExitCode:{}", number(terminated, "/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}
