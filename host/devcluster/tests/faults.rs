//! The effect of each fault, and its dependence on the seed.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::ops::RangeInclusive;
use std::time::Duration;

use bytes::Bytes;
use gyre_devcluster::faults::{self, Fault, Faults, Plan, Requests, Rule};
use gyre_devcluster::service::BoxError;
use gyre_devcluster::{Clock, Cluster, Options, Service};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::time::Instant;
use tower_service::Service as _;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

struct Simulation {
    cluster: Cluster,
    faults: Faults,
    service: faults::Service,
}

impl Simulation {
    fn new(plan: Plan, seed: u64) -> Self {
        let cluster = Cluster::start(&Options::default(), Clock::tokio("2026-01-02T03:04:05Z".parse().unwrap()));
        let faults = Faults::new(plan, seed);
        let service = faults.over(Service::new(cluster.clone()));
        Self { cluster, faults, service }
    }

    fn always(fault: Fault) -> Self {
        let seconds =
            |seconds: RangeInclusive<u64>| Duration::from_secs(*seconds.start())..=Duration::from_secs(*seconds.end());
        let plan = Plan {
            latency: seconds(3..=3),
            retry_after: 7..=7,
            staleness: 2..=2,
            watch_life: seconds(20..=20),
            watch_events: 2..=2,
            hang: seconds(40..=40),
            event_delay: seconds(5..=5),
            ..Plan::always(fault)
        };
        Self::new(plan, 1)
    }

    async fn request(&mut self, method: &str, uri: &str, body: &Value) -> Result<Response<faults::Body>, BoxError> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
        self.service.call(request.body(Full::new(Bytes::from(body))).unwrap()).await
    }

    async fn answer(&mut self, method: &str, uri: &str, body: &Value) -> (u16, Value) {
        let response = self.request(method, uri, body).await.unwrap();
        let code = response.status().as_u16();
        (code, serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap())
    }

    fn make(&self, name: &str) {
        let request = Request::post(MAPS).header("content-type", "application/json");
        let response = self.cluster.handle(&request.body(Bytes::from(map(name).to_string())).unwrap());
        assert_eq!(response.status(), 201);
    }

    fn exists(&self, name: &str) -> bool {
        self.cluster.handle(&Request::get(format!("{MAPS}/{name}")).body(Bytes::new()).unwrap()).status() == 200
    }

    fn injected(&self) -> Vec<Fault> {
        self.faults.trace().iter().map(|injected| injected.fault).collect()
    }

    async fn watch(&mut self, parameters: &str) -> faults::Body {
        let revision = self.cluster.revision();
        let uri = format!("{MAPS}?watch=true&resourceVersion={revision}{parameters}");
        self.request("GET", &uri, &Value::Null).await.unwrap().into_body()
    }
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })
}

