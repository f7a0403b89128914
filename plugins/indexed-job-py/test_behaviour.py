"""Behaviour over simulated time: the assertions of examples/indexedjob/test.sh of Metacontroller.

It needs the program gyre: see gyre.testkit.
"""

import os
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from indexed_job import sync

from gyre.testkit import World, WorldError, assert_cases

HERE = Path(__file__).parent
JOB = "IndexedJob default/print-index"
MINUTE = timedelta(minutes=1)

if not (os.environ.get("GYRE") or shutil.which("gyre")):
    problem = "there is no program gyre: name it in the environment variable GYRE"
    if os.environ.get("CI"):
        pytest.fail(problem)
    pytest.skip(problem, allow_module_level=True)


def world(**options):
    return World(sync, files=[HERE / "samples"], pods_run_for=MINUTE, **options)


def output(pod):
    """Runs the command of the only container of a Pod with its variables, and returns what it
    prints, because containers in a simulated cluster run nothing."""
    (container,) = pod["spec"]["containers"]
    variables = {env["name"]: env["value"] for env in container["env"]}
    ran = subprocess.run(
        container["command"], env={**os.environ, **variables}, capture_output=True, check=True
    )
    return ran.stdout.decode()


def active(world):
    """Returns the names of the Pods that have not ended."""
    return [
        pod["metadata"]["name"]
        for pod in world.list("Pod")
        if pod["status"]["phase"] not in ("Succeeded", "Failed")
    ]


def test_ten_pods_succeed_two_at_a_time_and_print_their_indices():
    with world() as cluster:
        for pair in range(5):
            cluster.settle()
            assert active(cluster) == [f"print-index-{2 * pair}", f"print-index-{2 * pair + 1}"]
            status = cluster.get(JOB)["status"]
            assert (status["active"], status["succeeded"]) == (2, 2 * pair)
            cluster.advance(MINUTE)
        run = cluster.settle()
        status = run.parent("print-index")["status"]
        assert (status["active"], status["succeeded"], status["failed"]) == (0, 10, 0)
        assert run.condition("print-index", "Complete")["status"] == "True"
        assert run.condition("print-index", "Ready")["status"] == "True"
        for index in range(10):
            assert output(cluster.get(f"Pod default/print-index-{index}")) == f"{index}\n"

        cluster.advance(timedelta(days=1))
        cluster.settle().assert_nothing_done()


def test_pods_of_a_complete_job_may_be_deleted_and_it_stays_complete():
    with world() as cluster:
        cluster.edit(JOB, lambda job: job["spec"].update(completions=2))
        cluster.settle()
        cluster.advance(MINUTE)
        assert cluster.settle().condition("print-index", "Complete")["status"] == "True"
        for index in range(2):
            cluster.delete(f"Pod default/print-index-{index}")
        cluster.settle().assert_nothing_done()
        assert cluster.list("Pod") == []
        assert cluster.get(JOB)["status"]["succeeded"] == 2


def test_a_pod_that_is_deleted_while_it_runs_is_created_again():
    with world() as cluster:
        cluster.settle()
        cluster.delete("Pod default/print-index-1")
        cluster.settle()
        assert active(cluster) == ["print-index-0", "print-index-1"]


def test_a_new_template_is_for_new_pods_only():
    with world() as cluster:
        cluster.settle()
        cluster.edit(
            JOB,
            lambda job: job["spec"]["template"]["spec"]["containers"][0].update(image="busybox:2"),
        )
        cluster.settle().assert_plan("status IndexedJob default/print-index")
        cluster.advance(MINUTE)
        cluster.settle()
        images = [pod["spec"]["containers"][0]["image"] for pod in cluster.list("Pod")]
        assert images == ["busybox", "busybox", "busybox:2", "busybox:2"]


def test_the_pods_go_with_their_job():
    with world() as cluster:
        cluster.settle()
        cluster.delete(JOB)
        cluster.settle()
        assert cluster.list("Pod") == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("template", {"spec": {}}), ("template", {"spec": {"containers": []}}), ("completions", 1001)],
)
def test_the_schema_refuses_what_the_function_cannot_answer(field, value):
    with world() as cluster, pytest.raises(WorldError, match=field):
        cluster.edit(JOB, lambda job: job["spec"].update({field: value}))


def test_the_cases_of_gyre_test():
    assert_cases(sync, HERE / "cases")
