//! Writes kubeconfig files, in JSON, which is valid YAML.

use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::certificates::Pair;

pub(crate) enum Credentials<'a> {
    Certificate(&'a Pair),
    Token(&'a str),
}

pub(crate) fn write(path: &Path, server: &str, authority: &Path, credentials: &Credentials<'_>) -> anyhow::Result<()> {
    let user = match credentials {
        Credentials::Certificate(pair) => json!({ "client-certificate": pair.certificate, "client-key": pair.key }),
        Credentials::Token(token) => json!({ "token": token }),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "gyre", "cluster": { "server": server, "certificate-authority": authority } }],
        "users": [{ "name": "gyre", "user": user }],
        "contexts": [{ "name": "gyre", "context": { "cluster": "gyre", "user": "gyre", "namespace": "default" } }],
        "current-context": "gyre",
    });
    save(path, &config)
}

/// Writes a flattened kubeconfig whose user impersonates another.
pub(crate) fn impersonate(mut config: Value, user: &str, groups: &[&str], path: &Path) -> anyhow::Result<()> {
    let account = config.pointer_mut("/users/0/user").context("a kubeconfig without a user")?;
    let account = account.as_object_mut().context("a kubeconfig whose user is no object")?;
    account.insert("as".to_string(), json!(user));
    account.insert("as-groups".to_string(), json!(groups));
    save(path, &config)
}

fn save(path: &Path, config: &Value) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(config)?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
