import pytest
from indexed_job import IndexedJobSpec, get_index, sync

from gyre import Object
from gyre.k8s import Container, Pod, PodSpec, PodStatus, PodTemplateSpec
from gyre.testing import given


def job(completions=10, parallelism=2, **fields):
    containers = [Container("first", env=[{"name": "A", "value": "b"}]), Container("second")]
    template = PodTemplateSpec(spec=PodSpec(containers=containers))
    return Object("print", spec=IndexedJobSpec(template, completions, parallelism), **fields)


def pod(name, phase):
    return Pod(name, status=PodStatus(phase=phase))


def applied(answer):
    """Returns the names of the Pods that should exist."""
    return [child.object["metadata"]["name"] for child in answer.plan.listed]


def test_as_many_pods_are_created_as_may_run_at_the_same_time():
    answer = given(job(parallelism=3)).reconcile(sync)
    assert applied(answer) == ["print-0", "print-1", "print-2"]
    assert applied(given(job(completions=1, parallelism=3)).reconcile(sync)) == ["print-0"]
    assert applied(given(job(parallelism=0)).reconcile(sync)) == []


def test_every_container_gets_the_index_in_addition_to_its_variables():
    created = given(job()).reconcile(sync).applies(Pod, "print-1")
    first, second = created.spec.containers
    assert [(env.name, env.value) for env in first.env] == [("A", "b"), ("JOB_INDEX", "1")]
    assert [(env.name, env.value) for env in second.env] == [("JOB_INDEX", "1")]


def test_pods_that_have_ended_stay_and_make_room_for_the_next_ones():
    ended = [pod("print-0", "Succeeded"), pod("print-2", "Failed")]
    answer = given(job()).with_child(*ended, pod("print-3", "Running")).reconcile(sync)
    assert applied(answer) == ["print-0", "print-2", "print-3", "print-1"]
    assert answer.status == {"active": 1, "succeeded": 1, "failed": 1}
    answer.has_condition("Complete", False, "PodsRemain")


def test_a_job_is_complete_once_all_pods_have_succeeded():
    ended = [pod("print-0", "Succeeded"), pod("print-1", "Succeeded")]
    answer = given(job(completions=2)).with_child(*ended).reconcile(sync)
    assert applied(answer) == ["print-0", "print-1"]
    answer.has_condition("Complete", True, "PodsSucceeded")
    assert answer.condition("Complete").message == "2 of 2 Pods have succeeded"


@pytest.mark.parametrize("type", ["Complete", "Failed"])
def test_a_finished_job_creates_no_pod_again_and_its_status_stays(type):
    status = {"succeeded": 2, "conditions": [{"type": type, "status": "True"}]}
    finished = job(completions=2, status=status)
    answer = given(finished).with_child(pod("print-1", "Succeeded")).reconcile(sync)
    assert applied(answer) == ["print-1"]
    assert answer.status is None
    assert answer.plan.conditions == []


def test_a_condition_that_is_false_finishes_no_job():
    status = {"conditions": [{"type": "Complete", "status": "False"}]}
    assert applied(given(job(status=status)).reconcile(sync)) == ["print-0", "print-1"]


@pytest.mark.parametrize(
    ("name", "index"),
    [("print-0", 0), ("print-12", 12), ("print-x", -1), ("print", -1), ("print-it-3", -1)],
)
def test_the_index_is_at_the_end_of_the_name(name, index):
    assert get_index("print", name) == index
