"""Plans, groups, and what the SDK refuses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from gyre import (
    ChildKind,
    Cluster,
    Group,
    Kind,
    Member,
    Object,
    Plan,
    Rules,
    Strategy,
    children,
    finalized,
    keep_children,
    no_children,
    plugin,
    wait,
)
from gyre.generated import ca, key_pair, password, random_bytes, scram_sha256, signed_by, text
from gyre.k8s import ConfigMap, Job, Namespace, Secret


@dataclass
class Status:
    config_map: str
    note: str | None = None


def test_a_plan_has_what_its_methods_say():
    plan = children(
        ConfigMap("one"), {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "two"}}
    )
    plan.apply(Job("three"), strategy=Strategy.RECREATE).keep(Job, "four")
    plan.status(Status("one")).ready("Written", "it is written").condition(
        "Late", None, "Unclear", "nobody knows"
    )
    plan.warning("Slow", "it is slow").requeue(timedelta(minutes=1)).delete_parent()
    plan.parent_label("example.com/size", "small").parent_fields({"spec": {"replicas": 2}})
    assert [
        getattr(child, "name", None) or child.object["metadata"]["name"] for child in plan.listed
    ] == ["one", "two", "three", "four"]
    assert plan.new_status == {"configMap": "one"}
    assert [condition.type for condition in plan.conditions] == ["Ready", "Late"]
    assert [event.is_warning for event in plan.events] == [False, True]
    assert plan.fields_of_parent == {
        "metadata": {"labels": {"example.com/size": "small"}},
        "spec": {"replicas": 2},
    }
    assert "apply with RECREATE" in repr(plan)


def test_a_plan_that_leaves_the_children_takes_none():
    for plan in (wait("Missing", "it is missing"), keep_children()):
        with pytest.raises(
            ValueError, match="a child was added to a plan that leaves the children"
        ):
            plan.apply(ConfigMap("it"))


@pytest.mark.parametrize(
    ("child", "problem"),
    [
        ({"kind": "ConfigMap", "metadata": {"name": "it"}}, "a child has no apiVersion"),
        (ConfigMap(), "a ConfigMap has no name"),
        (Object("it"), "its class has no kind"),
        ("it", "a child is an object"),
    ],
)
def test_a_child_that_is_no_object_is_refused_where_it_is_added(child, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        children(child)


def test_the_last_plan_of_finalize_has_no_children():
    assert finalized().listed == [] and finalized().releases_parent


def test_a_member_is_named_by_its_object():
    member = Member(Namespace("web")).status({"a": 1}).not_ready("Late", "it is late")
    assert (member.namespace, member.name, member.new_status) == (None, "web", {"a": 1})
    assert Member({"metadata": {"name": "x", "namespace": "y"}}).namespace == "y"


def test_requests_for_values_are_as_the_contract_has_them():
    secret = Secret(
        "db",
        data={
            "password": password(24).epoch(2),
            "bytes": random_bytes(16, "hex"),
            "key": key_pair("ed25519", format="ssh", public_key="key.pub"),
            "url": text("postgres://app:{password}@db/app"),
            "scram": scram_sha256("password"),
            "ca.crt": ca("db", private_key="ca.key", valid_days=3650),
            "tls.crt": signed_by(
                "ca.crt", private_key="tls.key", dns_names=["db"], usages=["server", "client"]
            ),
            "plain": "text",
        },
    )
    assert secret.to_json()["data"] == {
        "password": {"generate": {"password": {"length": 24}}, "epoch": 2},
        "bytes": {"generate": {"bytes": {"length": 16, "encoding": "hex"}}},
        "key": {
            "generate": {
                "keyPair": {"algorithm": "ed25519", "format": "ssh", "publicKey": "key.pub"}
            }
        },
        "url": {"generate": {"text": "postgres://app:{password}@db/app"}},
        "scram": {"generate": {"hash": {"of": "password", "algorithm": "scram-sha256"}}},
        "ca.crt": {
            "generate": {
                "certificate": {
                    "privateKey": "ca.key",
                    "issuer": "self",
                    "isCa": True,
                    "commonName": "db",
                    "lifetimeSeconds": 315360000,
                }
            }
        },
        "tls.crt": {
            "generate": {
                "certificate": {
                    "privateKey": "tls.key",
                    "issuer": {"key": "ca.crt"},
                    "dnsNames": ["db"],
                    "usages": ["server", "client"],
                    "lifetimeSeconds": 7776000,
                }
            }
        },
        "plain": "dGV4dA==",
    }


def test_parameters_are_known_by_their_annotations_and_names():
    @dataclass
    class Config:
        image: str = "busybox"

    def inputs(function):
        return plugin(name="it")(function).inputs

    assert inputs(lambda parent: None).settings is None
    assert inputs(lambda parent, cluster: None).settings is None
    assert inputs(lambda parent, config: None).settings is dict

    def everything(first: ConfigMap, reads: Cluster, config: Config) -> Plan: ...

    everything.__annotations__ = {
        "first": ConfigMap,
        "reads": Cluster,
        "config": Config,
        "return": Plan,
    }
    declared = plugin(name="it")(everything)
    assert declared.inputs.settings is Config
    assert declared._signature.arguments == ["parent", "cluster", "settings"]
    with pytest.raises(TypeError, match=r"expected parameters such as \(parent, config, cluster\)"):
        plugin(name="it")(lambda: None)
    with pytest.raises(TypeError, match="which of .* is the Cluster"):
        inputs(lambda parent, one, two: None)


def test_a_manifest_has_what_the_decorator_says():
    @plugin(
        group="example.com",
        version="v1",
        kind="Backup",
        children=[
            ConfigMap,
            ChildKind(Job, Strategy.CREATE_ONLY, up_to=Strategy.RECREATE, outlives_parent=True),
        ],
        reads=[Secret.where("app=backup"), Kind("v1", "Pod")],
        sets=["/metadata/labels"],
        deletes_parent=True,
    )
    def backup_of_all(parent: Object) -> Plan:
        """Makes backups.

        Further explanations.
        """

    @backup_of_all.finalize
    def goodbye(parent: Object) -> Plan:
        return finalized()

    manifest = backup_of_all.manifest
    assert (manifest.name, manifest.description) == ("backup-of-all", "Makes backups.")
    assert manifest.parent == Kind("example.com/v1", "Backup")
    assert [child.strategy for child in manifest.children] == [Strategy.APPLY, Strategy.CREATE_ONLY]
    assert [read.labels for read in manifest.reads] == ["app=backup", None]
    assert manifest.finalizes and manifest.deletes_parent and manifest.sets == ["/metadata/labels"]
    assert manifest.settings_schema is None


@pytest.mark.parametrize(
    ("declared", "function", "problem"),
    [
        ({"kind": "A"}, lambda parent: None, "needs a group and a version"),
        ({}, lambda parent: None, "the kind of the parent is not known"),
        (
            {"grouped": True, "group": "a.b", "version": "v1", "kind": "A"},
            lambda parent: None,
            r"annotate the parent as Group",
        ),
        (
            {"children": [Rules], "group": "a.b", "version": "v1", "kind": "A"},
            lambda parent: None,
            "Rules is no kind of objects",
        ),
    ],
)
def test_a_wrong_declaration_says_what_is_missing(declared, function, problem):
    with pytest.raises(TypeError, match=problem):
        _ = plugin(**declared)(function).manifest


def test_a_group_needs_a_declaration():
    def names(all: Group[Namespace]) -> Plan:
        return no_children()

    names.__annotations__ = {"all": Group[Namespace], "return": Plan}
    with pytest.raises(TypeError, match="give grouped=True or group_by"):
        _ = plugin(name="names")(names).manifest
    grouped = plugin(name="names", grouped=True)(names)
    grouped.finalize(names)
    with pytest.raises(TypeError, match="groups its parents has no finalize"):
        _ = grouped.manifest
