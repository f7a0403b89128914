//! A typical operator for Echos with kube-rs: typed objects, a `Controller`, server-side apply of
//! the Job and of the status, and an Event.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use futures::StreamExt as _;
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::controller::{Action, Config as ControllerConfig};
use kube::runtime::events::{Event, EventType, Recorder};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, Config, Resource, ResourceExt as _};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Run the operator.
#[derive(Debug, Parser)]
struct Arguments {
    #[arg(long)]
    kubeconfig: PathBuf,
    /// Number of objects that are reconciled concurrently.
    #[arg(long, default_value_t = 4)]
    workers: u16,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Echo {
    metadata: ObjectMeta,
    spec: EchoSpec,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct EchoSpec {
    message: String,
}

/// The same as kube's macro `CustomResource` generates.
impl Resource for Echo {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'_, str> {
        "Echo".into()
    }

    fn group((): &()) -> std::borrow::Cow<'_, str> {
        "mmontes.io".into()
    }

    fn version((): &()) -> std::borrow::Cow<'_, str> {
        "v1alpha1".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'_, str> {
        "echos".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

struct Context {
    client: Client,
    recorder: Recorder,
}

async fn reconcile(echo: Arc<Echo>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let (name, namespace) = (echo.name_any(), echo.namespace().unwrap_or_default());
    let apply = PatchParams::apply("echo").force();
    let jobs: Api<Job> = Api::namespaced(context.client.clone(), &namespace);
    jobs.patch(&name, &apply, &Patch::Apply(job_of(&echo, &name))).await?;
    let message = format!("Job {name} runs the message");
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "JobCreated", "message": message,
        "lastTransitionTime": echo.metadata.creation_timestamp, "observedGeneration": echo.metadata.generation,
    });
    let status = json!({
        "apiVersion": "mmontes.io/v1alpha1", "kind": "Echo", "status": { "job": name, "conditions": [ready] },
    });
    let echos: Api<Echo> = Api::namespaced(context.client.clone(), &namespace);
    echos.patch_status(&name, &apply, &Patch::Apply(status)).await?;
    let event = Event {
        type_: EventType::Normal,
        reason: "JobCreated".to_owned(),
        note: Some(message),
        action: "Reconcile".to_owned(),
        secondary: None,
    };
    context.recorder.publish(&event, &echo.object_ref(&())).await?;
    Ok(Action::await_change())
}

fn job_of(echo: &Echo, name: &str) -> Job {
    let container = Container {
        name: name.to_owned(),
        image: Some("busybox:1.33.1".to_owned()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        command: Some(vec!["echo".to_owned(), echo.spec.message.clone()]),
        ..Container::default()
    };
    let pod = PodSpec { restart_policy: Some("Never".to_owned()), containers: vec![container], ..PodSpec::default() };
    Job {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            owner_references: Some(echo.controller_owner_ref(&()).into_iter().collect()),
            ..ObjectMeta::default()
        },
        spec: Some(JobSpec {
            template: PodTemplateSpec { spec: Some(pod), ..PodTemplateSpec::default() },
            ..JobSpec::default()
        }),
        ..Job::default()
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let kubeconfig = Kubeconfig::read_from(&arguments.kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.context("the kubeconfig")?;
    let client = Client::try_from(config)?;
    let (echos, jobs) = (Api::<Echo>::all(client.clone()), Api::<Job>::all(client.clone()));
    let context = Arc::new(Context { client: client.clone(), recorder: Recorder::new(client, "echo".into()) });
    let retry = |_: Arc<Echo>, error: &kube::Error, _: Arc<Context>| {
        eprintln!("{error}");
        Action::requeue(Duration::from_secs(1))
    };
    Controller::new(echos, watcher::Config::default())
        .owns(jobs, watcher::Config::default())
        .with_config(ControllerConfig::default().concurrency(arguments.workers))
        .shutdown_on_signal()
        .run(reconcile, retry, context)
        .for_each(async |_| {})
        .await;
    Ok(ExitCode::SUCCESS)
}
