//! Webhooks of the real API server; devcluster has none.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::harness::{Cluster, condition, guest};
use crate::network::runtime;

/// The answer of a webhook.
#[derive(Clone)]
enum Decision {
    Allow,
    Deny(u16),
    /// A JSON patch (RFC 6902).
    Rewrite(Value),
}

/// A webhook for Secrets and Markings of one namespace, while it is kept.
struct Webhook<'a> {
    cluster: &'a Cluster,
    name: String,
    kind: &'static str,
    decision: Arc<Mutex<Decision>>,
}

impl<'a> Webhook<'a> {
    fn validating(cluster: &'a Cluster, namespace: &str) -> Self {
        Self::new(cluster, namespace, "ValidatingWebhookConfiguration")
    }

    fn mutating(cluster: &'a Cluster, namespace: &str) -> Self {
        Self::new(cluster, namespace, "MutatingWebhookConfiguration")
    }

    fn new(cluster: &'a Cluster, namespace: &str, kind: &'static str) -> Self {
        let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().expect("versions").with_no_client_auth();
        let config = config.with_single_cert(vec![CertificateDer::from(own.cert.der().to_vec())], key).expect("a certificate");
        let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let url = format!("https://{}/", listener.local_addr().expect("an address"));
        let decision = Arc::new(Mutex::new(Decision::Allow));
        runtime().spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), Arc::clone(&decision)));
        let name = format!("{namespace}.gyre.dev");
        cluster.apply(
            &json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": name },
                "webhooks": [{
                    "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
                    "clientConfig": { "url": url, "caBundle": k8s_openapi::ByteString(own.cert.pem().into_bytes()) },
                    "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
                    "rules": [{
                        "apiGroups": ["", "guests.gyre.dev"], "apiVersions": ["v1"], "resources": ["secrets", "markings"],
                        "operations": ["*"],
                    }],
                }],
            })
            .to_string(),
        );
        Self { cluster, name, kind, decision }
    }

    fn decide(&self, decision: Decision) {
        *self.decision.lock() = decision;
    }

    /// Waits until the API server asks the webhook, which takes it about a second.
    fn is_asked(&self, namespace: &str) {
        self.decide(Decision::Deny(400));
        let mut tries = 0;
        self.cluster.eventually("the webhook to be asked", || {
            tries += 1;
            let name = format!("try-{tries}");
            let created = self.cluster.plane.kubectl_stdout(&["create", "secret", "generic", &name, "-n", namespace]);
            format!("{:#}", created.err()?).contains("denied the request").then_some(())
        });
    }
}

impl Drop for Webhook<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.cluster.kubectl(&["delete", self.kind, &self.name]);
        }
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, decision: Arc<Mutex<Decision>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, decision) = (acceptor.clone(), Arc::clone(&decision));
        tokio::spawn(async move { answer(stream, acceptor, &decision).await });
    }
}

/// Answers one review, over a connection of its own.
async fn answer(stream: TcpStream, acceptor: TlsAcceptor, decision: &Mutex<Decision>) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let mut bytes = Vec::new();
    let review: Value = loop {
        match stream.read_buf(&mut bytes).await {
            Ok(read) if read > 0 => {}
            _ => return,
        }
        let body = bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| &bytes[at + 4..]);
        if let Some(review) = body.and_then(|body| serde_json::from_slice(body).ok()) {
            break review;
        }
    };
    let mut response = json!({ "uid": review["request"]["uid"], "allowed": true });
    match &*decision.lock() {
        Decision::Allow => {}
        Decision::Deny(code) => {
            response["allowed"] = json!(false);
            response["status"] = json!({ "code": code, "message": "it says so" });
        }
        Decision::Rewrite(patch) => {
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(k8s_openapi::ByteString(patch.to_string().into_bytes()));
        }
    }
    let body = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response }).to_string();
    let head = format!("Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close", body.len());
    let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// A parent whose only child is a Secret of the same name with this value.
pub(crate) fn wanting(namespace: &str, name: &str, value: &str) -> String {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "data": { "a": value } });
    guest("Verbatim", namespace, name, json!({ "children": [secret] })).to_string()
}

