"""The built-in kinds."""

from datetime import datetime, timezone

import generate_kinds
import pytest

import gyre.k8s
from gyre import Data, Kind
from gyre.k8s import (
    ConfigMap,
    Container,
    ContainerPort,
    Deployment,
    EmptyDirVolumeSource,
    Job,
    Pod,
    PodSpec,
    Secret,
    Service,
    Volume,
)


def test_the_generated_files_are_up_to_date():
    for path, text in generate_kinds.files().items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path} is old: run tools/generate_kinds.py"
        )


def test_all_classes_can_be_made():
    for name in gyre.k8s.TABLE:
        getattr(gyre.k8s, name)()
    gyre.k8s.prepare()
    assert Kind("batch/v1", "Job") == Job.KIND


def test_acronyms_are_one_word():
    names = [
        "clusterIP",
        "externalIPs",
        "podCIDRs",
        "hostIPC",
        "fsGroup",
        "setHostnameAsFQDN",
        "from",
        "nonResourceURLs",
    ]
    assert [generate_kinds.snake(name) for name in names] == [
        "cluster_ip",
        "external_ips",
        "pod_cidrs",
        "host_ipc",
        "fs_group",
        "set_hostname_as_fqdn",
        "from_",
        "non_resource_urls",
    ]


def test_an_absent_part_reads_as_an_empty_one_and_is_not_written():
    pod = Pod("it")
    assert pod.status.phase is None
    assert pod.spec.containers == []
    assert not pod.status
    assert pod.to_json() == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "it"}}
    pod.spec.containers.append(Container("main", "busybox"))
    assert pod.to_json()["spec"] == {"containers": [{"name": "main", "image": "busybox"}]}


def test_an_empty_part_that_is_given_is_written():
    volume = Volume("tmp", empty_dir=EmptyDirVolumeSource())
    assert volume.to_json() == {"name": "tmp", "emptyDir": {}}
    assert volume.empty_dir
    assert not volume.secret


def test_fields_that_a_class_does_not_know_are_kept():
    json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "it", "new": 1},
        "newer": [1],
    }
    config_map = ConfigMap.from_json(json)
    config_map.data["a"] = "b"
    config_map.labels["app"] = "web"
    assert config_map.to_json() == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "it", "new": 1, "labels": {"app": "web"}},
        "newer": [1],
        "data": {"a": "b"},
    }


def test_none_removes_a_field():
    service = Service.from_json({"spec": {"clusterIP": "10.0.0.1"}})
    service.spec.cluster_ip = None
    assert service.spec.to_json() == {}


def test_unknown_fields_are_refused_with_a_hint():
    with pytest.raises(
        AttributeError, match="DeploymentSpec has no field replcas; did you mean replicas?"
    ):
        Deployment("web").spec.replcas = 3
    with pytest.raises(AttributeError, match="ConfigMap has no field dta; did you mean data?"):
        ConfigMap("it", dta={})
    with pytest.raises(TypeError, match="ContainerPort takes 1 arguments without a name, not 2"):
        ContainerPort(80, 81)


def test_times_and_bytes_have_their_types():
    job = Job.from_json({"status": {"completionTime": "2026-01-01T00:00:00Z"}})
    assert job.status.completion_time == datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert job.to_json()["status"] == {"completionTime": "2026-01-01T00:00:00Z"}


def test_the_data_of_a_secret_are_plain_texts():
    secret = Secret("it", data={"password": "hunter2", "key": b"\xff"})
    assert secret.to_json()["data"] == {"password": "aHVudGVyMg==", "key": "/w=="}
    read = Secret.from_json(secret.to_json())
    assert read.data["password"] == "hunter2"
    assert read.data.get("absent") is None
    assert read.data.bytes("key") == b"\xff"
    assert "hunter2" not in repr(read.data)
    with pytest.raises(ValueError, match="the value of key is no text"):
        read.data["key"]
    assert Secret("copy", data=read.data).to_json()["data"] == secret.to_json()["data"]


def test_the_digest_of_a_value_of_the_host_is_read_from_its_placeholder():
    data = Data.from_json({"password": "Z3lyZS1nZW5lcmF0ZWQ6YWJj", "user": "YXBw"})
    assert data.generated("password") == "YWJj"
    assert data.generated("user") is None
    assert data.generated("absent") is None


def test_a_job_and_a_deployment_of_a_container():
    job = Job.running("it", Container("main", "busybox"), backoff_limit=2)
    assert job.spec.template.spec.restart_policy == "Never"
    assert job.spec.backoff_limit == 2
    web = Deployment.running("web", Container("main", "nginx"), replicas=3)
    assert web.spec.selector.match_labels == web.spec.template.metadata.labels == {"app": "web"}


def test_conditions_are_read():
    condition = {
        "type": "Complete",
        "status": "True",
        "reason": "Done",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    job = Job.from_json({"metadata": {"name": "it"}, "status": {"conditions": [condition]}})
    assert job.is_complete and not job.is_failed
    assert job.condition("Complete").reason == "Done"
    assert job.condition("Failed") is None


def test_every_container_of_a_restricted_pod_is_restricted():
    pod = PodSpec(
        [Container("one", "busybox")], init_containers=[Container("zero", "busybox")]
    ).restricted()
    for container in [*pod.containers, *pod.init_containers]:
        assert container.security_context.allow_privilege_escalation is False
        assert container.security_context.capabilities.drop == ["ALL"]
    assert pod.security_context.seccomp_profile.type == "RuntimeDefault"
