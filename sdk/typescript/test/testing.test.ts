// The fake cluster, and the assertions about answers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { minutes } from "@gyre/sdk";
import { ConfigMap, Job, PersistentVolumeClaim, Pod, Secret } from "@gyre/sdk/k8s";
import { type Answer, given, givenGroup } from "@gyre/sdk/testing";
import { selectorMatcher } from "../src/testing/selector.ts";
import { pools, Probe, probes } from "./everything/plugin.ts";

function probe(does: string, fields: object = {}) {
  return Probe({ metadata: { name: "it" }, spec: { does, ...fields } });
}

const LOGIN = Secret({ metadata: { name: "login", labels: { app: "probe" } }, stringData: { text: "hunter2" } });

function pod(name: string, tier: string) {
  return Pod({ metadata: { name, namespace: "pods", labels: { tier } }, spec: { nodeName: "a" } });
}

test("an answer is read by its parts", () => {
  const answer = given(probe("apply", { size: 3 })).settings({ suffix: "-x" }).reconcile(probes);
  assert.equal(answer.applies(ConfigMap, "it-x").data?.["does"], "apply");
  assert.deepEqual(answer.isReady("Applied").hasEvent("Applied").status(), { seen: 3, text: "ümlaut 😀" });
  answer.hasNo(Job).keepsParent();
});

test("a plugin reads what the test has, by the rules of the contract", () => {
  given(probe("read")).reconcile(probes).waits("SecretMissing").requeuesAfter(minutes(5));
  const others = [
    Secret({ metadata: { name: "login", namespace: "other", labels: { app: "probe" } } }),
    ConfigMap({ metadata: { name: "a", labels: { app: "probe" } } }),
    ConfigMap({ metadata: { name: "b", namespace: "other", labels: { app: "probe" } } }),
    ConfigMap({ metadata: { name: "c" } }),
  ];
  const world = given(probe("read")).with(LOGIN, pod("z", "front"), pod("y", "back"), pod("x", "front"), ...others);
  assert.deepEqual(world.reconcile(probes).status(), { seen: 0, text: "hunter2 x,z 2 true" });
  const withChild = world.withChild(ConfigMap({ metadata: { name: "it" } }));
  assert.deepEqual(withChild.reconcile(probes).status(), { seen: 1, text: "hunter2 x,z 2 false" });
  // A Secret without the label is invisible.
  given(probe("read")).with(Secret({ metadata: { name: "login" } })).reconcile(probes).waits("SecretMissing");
});

test("a read without an answer is a failure", () => {
  const failure = (does: string) => given(probe(does)).notServing({ group: "example.org", version: "v1", kind: "Absent" }).reconcile(probes).failure();
  assert.deepEqual([failure("not-served").retry.when, failure("not-declared").retry.when], ["transient", "terminal"]);
  assert.match(failure("not-declared").message, /^the manifest does not declare Service of v1: add it to `reads`/);
  assert.match(failure("not-granted").message, /may not read Pod of v1/);
  assert.match(failure("invalid-selector").message, /"a in \(" is no requirement/);
  const notGranted = given(probe("read")).notGranting(Secret).reconcile(probes).failure();
  assert.match(notGranted.message, /may not read Secret of v1/);
});

test("selectors have the syntax of kubectl", () => {
  const labels = { app: "web", tier: "" };
  for (const [selector, expected] of [
    ["", true],
    ["app=web", true],
    ["app == web, tier=", true],
    ["app!=web", false],
    ["absent!=web", true],
    ["app in (db, web),app", true],
    ["app notin (db,web)", false],
    ["absent notin (db)", true],
    ["!app", false],
    ["!absent", true],
  ] as const) {
    assert.equal(selectorMatcher(selector)(labels), expected, selector);
  }
  for (const wrong of ["app=", "a in (", "=a", ",", "a b"].slice(1)) {
    assert.throws(() => selectorMatcher(wrong), /is no requirement/, wrong);
  }
});

test("a plugin that reads the clock needs a time", () => {
  assert.throws(() => given(probe("clock")).reconcile(probes), /add `.at\("2026-01-01T00:00:00Z"\)`/);
  assert.deepEqual(given(probe("clock")).at("2026-01-01T00:00:00Z").reconcile(probes).status(), { seen: 0 });
  const old = Probe({ metadata: { name: "it", creationTimestamp: "2025-12-31T23:59:00Z" }, spec: { does: "clock" } });
  assert.deepEqual(given(old).at("2026-01-01T00:00:00Z").reconcile(probes).status(), { seen: minutes(1) });
  assert.throws(() => given(probe("clock")).at("noon"), /noon is no time/);
});