#[test]
fn what_a_webhook_or_a_quota_denies_is_rejected_whatever_the_code_is() {
    let Some(cluster) = Cluster::for_test("denied", &["denied"]) else { return };
    let webhook = Webhook::validating(&cluster, "denied");
    webhook.is_asked("denied");
    let host = cluster.host(&[gyre_artifacts::probes::VERBATIM], &["denied"]);
    for (code, reason, kind) in [
        (400, "Rejected", "Stalled"),
        (401, "Rejected", "Stalled"),
        (403, "Rejected", "Stalled"),
        (404, "Rejected", "Stalled"),
        (409, "Rejected", "Stalled"),
        (413, "Rejected", "Stalled"),
        (422, "Rejected", "Stalled"),
        (429, "TooManyRequests", "Reconciling"),
        (500, "Unavailable", "Reconciling"),
    ] {
        webhook.decide(Decision::Deny(code));
        let name = format!("with-{code}");
        cluster.apply(&wanting("denied", &name, "YQ=="));
        let object = cluster.reason("denied", "verbatim", &name, "Ready", reason);
        assert_eq!(condition(&object, kind).map(|condition| &condition["reason"]), Some(&json!(reason)), "{object}");
        let message = condition(&object, "Ready").unwrap()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("admission webhook \"denied.gyre.dev\" denied the request: it says so"), "{message}");
    }
    webhook.decide(Decision::Allow);
    cluster.apply(&wanting("denied", "changed", "YQ=="));
    cluster.ready("denied", "verbatim", "changed");
    webhook.decide(Decision::Deny(409));
    cluster.apply(&wanting("denied", "changed", "Yg=="));
    cluster.reason("denied", "verbatim", "changed", "Ready", "Rejected");
    webhook.decide(Decision::Allow);

    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "q", "namespace": "denied" },
        "spec": { "hard": { "secrets": "0" } },
    });
    cluster.apply(&quota.to_string());
    cluster.eventually("the quota to be known", || {
        cluster.get("denied", "resourcequota", "q")?["status"]["hard"].get("secrets").cloned()
    });
    cluster.apply(&wanting("denied", "too-many", "YQ=="));
    let object = cluster.reason("denied", "verbatim", "too-many", "Ready", "Rejected");
    assert!(condition(&object, "Stalled").is_some() && object.to_string().contains("exceeded quota: q"), "{object}");
    let posts = || host.metric("gyre_writes_total", &["create"]);
    cluster.settled(&host);
    let before = posts();
    cluster.touch("denied", "verbatim", "with-400", "again");
    cluster.reason("denied", "verbatim", "with-400", "Ready", "Rejected");
    cluster.settled(&host);
    assert!(posts() - before <= 2.0, "it is not repeated: {before}, {}", posts());
}

#[test]
fn a_child_whose_marks_a_webhook_removes_is_reported_and_rarely_written() {
    let Some(cluster) = Cluster::for_test("stripped", &["stripped"]) else { return };
    let webhook = Webhook::mutating(&cluster, "stripped");
    webhook.is_asked("stripped");
    let host = cluster.host(&[gyre_artifacts::probes::VERBATIM], &["stripped"]);
    let cases = [
        (
            "reference",
            json!({ "op": "add", "path": "/metadata/ownerReferences", "value": [] }),
            "metadata.ownerReferences is missing",
        ),
        (
            "labels",
            json!({ "op": "add", "path": "/metadata/labels", "value": {} }),
            "metadata.labels[\"gyre.dev/owner-uid\"] are missing",
        ),
    ];
    let writes = || ["create", "apply", "label"].map(|verb| host.metric("gyre_writes_total", &[verb])).iter().sum::<f64>();
    for (name, removal, message) in cases {
        webhook.decide(Decision::Rewrite(json!([removal])));
        cluster.apply(&wanting("stripped", name, "YQ=="));
        let object = cluster.reason("stripped", "verbatim", name, "Ready", "MarksRemoved");
        assert!(
            condition(&object, "Stalled").is_some() && object.to_string().contains(&message.replace('"', "\\\"")),
            "{object}"
        );
        cluster.eventually("the Event", || cluster.events("stripped", name, "MarksRemoved").pop());
        cluster.settled(&host);
        let before = writes();
        for value in ["1", "2", "3"] {
            cluster.touch("stripped", "verbatim", name, value);
            cluster.settled(&host);
        }
        assert_eq!(writes(), before, "{name}: reconciles repeat no write that would be rewritten again");

        webhook.decide(Decision::Allow);
        cluster.apply(&wanting("stripped", name, "Yg=="));
        cluster.ready("stripped", "verbatim", name);
        let (parent, child) =
            (cluster.get("stripped", "verbatim", name).unwrap(), cluster.get("stripped", "secret", name).unwrap());
        assert_eq!(child["metadata"]["ownerReferences"][0]["uid"], parent["metadata"]["uid"]);
        assert_eq!(child["metadata"]["labels"]["gyre.dev/owner-uid"], parent["metadata"]["uid"]);
    }
}

