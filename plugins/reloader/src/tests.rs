//! The digest follows the data, and nothing else.

use gyre_sdk::k8s::{
    ConfigMapEnvSource, ConfigMapVolumeSource, Container, EnvFromSource, EnvVar, EnvVarSource, PodSpec, ProjectedVolumeSource,
    SecretKeySelector, SecretProjection, SecretVolumeSource, Volume, VolumeProjection,
};
use gyre_sdk::testing::{Answer, given};

use super::*;

fn pod() -> PodSpec {
    let token = EnvVarSource::new().with_secret_key_ref(SecretKeySelector::new("token").with_name("env-secret"));
    let settings = EnvFromSource::new().with_config_map_ref(ConfigMapEnvSource::new().with_name("env-settings"));
    let container =
        Container::new("web", "nginx:1.29").with_env([EnvVar::new("TOKEN").with_value_from(token)]).with_env_from([settings]);
    let projected = VolumeProjection::new().with_secret(SecretProjection::new().with_name("projected-secret"));
    PodSpec::new().with_containers([container]).with_volumes([
        Volume::new("files").with_config_map(ConfigMapVolumeSource::new().with_name("files")),
        Volume::new("tls").with_secret(SecretVolumeSource::new().with_secret_name("tls")),
        Volume::new("all").with_projected(ProjectedVolumeSource::new().with_sources([projected])),
    ])
}

fn workload(pod: PodSpec, reload: &str) -> Deployment {
    let template = PodTemplateSpec::new().with_spec(pod);
    Deployment::new("web").with_annotations([(RELOAD, reload)]).with_spec(DeploymentSpec::new().with_template(template))
}

fn files(content: &str) -> ConfigMap {
    ConfigMap::new("files").with_data([("index.html", content)])
}

fn tls(content: &str) -> Secret {
    Secret::new("tls").with_data([("tls.crt", content)])
}

#[track_caller]
fn digest_in(answer: &Answer) -> String {
    answer.sets(DIGEST_FIELD).as_str().expect("a text").to_owned()
}

#[test]
fn all_uses_are_found() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let expected = References {
        config_maps: names(&["env-settings", "files"]),
        secrets: names(&["env-secret", "projected-secret", "tls"]),
    };
    assert_eq!(References::of(pod().view()), expected);
}

#[test]
fn the_digest_changes_with_the_data_and_with_nothing_else() {
    let digest = |files: ConfigMap, tls: Secret| {
        digest_in(&given::<Deployments>(workload(pod(), "true")).with(files).with(tls).reconcile())
    };
    let first = digest(files("one"), tls("one"));
    assert_eq!(digest(files("one").with_labels([("app", "web")]), tls("one")), first);
    assert_ne!(digest(files("two"), tls("one")), first);
    assert_ne!(digest(files("one"), tls("two")), first);
    // What moves from one object to another is a change, too.
    assert_ne!(digest(files(""), tls("oneone")), digest(files("one"), tls("one")));
}

#[test]
fn a_missing_object_is_no_failure_and_its_coming_is_a_change() {
    let without = digest_in(&given::<Deployments>(workload(pod(), "true")).reconcile());
    let with = digest_in(&given::<Deployments>(workload(pod(), "true")).with(files("")).reconcile());
    assert_ne!(without, with);
}

#[test]
fn who_does_not_ask_for_it_gets_no_digest() {
    for workload in [workload(pod(), "false"), Deployment::new("web"), workload(PodSpec::new(), "true")] {
        assert_eq!(given::<Deployments>(workload).reconcile().plan().parent, None);
    }
}

#[test]
fn each_kind_has_a_reconciler() {
    let template = || PodTemplateSpec::new().with_spec(pod());
    let stateful = StatefulSet::new("db").with_spec(StatefulSetSpec::new().with_template(template()));
    let stateful = given::<StatefulSets>(stateful.with_annotations([(RELOAD, "true")])).reconcile();
    let daemon = DaemonSet::new("agent").with_spec(DaemonSetSpec::new().with_template(template()));
    let daemon = given::<DaemonSets>(daemon.with_annotations([(RELOAD, "true")])).reconcile();
    assert_eq!(digest_in(&stateful), digest_in(&daemon));
}