test("strategies, kept children and fields of the parent are read", () => {
  const strategies = given(probe("strategies")).withChild(Job({ metadata: { name: "gone" } })).reconcile(probes);
  strategies.appliesWith(Job, "it-again", "recreate").keeps(Job, "it-kept").deletes(Job, "gone");
  assert.equal(given(probe("parent-fields")).reconcile(probes).sets("/metadata/annotations/example.com~1note"), "noted");
  given(probe("delete-parent")).at("2026-01-01T00:00:00Z").reconcile(probes).deletesParent(minutes(2));
  assert.equal(given(probe("outlive")).reconcile(probes).applies(PersistentVolumeClaim, "it").spec?.accessModes?.[0], "ReadWriteOnce");
});

test("the log of a call is read", () => {
  const { log } = given(probe("log")).reconcile(probes);
  assert.deepEqual(log, [{ level: "warn", message: "a line", fields: [["size", "1"], ["does", "log"]] }]);
});

test("a group is given with its members", () => {
  const members = ["a", "b"].map((name) => Probe({ metadata: { name }, spec: { does: "", pool: "p" } }));
  const answer = givenGroup(members, { value: "p" }).reconcile(pools);
  assert.equal(answer.applies(ConfigMap, "pool-p").data?.["names"], "a b");
  assert.deepEqual(answer.member("b").ownStatus, { seen: 2 });
});

test("finalize is called as reconcile", () => {
  given(probe("finalize")).finalize(probes).isFinalized();
  const waiting = given(probe("finalize")).withChild(ConfigMap({ metadata: { name: "it" } })).finalize(probes);
  waiting.deletes(ConfigMap, "it").hasEvent("Deleting");
  assert.throws(() => waiting.isFinalized(), /the parent does not go/);
});

test("a parent that the API server would refuse is refused", () => {
  assert.throws(() => given(probe("apply", { size: -1 })).reconcile(probes), /spec\.size: the number is -1, expected at least 0/);
});

test("a plan that the host would refuse fails the test, with the remedy", () => {
  const reduced = (change: object) => Object.assign(Object.create(Object.getPrototypeOf(probes)), probes, { definition: { ...probes.definition, ...change } });
  const refused = (does: string, change: object) => () => given(probe(does)).at("2026-01-01T00:00:00Z").reconcile(reduced(change));
  assert.throws(refused("apply", { children: [] }), /does not declare ConfigMap of v1 as a child kind.*\(UndeclaredKind\)/);
  assert.throws(refused("strategies", { children: [ConfigMap, Job] }), /write `Job\.strategy\("apply"\)\.upTo\("recreate"\)`/);
  assert.throws(refused("parent-fields", { parentFields: ["/metadata/labels"] }), /sets \/metadata\/annotations\/example\.com~1note of parents/);
  assert.throws(refused("delete-parent", { deletesParent: false }), /UndeclaredParentDeletion/);
  given(probe("strategies")).reconcile(reduced({ children: [ConfigMap, Job.strategy("recreate")] }));
});

test("an assertion that fails prints the answer", () => {
  const answer = given(probe("apply")).reconcile(probes);
  const failures: [(answer: Answer) => unknown, string][] = [
    [(it) => it.failure(), "the plugin did not fail"],
    [(it) => it.applies(ConfigMap, "other"), "ConfigMap other is not applied"],
    [(it) => it.appliesWith(ConfigMap, "it", "recreate"), "ConfigMap it is not applied with recreate"],
    [(it) => it.keeps(ConfigMap, "it"), "ConfigMap it is not kept"],
    [(it) => it.deletes(ConfigMap, "it"), "the parent has no child ConfigMap it"],
    [(it) => it.hasNo(ConfigMap), "there is a ConfigMap"],
    [(it) => it.waits("Applied"), "the children do not stay as they are"],
    [(it) => it.isReady("Other"), "Ready is not True with Other"],
    [(it) => it.isNotReady("Applied"), "Ready is not False with Applied"],
    [(it) => it.condition("Other"), "there is no condition Other"],
    [(it) => it.hasEvent("Other"), "there is no event Other"],
    [(it) => it.sets("/metadata/labels"), "/metadata/labels of the parent is not set"],
    [(it) => it.deletesParent(), "the parent is not deleted now"],
    [(it) => it.requeuesAfter(1), "it is not called again after 1 ms"],
    [(it) => it.member("a"), "the plan says nothing of the member a"],
    [(it) => it.isFinalized(), "the parent does not go"],
  ];
  for (const [assertion, problem] of failures) {
    assert.throws(() => assertion(answer), { name: "AssertionError", message: new RegExp(`^${problem}.*\nanswer:\n  apply \\{`, "s") });
  }
  const failed = given(probe("transient")).reconcile(probes);
  assert.throws(() => failed.plan(), /^AssertionError.*: the plugin failed\nanswer: failure \(transient\): it may pass/);
});
