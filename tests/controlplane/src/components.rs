use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::json;

use crate::certificates::{Authority, Pair};
use crate::options::{AuditLevel, Options};
use crate::tools::{Error, Tools};

/// The controllers that gyre's users rely on, without those that wait for nodes or a cloud.
const CONTROLLERS: [&str; 17] = [
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
];

/// The range of Services. The API server takes its first address.
const SERVICE_RANGE: &str = "10.0.0.0/24";
const SERVICE_OF_THE_APISERVER: &str = "10.0.0.1";

pub(crate) struct Folder<'a>(pub(crate) &'a Path);

impl Folder<'_> {
    pub(crate) fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    pub(crate) fn log(&self, component: &str) -> PathBuf {
        self.logs().join(format!("{component}.log"))
    }

    pub(crate) fn audit_log(&self) -> PathBuf {
        self.logs().join("audit.log")
    }

    pub(crate) fn kubeconfig(&self, user: &str) -> PathBuf {
        self.0.join(format!("{user}.kubeconfig"))
    }

    /// etcd has no authentication, so its socket is in a folder that only our user may enter.
    fn etcd(&self) -> String {
        format!("unix://{}/etcd.sock", self.0.display())
    }
}

pub(crate) struct Secrets {
    serving: Pair,
    account_key: PathBuf,
    account_public_key: PathBuf,
    authority: PathBuf,
    audit_policy: PathBuf,
}

impl Secrets {
    pub(crate) fn new(folder: &Folder<'_>, authority: &Authority, level: AuditLevel) -> anyhow::Result<Self> {
        let names = [
            "localhost",
            "127.0.0.1",
            SERVICE_OF_THE_APISERVER,
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ];
        // Tests of the election read from the audit log who held a Lease at a time.
        let leases = (level == AuditLevel::Metadata).then(|| {
            json!({ "level": AuditLevel::Request.name(), "resources": [{ "group": "coordination.k8s.io", "resources": ["leases"] }] })
        });
        let policy = json!({
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": leases.into_iter().chain([json!({ "level": level.name() })]).collect::<Vec<_>>(),
        });
        let audit_policy = folder.0.join("audit-policy.json");
        std::fs::write(&audit_policy, policy.to_string()).context("cannot write the audit policy")?;
        let (account_key, account_public_key) = authority.signing_key("service-accounts")?;
        Ok(Self {
            serving: authority.serving("apiserver", &names)?,
            account_key,
            account_public_key,
            authority: authority.certificate(),
            audit_policy,
        })
    }
}

/// etcd without `fsync`, because its data is discarded.
pub(crate) fn etcd(tools: &Tools, folder: &Folder<'_>) -> Command {
    let mut command = Command::new(&tools.etcd);
    command
        .arg(format!("--data-dir={}", folder.0.join("etcd").display()))
        .arg(format!("--listen-client-urls={}", folder.etcd()))
        // Required by etcd and not used: the API server uses the socket, and there are no peers.
        .args(["--advertise-client-urls=http://127.0.0.1:2379", "--listen-peer-urls=http://127.0.0.1:0"])
        .args(["--unsafe-no-fsync", "--log-level=warn"]);
    command
}

pub(crate) fn kube_apiserver(tools: &Tools, folder: &Folder<'_>, secrets: &Secrets, port: u16, options: &Options) -> Command {
    let mut command = Command::new(&tools.kube_apiserver);
    let mut path = |flag: &str, path: &Path| {
        command.arg(format!("--{flag}={}", path.display()));
    };
    path("tls-cert-file", &secrets.serving.certificate);
    path("tls-private-key-file", &secrets.serving.key);
    path("client-ca-file", &secrets.authority);
    path("service-account-key-file", &secrets.account_public_key);
    path("service-account-signing-key-file", &secrets.account_key);
    path("audit-policy-file", &secrets.audit_policy);
    path("audit-log-path", &folder.audit_log());
    path("cert-dir", folder.0);
    command
        .arg(format!("--etcd-servers={}", folder.etcd()))
        .arg(format!("--secure-port={port}"))
        .arg(format!("--service-cluster-ip-range={SERVICE_RANGE}"))
        // The `kubernetes` Service may not have loopback addresses as endpoints.
        .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none"])
        .args(["--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc"])
        // Blocking: the event is soon in the file. A reader cannot follow a rotated log.
        .args(["--audit-log-mode=blocking", "--audit-log-format=json", "--audit-log-maxsize=100000"])
        .args(["--profiling=false", "--allow-privileged=true"])
        .args(&options.apiserver_args);
    command
}

/// The controllers, each with its own account, so that the audit log and RBAC distinguish them.
pub(crate) fn kube_controller_manager(tools: &Tools, folder: &Folder<'_>, secrets: &Secrets) -> Result<Command, Error> {
    let mut command = Command::new(tools.kube_controller_manager()?);
    command
        .arg(format!("--kubeconfig={}", folder.kubeconfig("controllers").display()))
        .arg(format!("--service-account-private-key-file={}", secrets.account_key.display()))
        .arg(format!("--root-ca-file={}", secrets.authority.display()))
        .arg(format!("--controllers={}", CONTROLLERS.join(",")))
        .args(["--use-service-account-credentials=true", "--leader-elect=false", "--secure-port=0", "--profiling=false"])
        // With the defaults (20 and 30), tests would wait for the client's rate limit.
        .args(["--kube-api-qps=500", "--kube-api-burst=1000"]);
    Ok(command)
}
