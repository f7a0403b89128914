// Plugins in simulated clusters: as code of this process, and as components.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { minutes } from "@gyre/sdk";
import { ConfigMap, Namespace, Pod, Secret } from "@gyre/sdk/k8s";
import { assertCases, type Setup, type Tested, World } from "@gyre/sdk/testing";
import { pools, Probe, probes } from "./everything/plugin.ts";
import { built, copyInto, GREETER, project, SDK } from "./project.ts";

/** The component of the plugin of these tests. */
let component = "";

const later: (() => void)[] = [];

after(() => later.forEach((clean) => clean()));

before(() => {
  const folder = project({ after: (clean) => later.push(clean) }, {});
  copyInto(folder, join(SDK, "test/everything"), "src");
  component = built(folder);
});

function componentOf(reconciler: string): Tested {
  return { path: component, reconciler };
}

function probe(does: string, fields: object = {}) {
  return Probe({ metadata: { name: "it", namespace: "default" }, spec: { does, ...fields } });
}

const MOUNT = { grants: { writeNamespaces: "all", readNamespaces: "all" } };

/** Runs a plugin of this process and its component, and returns what both do, which is the same. */
function settled(tested: readonly Tested[], setup: Omit<Setup, "plugin">): { run: ReturnType<World["settle"]>; world: World } {
  const worlds = tested.map((plugin) => new World({ plugin, ...setup }));
  const [native, component] = worlds.map((world) => ({ run: world.settle({ allowFaults: true }), world }));
  assert.ok(native !== undefined && component !== undefined);
  assert.deepEqual(component.run.summary, native.run.summary);
  assert.deepEqual(component.run.reads, native.run.reads);
  return component;
}

const OBJECTS = [
  Namespace({ metadata: { name: "pods" } }),
  Secret({ metadata: { name: "login", namespace: "default", labels: { app: "probe" } }, data: { text: "aHVudGVyMg==" } }),
  Pod({ metadata: { name: "x", namespace: "pods", labels: { tier: "front" } }, spec: { containers: [{ name: "a", image: "a" }] } }),
  ConfigMap({ metadata: { name: "a", namespace: "default", labels: { app: "probe" } }, data: { text: "ümlaut 😀" } }),
];

for (const does of [
  "apply",
  "strategies",
  "outlive",
  "generate",
  "read",
  "not-served",
  "not-declared",
  "not-granted",
  "invalid-selector",
  "parent-fields",
  "delete-parent",
  "conditions",
  "clock",
  "transient",
  "retry-after",
  "terminal",
  "mistake",
]) {
  test(`a component does the same as code of the test: ${does}`, () => {
    const { run } = settled([probes, componentOf("probes")], { objects: [...OBJECTS, probe(does)], mount: MOUNT, settings: { suffix: "-x" } });
    assert.ok(run.calls.length > 0);
  });
}

test("a group is the same", () => {
  const members = ["a", "b"].map((name) => Probe({ metadata: { name, namespace: "default" }, spec: { does: "", pool: "p" } }));
  const { run } = settled([pools, componentOf("pools")], { objects: members, mount: MOUNT });
  assert.deepEqual(run.condition("b", "Ready")["reason"], "Listed");
  assert.deepEqual(run.children[0]?.["data"], { names: "a b" });
});

test("a parent goes after its children", () => {
  const { world } = settled([probes, componentOf("probes")], { objects: [probe("apply")] });
  world.edit("Probe it", (parent) => {
    parent["spec"].does = "finalize";
  });
  world.settle();
  world.delete("Probe it");
  const run = world.settle();
  assert.ok(run.plan.some(({ text }) => /delete +ConfigMap default\/it/.test(text)), JSON.stringify(run.plan.map(({ text }) => text)));
  assert.equal(world.find("Probe it"), undefined);
});

test("a parent is deleted when it is due, also by a host that was restarted", () => {
  const { world } = settled([probes, componentOf("probes")], { objects: [probe("delete-parent")], mount: MOUNT });
  world.advance(minutes(1));
  world.restart();
  world.settle();
  assert.ok(world.find("Probe it"));
  world.advance(minutes(2));
  world.settle();
  assert.equal(world.find("Probe it"), undefined);
});

test("an exception is the last word, with file and line", () => {
  const world = new World({ plugin: componentOf("probes"), objects: [probe("throw")] });
  const { message, reason } = world.settle({ allowFaults: true }).condition("it", "Ready") as { message: string; reason: string };
  assert.equal(reason, "Trapped");
  assert.match(message, /it panicked at src\/plugin\.ts:\d+: TypeError: cannot read property 'name' of undefined$/);
});

test("log lines and the console are in the log", () => {
  const world = new World({ plugin: componentOf("probes"), objects: [probe("log")] });
  const lines = world.settle().log.map(({ level, message, fields }) => ({ level, message, fields }));
  assert.deepEqual(lines.slice(0, 2), [
    { level: "warn", message: "a line", fields: [["size", "1"], ["does", "log"]] },
    { level: "info", message: 'printed {"size":1}', fields: undefined },
  ]);
});

test("random numbers depend on the parent only", () => {
  const seen = (uid: string) => {
    const object = { ...probe("random"), metadata: { name: "it", namespace: "default", uid } };
    const world = new World({ plugin: componentOf("probes"), objects: [object] });
    return world.settle().parent("it")["status"].seen as number;
  };
  assert.equal(seen("1"), seen("1"));
  assert.notEqual(seen("1"), seen("2"));
});

test("settings that the plugin refuses are refused with its sentence", () => {
  for (const plugin of [probes, componentOf("probes")]) {
    assert.throws(() => new World({ plugin, settings: { suffix: "-a-" } }), /suffix: leave out the - at the end/);
  }
});

test("a plugin that throws in this process is a fault with its message", () => {
  const world = new World({ plugin: probes, objects: [probe("throw")] });
  assert.match(world.settle({ allowFaults: true }).condition("it", "Ready")["message"], /TypeError: Cannot read properties of undefined/);
});

test("a world finds, lists and changes objects", () => {
  const world = new World({ plugin: probes, objects: [probe("apply")], time: "2026-02-01T00:00:00Z" });
  world.settle();
  assert.equal(world.now().toISOString().slice(0, 10), "2026-02-01");
  world.put(ConfigMap({ metadata: { name: "b", namespace: "default" } }));
  const names = world.list("ConfigMap").map(({ metadata }) => metadata?.name);
  assert.deepEqual(names.filter((name) => name !== "kube-root-ca.crt"), ["b", "it"]);
  assert.throws(() => world.get("ConfigMap absent"), /there is no ConfigMap absent/);
  assert.throws(() => world.delete("it"), /names no object/);
  world.upgrade(probes);
  world.settle().assertNothingDone();
  assert.throws(() => world.settle().assertPlan("create ConfigMap default/it"), /the plan is not as expected/);
  world.end();
});

test("the cases of a plugin pass, and those of another one do not", (context) => {
  const description = readFileSync(join(GREETER, "package.json"), "utf8");
  const path = (files: Record<string, string>) => {
    const folder = project(context, files);
    copyInto(folder, join(GREETER, "src"), "src");
    return built(folder);
  };
  const cases = join(GREETER, "cases");
  assertCases({ path: path({ "package.json": description }) }, cases);
  assert.throws(() => assertCases({ path: path({}) }, cases), /gyre\.dev\/plugin: everything/);
});
