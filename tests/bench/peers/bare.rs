//! The least that an operator for Echos can do: it watches Echos, and sends a POST of the Job and a
//! merge patch of the status for each. It has no cache of Jobs and no queue, never retries, and
//! publishes no Events.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use futures::TryStreamExt as _;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Config, ResourceExt as _};
use serde_json::{Value, json};

/// Run the loop.
#[derive(Debug, Parser)]
struct Arguments {
    #[arg(long)]
    kubeconfig: PathBuf,
    /// Number of objects that are worked on concurrently.
    #[arg(long, default_value_t = 4)]
    workers: usize,
}

fn kind(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

async fn write(client: Client, echo: DynamicObject) -> anyhow::Result<()> {
    let (name, namespace) = (echo.name_any(), echo.namespace().context("an Echo has a namespace")?);
    let echos: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind("mmontes.io", "v1alpha1", "Echo"));
    let jobs: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &kind("batch", "v1", "Job"));
    let message = echo.data.pointer("/spec/message").and_then(Value::as_str).unwrap_or_default();
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": { "name": name, "ownerReferences": [{
            "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "name": name, "uid": echo.uid(), "blockOwnerDeletion": true,
        }] },
        "spec": { "template": { "spec": {
            "restartPolicy": "Never",
            "containers": [{
                "name": name, "image": "busybox:1.33.1", "imagePullPolicy": "IfNotPresent", "command": ["echo", message],
            }],
        } } },
    });
    jobs.create(&PostParams::default(), &serde_json::from_value(job)?).await?;
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "JobCreated", "message": format!("Job {name} runs the message"),
        "lastTransitionTime": echo.creation_timestamp(), "observedGeneration": echo.metadata.generation,
    });
    let status = json!({ "status": { "job": name, "conditions": [ready] } });
    echos.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let kubeconfig = Kubeconfig::read_from(&arguments.kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.context("the kubeconfig")?;
    let client = Client::try_from(config)?;
    let echos: Api<DynamicObject> = Api::all_with(client.clone(), &kind("mmontes.io", "v1alpha1", "Echo"));
    let written = watcher(echos, watcher::Config::default()).applied_objects().map_err(anyhow::Error::from);
    let is_new = |echo: &DynamicObject| echo.data.get("status").is_none();
    written
        .try_filter(|echo| std::future::ready(is_new(echo)))
        .try_for_each_concurrent(arguments.workers, |echo| write(client.clone(), echo))
        .await?;
    Ok(ExitCode::SUCCESS)
}
