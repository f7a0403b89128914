"""The fake cluster, which reads by the rules of the contract."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from gyre import (
    ChildKind,
    Cluster,
    Group,
    InvalidSelector,
    Kind,
    Member,
    NotDeclared,
    NotGranted,
    NotServed,
    Object,
    Plan,
    ReadKind,
    RetryAfter,
    Strategy,
    Terminal,
    children,
    finalized,
    no_children,
    plugin,
    wait,
)
from gyre._selector import matches, parse
from gyre._times import parse_time
from gyre.k8s import ConfigMap, Job, Namespace, Pod, Secret
from gyre.testing import given, validate_settings


@dataclass
class Spec:
    secret: str


@dataclass
class Config:
    prefix: str = "copy-of-"
    retries: int = 1

    def __post_init__(self):
        if self.retries < 0:
            raise ValueError("retries: it is negative")


@pytest.fixture
def copies():
    @plugin(
        group="example.com",
        version="v1",
        kind="Copy",
        children=[ConfigMap, ChildKind(Job, Strategy.CREATE_ONLY)],
        reads=[Secret.where("app=web"), ReadKind(Pod, namespace="shared", metadata_only=True)],
        sets=["/metadata/labels"],
    )
    def copies(parent: Object[Spec], config: Config, cluster: Cluster) -> Plan:
        secret = cluster.get(Secret, parent.spec.secret)
        if secret is None:
            return wait("SecretMissing", f"waiting for {parent.spec.secret}")
        plan = children(ConfigMap(config.prefix + secret.name, data={"text": secret.data["text"]}))
        for job in cluster.children(Job):
            plan.keep(Job, job.name)
        return plan.ready("Copied", "it is copied")

    @copies.finalize
    def goodbye(parent: Object[Spec], cluster: Cluster) -> Plan:
        return no_children() if cluster.children(ConfigMap) else finalized()

    return copies


def parent():
    return Object("it", spec=Spec("source"))


def source(**labels):
    return Secret("source", labels=labels or {"app": "web"}, data={"text": "hello"})


def test_a_plugin_reads_the_objects_of_the_test(copies):
    given(parent()).reconcile(copies).waits("SecretMissing")
    given(parent()).with_(source(app="db")).reconcile(copies).waits("SecretMissing")
    answer = (
        given(parent()).with_(source()).with_child(Job("done"), ConfigMap("old")).reconcile(copies)
    )
    assert answer.is_ready("Copied").applies(ConfigMap, "copy-of-source").data == {"text": "hello"}
    answer.keeps(Job, "done").deletes(ConfigMap, "old").has_no(Pod)
    assert answer.event("Copied").message == "it is copied"
    assert answer.status is None


def test_settings_are_a_dict_or_their_type(copies):
    for settings in ({"prefix": "a-"}, Config(prefix="a-")):
        given(parent()).with_(source()).settings(settings).reconcile(copies).applies(
            ConfigMap, "a-source"
        )


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"prefxi": "a"}, "there is no setting prefxi"),
        ({"retries": "many"}, "^retries: expected an integer, not 'many'"),
        ({"retries": -1}, "^retries: it is negative"),
    ],
)
def test_settings_are_checked(copies, settings, problem):
    with pytest.raises(ValueError, match=problem):
        validate_settings(copies, settings)


def test_finalize_is_called_by_its_name(copies):
    given(parent()).finalize(copies).is_finalized()
    answer = given(parent()).with_child(ConfigMap("it")).finalize(copies)
    with pytest.raises(AssertionError, match="the parent does not go"):
        answer.is_finalized()


def reading(read, **declared):
    """Returns a plugin that does one read."""

    @plugin(group="example.com", version="v1", kind="Copy", **declared)
    def reading(parent: Object, cluster: Cluster) -> Plan:
        return no_children().status({"found": read(cluster)})

    return reading


def test_reads_are_refused_as_in_the_host():
    secret = reading(lambda cluster: cluster.get(Secret, "source") is not None, reads=[Secret])
    assert given({"metadata": {"name": "it"}}).with_(source()).reconcile(secret).status == {
        "found": True
    }
    assert isinstance(given(parent()).not_serving(Secret).reconcile(secret).failure, NotServed)
    assert isinstance(given(parent()).not_granting(Secret).reconcile(secret).failure, NotGranted)
    assert isinstance(
        given(parent()).reconcile(reading(lambda cluster: cluster.list(Secret))).failure,
        NotDeclared,
    )
    assert isinstance(
        given(parent()).reconcile(reading(lambda cluster: cluster.children(Job))).failure,
        NotDeclared,
    )
    of_other = reading(
        lambda cluster: cluster.list(Secret, namespace="b"), reads=[ReadKind(Secret, namespace="a")]
    )
    assert isinstance(given(parent()).reconcile(of_other).failure, NotGranted)
    wrong = reading(lambda cluster: cluster.list(Secret, "a=b=c"), reads=[Secret])
    assert isinstance(given(parent()).reconcile(wrong).failure, InvalidSelector)


def test_lists_are_sorted_and_select():
    def names(cluster):
        return [secret.name for secret in cluster.list(Secret, {"app": "web"})]

    answer = given(parent()).with_(
        Secret("b", labels={"app": "web"}),
        Secret("a", labels={"app": "web"}, namespace="z"),
        Secret("c"),
    )
    assert answer.reconcile(reading(names, reads=[Secret])).status == {"found": ["b", "a"]}


def test_a_kind_without_a_class_is_read_as_dicts():
    kind = Kind("example.com/v1", "Thing")
    thing = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "spec": {"x": 1},
    }
    read = reading(lambda cluster: cluster.get(kind, "a")["spec"]["x"], reads=[kind])
    assert given(parent()).with_(thing).reconcile(read).status == {"found": 1}


def test_metadata_alone_are_read():
    read = reading(
        lambda cluster: cluster.get(Pod, "a", "shared").to_json(),
        reads=[ReadKind(Pod, metadata_only=True)],
    )
    pod = Pod("a", namespace="shared", spec={"nodeName": "one"})
    found = given(parent()).with_(pod).reconcile(read).status["found"]
    assert set(found) == {"apiVersion", "kind", "metadata"}


def test_the_time_is_that_of_the_test():
    age = reading(lambda cluster: str(cluster.now))
    assert given(parent()).at("2026-01-01T00:00:00Z").reconcile(age).status == {
        "found": "2026-01-01 00:00:00+00:00"
    }
    with pytest.raises(AssertionError, match="the plugin read the clock"):
        given(parent()).reconcile(age)


def returning(plan, **declared):
    @plugin(group="example.com", version="v1", kind="Copy", **declared)
    def returning(parent: Object) -> Plan:
        if isinstance(plan, Exception):
            raise plan
        return plan

    return returning


@pytest.mark.parametrize(
    ("plan", "declared", "problem"),
    [
        (children(ConfigMap("it")), {}, r"UndeclaredKind.*children=\[ConfigMap\]"),
        (no_children().delete_parent(), {}, "UndeclaredParentDeletion"),
        (
            no_children().parent_label("a/b", "c"),
            {"sets": ["/spec"]},
            "sets /metadata/labels/a~1b of parents",
        ),
        (
            no_children().apply(Job("it"), strategy=Strategy.RECREATE),
            {"children": [Job]},
            "UndeclaredStrategy",
        ),
    ],
)
def test_a_plan_that_the_host_would_refuse_fails_the_test(plan, declared, problem):
    with pytest.raises(AssertionError, match=problem):
        given(parent()).reconcile(returning(plan, **declared))


def test_the_parent_is_changed_and_deleted_as_declared():
    plan = no_children().parent_label("a/b", "c")
    plan.delete_parent_at(parse_time("2026-01-01T01:00:00Z"), parse_time("2026-01-01T00:00:00Z"))
    answer = given(parent()).reconcile(
        returning(plan, sets=["/metadata/labels"], deletes_parent=True)
    )
    assert answer.sets("/metadata/labels/a~1b") == "c"
    answer.deletes_parent_after(timedelta(hours=1))


def test_failures_are_answers_and_other_exceptions_are_not():
    answer = given(parent()).reconcile(returning(RetryAfter(timedelta(seconds=9), "later")))
    assert answer.failure.delay == timedelta(seconds=9)
    assert isinstance(given(parent()).reconcile(returning(finalized())).failure, Terminal)
    with pytest.raises(KeyError):
        given(parent()).reconcile(returning(KeyError("x")))
    with pytest.raises(TypeError, match="returning returned 3, and not a plan"):
        given(parent()).reconcile(returning(3))


def test_a_group_has_its_members_with_their_types():
    @plugin(grouped=True)
    def names(all: Group[Namespace]) -> Plan:
        statuses = [
            Member(namespace).status({"place": place})
            for place, namespace in enumerate(all.members)
        ]
        return no_children().members(statuses).status({"value": all.value, "before": all.status})

    group = Group([Namespace("a"), Namespace("b")], value="x", status={"n": 1})
    answer = given(group).reconcile(names)
    assert answer.member("b").new_status == {"place": 1}
    assert answer.status == {"value": "x", "before": {"n": 1}}


def test_an_assertion_that_fails_prints_the_answer(copies):
    answer = given(parent()).reconcile(copies)
    with pytest.raises(
        AssertionError,
        match="ConfigMap it is not applied\nanswer:\n  the children stay as they are",
    ):
        answer.applies(ConfigMap, "it")


@pytest.mark.parametrize(
    ("selector", "labels", "expected"),
    [
        ("", {}, True),
        ("app=web", {"app": "web"}, True),
        ("app==web,tier!=db", {"app": "web"}, True),
        ("tier!=db", {"tier": "db"}, False),
        ("app in (web, db)", {"app": "db"}, True),
        ("app notin (web),!tier", {"tier": "x"}, False),
        ("app", {}, False),
        ("example.com/app,!tier", {"example.com/app": ""}, True),
    ],
)
def test_selectors_match_as_in_kubectl(selector, labels, expected):
    assert matches(parse(selector), labels) is expected


@pytest.mark.parametrize("selector", ["a=b=c", "a in b", "=", ",", "a,,b"])
def test_a_wrong_selector_is_refused(selector):
    with pytest.raises(ValueError, match="is none of key"):
        parse(selector)