/// Returns the names in the events, how the watch ends, and after how many seconds.
async fn read_watch(mut body: faults::Body) -> (Vec<String>, &'static str, u64) {
    let begin = Instant::now();
    let (mut text, mut end) = (String::new(), "clean");
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap()),
            Err(_) => {
                end = "error";
                break;
            }
        }
    }
    let seen = text.lines().map(|line| match serde_json::from_str::<Value>(line) {
        Ok(event) if event["type"] == "ERROR" => format!("{}", event["object"]["code"]),
        Ok(event) => event["object"]["metadata"]["name"].as_str().unwrap().to_owned(),
        Err(_) => "torn".to_owned(),
    });
    (seen.collect(), end, begin.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn latency_takes_its_time() {
    for fault in [Fault::LatencyBefore, Fault::LatencyAfter] {
        let mut simulation = Simulation::always(fault);
        let begin = Instant::now();
        assert_eq!(simulation.answer("GET", "/version", &Value::Null).await.0, 200);
        assert_eq!(begin.elapsed(), Duration::from_secs(3));
        assert_eq!(simulation.injected(), [fault]);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_of_gateways_and_answers_that_break_off() {
    let mut simulation = Simulation::always(Fault::BadGateway);
    let response = simulation.request("POST", MAPS, &map("a")).await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["content-type"]), (502, &"text/html".parse().unwrap()));
    assert!(response.into_body().collect().await.unwrap().to_bytes().starts_with(b"<html>") && !simulation.exists("a"));

    let mut simulation = Simulation::always(Fault::AnswerCut);
    let mut body = simulation.request("POST", MAPS, &map("a")).await.unwrap().into_body();
    let begun = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(begun.starts_with(b"{") && serde_json::from_slice::<Value>(&begun).is_err());
    assert!(body.frame().await.unwrap().is_err());
    assert!(simulation.exists("a"));
    assert_eq!(simulation.injected(), [Fault::AnswerCut]);
}

#[tokio::test(start_paused = true)]
async fn webhooks_deny_and_remove_marks() {
    let mut simulation = Simulation::always(Fault::Denied);
    let (code, status) = simulation.answer("POST", MAPS, &map("a")).await;
    assert!(code >= 400 && !simulation.exists("a"));
    assert_eq!(status["message"], "admission webhook \"simulated.example.com\" denied the request: it says so");
    assert_eq!(simulation.answer("GET", MAPS, &Value::Null).await.0, 200);

    let mut marked = map("a");
    marked["metadata"]["labels"] = json!({ "a": "b" });
    marked["metadata"]["ownerReferences"] = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u" }]);
    let stored = stored_without_marks(&marked).await;
    let has = |field: &str| stored.iter().filter(|stored| stored["metadata"].get(field).is_some()).count();
    for field in ["labels", "ownerReferences"] {
        assert!((1..stored.len()).contains(&has(field)), "{field} {stored:?}");
    }
}

/// Returns the stored objects under different seeds.
async fn stored_without_marks(object: &Value) -> Vec<Value> {
    let mut stored = Vec::new();
    for seed in 0..24 {
        let mut simulation = Simulation::new(Plan::always(Fault::MarksRemoved), seed);
        let (code, answer) = simulation.answer("POST", MAPS, object).await;
        assert_eq!((code, simulation.injected()), (201, vec![Fault::MarksRemoved]));
        stored.push(answer);
    }
    stored
}

#[tokio::test(start_paused = true)]
async fn refusals_say_what_the_real_server_says_and_change_nothing() {
    let cases = [
        (
            Fault::TooManyRequests,
            429,
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        ),
        (Fault::InternalError, 500, "", "etcdserver: leader changed"),
        (Fault::Unavailable, 503, "ServiceUnavailable", "the server is currently unable to handle the request"),
        (Fault::Timeout, 504, "Timeout", "Timeout: request did not complete within the allotted timeout"),
    ];
    for (fault, code, reason, message) in cases {
        let mut simulation = Simulation::always(fault);
        let (found, status) = simulation.answer("POST", MAPS, &map("a")).await;
        let found = (found, status["reason"].as_str().unwrap_or_default(), status["message"].as_str().unwrap());
        assert_eq!(found, (code, reason, message));
        assert!(!simulation.exists("a"));
        assert_eq!(simulation.injected(), [fault]);
    }
    let mut simulation = Simulation::always(Fault::TooManyRequests);
    let response = simulation.request("GET", MAPS, &Value::Null).await.unwrap();
    assert_eq!(response.headers()["retry-after"], "7");
    let status: Value = serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!(status["details"]["retryAfterSeconds"], 7);
}

#[tokio::test(start_paused = true)]
async fn only_writes_get_conflicts() {
    let mut simulation = Simulation::always(Fault::Conflict);
    assert_eq!(simulation.answer("POST", MAPS, &map("a")).await.0, 201);
    let (code, status) = simulation.answer("PUT", &format!("{MAPS}/a"), &map("a")).await;
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
    let message = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; \
                   please apply your changes to the latest version and try again";
    assert_eq!(status["message"], message);
    assert_eq!(simulation.injected(), [Fault::Conflict]);
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_answer_is_lost_was_handled() {
    let mut simulation = Simulation::always(Fault::AnswerLost);
    assert_eq!(simulation.answer("POST", MAPS, &map("a")).await.0, 504);
    assert!(simulation.exists("a"));

    let mut simulation = Simulation::always(Fault::ConnectionLost);
    assert!(simulation.request("POST", MAPS, &map("a")).await.is_err());
    assert!(simulation.exists("a"));

    let mut simulation = Simulation::always(Fault::ConnectionRefused);
    assert!(simulation.request("POST", MAPS, &map("a")).await.is_err());
    assert!(!simulation.exists("a"));
}

#[tokio::test(start_paused = true)]
async fn only_lists_of_any_state_are_stale() {
    let mut simulation = Simulation::always(Fault::StaleList);
    for name in ["a", "b", "c"] {
        simulation.make(name);
    }
    let names = |list: &Value| -> Vec<String> {
        let names = list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.len() == 1).collect()
    };
    let (_, stale) = simulation.answer("GET", &format!("{MAPS}?resourceVersion=0"), &Value::Null).await;
    assert_eq!(names(&stale), ["a"]);
    let revision: u64 = stale["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    assert_eq!(revision, simulation.cluster.revision() - 2);
    assert_eq!(simulation.injected(), [Fault::StaleList]);
    let (_, fresh) = simulation.answer("GET", MAPS, &Value::Null).await;
    assert_eq!(names(&fresh), ["a", "b", "c"]);
    assert_eq!(simulation.injected(), [Fault::StaleList]);
}

#[tokio::test(start_paused = true)]
async fn watches_are_cut_between_or_in_events() {
    let mut ends = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let mut simulation = Simulation::new(Plan { watch_events: 2..=2, ..Plan::always(Fault::WatchCut) }, seed);
        let watch = simulation.watch("").await;
        for name in ["a", "b", "c"] {
            simulation.make(name);
        }
        let (seen, end, _) = read_watch(watch).await;
        assert_eq!(simulation.injected(), [Fault::WatchCut]);
        assert_eq!(seen[..2], ["a", "b"]);
        ends.insert((seen.get(2).cloned(), end));
    }
    let torn = (Some("torn".to_owned()), "error");
    assert_eq!(ends.into_iter().collect::<Vec<_>>(), [(None, "clean"), (None, "error"), torn]);

    let mut simulation = Simulation::always(Fault::WatchCut);
    let watch = simulation.watch("").await;
    assert_eq!(read_watch(watch).await.2, 20);
}

#[tokio::test(start_paused = true)]
async fn hung_watches_say_nothing_and_end() {
    let mut simulation = Simulation::always(Fault::WatchHung);
    let watch = simulation.watch("").await;
    for name in ["a", "b", "c"] {
        simulation.make(name);
    }
    assert_eq!(read_watch(watch).await, (vec!["a".to_owned(), "b".to_owned()], "clean", 40));

    let mut simulation = Simulation::always(Fault::WatchHung);
    let watch = simulation.watch("&timeoutSeconds=30").await;
    assert_eq!(read_watch(watch).await, (Vec::new(), "clean", 30));
    assert_eq!(simulation.injected(), [Fault::WatchHung]);
}

#[tokio::test(start_paused = true)]
async fn watches_expire() {
    let mut simulation = Simulation::always(Fault::WatchExpired);
    let watch = simulation.watch("").await;
    simulation.make("a");
    assert_eq!(read_watch(watch).await, (vec!["a".to_owned(), "410".to_owned()], "clean", 20));
}

#[tokio::test(start_paused = true)]
async fn events_come_twice_or_late() {
    let mut simulation = Simulation::always(Fault::EventDuplicated);
    let watch = simulation.watch("&timeoutSeconds=30").await;
    simulation.make("a");
    simulation.make("b");
    assert_eq!(read_watch(watch).await.0, ["a", "a", "b", "b"]);

    let mut simulation = Simulation::always(Fault::EventDelayed);
    let mut watch = simulation.watch("&timeoutSeconds=30").await;
    simulation.make("a");
    simulation.make("b");
    let begin = Instant::now();
    for seconds in [5, 10] {
        watch.frame().await.unwrap().unwrap();
        assert_eq!(begin.elapsed(), Duration::from_secs(seconds));
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_rule_that_is_about_a_request_decides() {
    let rule = |verbs: &[&str], path: &str, resource: &str, faults: &[(Fault, f64)]| Rule {
        requests: Requests {
            verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
            path: path.to_owned(),
            resource: resource.to_owned(),
        },
        faults: faults.to_vec(),
    };
    let always = [(Fault::Unavailable, 1.0)];
    let rules =
        vec![rule(&["get"], "/apis/batch", "", &[]), rule(&[], "", "jobs.batch", &always), rule(&[], "/version", "", &always)];
    let mut simulation = Simulation::new(Plan { rules, ..Plan::default() }, 1);
    for (uri, code) in
        [("/apis/batch/v1/namespaces/x/jobs/j", 404), ("/apis/batch/v1/jobs", 503), (MAPS, 200), ("/version", 503)]
    {
        assert_eq!(simulation.answer("GET", uri, &Value::Null).await.0, code, "{uri}");
    }
}

async fn some_requests(seed: u64) -> (Vec<String>, Vec<String>) {
    let mut simulation = Simulation::new(Plan::everything(0.1), seed);
    let mut outcomes = Vec::new();
    for number in 0..50 {
        let outcome = match simulation.request("POST", MAPS, &map(&format!("m{number}"))).await {
            Ok(response) => response.status().to_string(),
            Err(error) => error.to_string(),
        };
        outcomes.push(format!("{outcome} {}", simulation.cluster.now()));
        drop(simulation.request("GET", &format!("{MAPS}?resourceVersion=0"), &Value::Null).await);
        let watch = format!("{MAPS}?watch=true&resourceVersion=1&timeoutSeconds=10");
        if let Ok(response) = simulation.request("GET", &watch, &Value::Null).await
            && response.status() == 200
        {
            outcomes.push(format!("{:?}", read_watch(response.into_body()).await));
        }
    }
    (outcomes, simulation.faults.trace().iter().map(ToString::to_string).collect())
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_faults() {
    let (outcomes, trace) = some_requests(7).await;
    assert_eq!(some_requests(7).await, (outcomes, trace.clone()));
    assert_ne!(some_requests(8).await.1, trace);
    for fault in Fault::ALL.iter().filter(|fault| **fault != Fault::Conflict) {
        assert!(trace.iter().any(|line| line.contains(&format!("{fault:?}"))), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn stopped_faults_no_longer_happen() {
    let mut hung = Simulation::always(Fault::WatchHung);
    let watch = tokio::spawn(read_watch(hung.watch("").await));
    tokio::time::sleep(Duration::from_secs(25)).await;
    hung.faults.stop();
    assert_eq!(watch.await.unwrap(), (Vec::new(), "clean", 25));

    let mut late = Simulation::always(Fault::EventDelayed);
    let watch = tokio::spawn(read_watch(late.watch("&timeoutSeconds=9").await));
    late.make("a");
    late.make("b");
    tokio::time::sleep(Duration::from_secs(1)).await;
    late.faults.stop();
    late.make("c");
    assert_eq!(watch.await.unwrap(), (["a", "b", "c"].map(str::to_owned).to_vec(), "clean", 9));

    let mut simulation = Simulation::new(Plan::everything(1.0), 1);
    simulation.faults.stop();
    assert_eq!(simulation.answer("POST", MAPS, &map("a")).await.0, 201);
    assert_eq!(simulation.injected(), []);
}

#[tokio::test(start_paused = true)]
async fn clients_meet_faults() {
    let simulation = Simulation::always(Fault::ConnectionRefused);
    let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::default_namespaced(kube::Client::new(simulation.service.clone(), "default"));
    assert!(matches!(maps.list(&kube::api::ListParams::default()).await, Err(kube::Error::Service(_))));
    simulation.faults.stop();
    maps.list(&kube::api::ListParams::default()).await.unwrap();
}