#[test]
fn a_value_that_a_webhook_rewrites_is_written_once() {
    let Some(cluster) = Cluster::for_test("rewritten", &["rewritten"]) else { return };
    let webhook = Webhook::mutating(&cluster, "rewritten");
    webhook.is_asked("rewritten");
    let host = cluster.host(&[gyre_artifacts::probes::VERBATIM], &["rewritten"]);
    let value = || cluster.get("rewritten", "secret", "it").unwrap()["data"]["a"].clone();
    let writes = || ["create", "apply"].map(|verb| host.metric("gyre_writes_total", &[verb])).iter().sum::<f64>();
    webhook.decide(Decision::Rewrite(json!([{ "op": "replace", "path": "/data/a", "value": "Yg==" }])));
    for wanted in ["YQ==", "Yw=="] {
        cluster.apply(&wanting("rewritten", "it", wanted));
        cluster.ready("rewritten", "verbatim", "it");
        cluster.settled(&host);
        let before = writes();
        for value in ["1", "2", "3"] {
            cluster.touch("rewritten", "verbatim", "it", value);
            cluster.settled(&host);
        }
        assert_eq!((value(), writes()), (json!("Yg=="), before), "it is not written again and again");
    }
    webhook.decide(Decision::Allow);
    cluster.apply(&wanting("rewritten", "it", "ZA=="));
    cluster.eventually("the value", || (value() == "ZA==").then_some(()));
}

#[test]
fn a_mark_of_a_parents_fields_that_a_webhook_removes_is_reported_each_time() {
    const NAMESPACE: &str = "unmarked";
    let Some(cluster) = Cluster::for_test(NAMESPACE, &[NAMESPACE]) else { return };
    let webhook = Webhook::mutating(&cluster, NAMESPACE);
    webhook.is_asked(NAMESPACE);
    webhook.decide(Decision::Rewrite(json!([{ "op": "add", "path": "/metadata/annotations", "value": {} }])));
    let host = cluster.host_with(&[gyre_artifacts::probes::MARKING], &[NAMESPACE], &["--parent-fields", "all"]);
    let fields = json!({ "metadata": { "labels": { "size": "small" } } });
    cluster.apply(&guest("Marking", NAMESPACE, "it", json!({ "fields": fields })).to_string());
    cluster.reason(NAMESPACE, "marking", "it", "Ready", "MarksRemoved");
    cluster.eventually("the Event", || cluster.events(NAMESPACE, "it", "MarksRemoved").pop());
    let problems = || host.metric("gyre_plugin_problems_total", &["\"MarksRemoved\""]);
    let label = |round: &str| {
        cluster.kubectl(&["label", "marking", "it", "-n", NAMESPACE, "--overwrite", &format!("round={round}")]);
    };
    for round in ["one", "two"] {
        cluster.settled(&host);
        let live = cluster.get(NAMESPACE, "marking", "it").unwrap();
        let ready = condition(&live, "Ready").unwrap();
        assert_eq!((&ready["reason"], &live["metadata"]["labels"]["size"]), (&json!("MarksRemoved"), &json!("small")));
        assert!(ready["message"].as_str().unwrap().contains("fields.gyre.dev/marking"), "{ready}");
        let before = problems();
        label(round);
        cluster.eventually("the next report", || (problems() > before).then_some(()));
    }
    webhook.decide(Decision::Allow);
    label("three");
    let live = cluster.ready(NAMESPACE, "marking", "it");
    assert!(live["metadata"]["annotations"].get("fields.gyre.dev/marking").is_some(), "{live}");
}
