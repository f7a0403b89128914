// What crosses to the host, as the contract defines it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { type KubernetesObject, plugin, type Plugin } from "@gyre/sdk";
import { Cluster } from "../src/cluster.ts";
import { decode, encode } from "../src/component/bytes.ts";
import { exported } from "../src/component/exports.ts";
import everything, { Probe, probes } from "./everything/plugin.ts";
import { withMetadata } from "../src/testing/fake.ts";

const SOURCE = { children: () => [], get: () => undefined, list: () => [], now: () => new Date(0) };
const OF = { name: "@example/everything", version: "1.2.3" };

function interfaceOf(module: unknown) {
  const seeds: string[] = [];
  const environment = {
    cluster: () => new Cluster(SOURCE),
    seed: (uid: string) => seeds.push(uid),
    u64: (value: number) => value,
    end: (error: unknown): never => {
      throw new Error("the instance ends", { cause: error });
    },
  };
  return { ...exported(module, OF, environment), seeds };
}

function json(bytes: unknown): unknown {
  return bytes === null ? null : JSON.parse(decode(bytes as Uint8Array));
}

function probe(does: string, fields: object = {}): KubernetesObject {
  const spec = { does, size: 1 };
  return withMetadata(Probe({ metadata: { name: "it", namespace: "default", uid: "1" }, spec: { ...spec, ...fields } }), new Date(0));
}

function request(parent: object, members: object[] = [], reconciler = "probes") {
  const bytes = (value: object) => encode(JSON.stringify(value));
  return { reconciler, parent: bytes(parent), members: members.map(bytes), settings: bytes({}) };
}

function reconcile(does: string): any {
  return interfaceOf(everything).reconcile(request(probe(does)));
}

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return assert.fail("it throws nothing");
}

test("a manifest has all that the contract has", () => {
  const [probes, pools] = interfaceOf(everything).describe() as any[];
  assert.deepEqual([probes.name, probes.version, probes.description], ["probes", "1.2.3", "Does what a Probe says."]);
  assert.deepEqual(probes.parent, { group: "example.com", version: "v1", kind: "Probe" });
  assert.deepEqual([probes.grouping, pools.grouping], [{ tag: "each" }, { tag: "by-field", val: "/spec/pool" }]);
  assert.deepEqual([probes.finalizes, pools.finalizes, probes.deletesParent, pools.deletesParent], [true, false, true, false]);
  assert.deepEqual(probes.parentFields, ["/metadata/labels", "/metadata/annotations/example.com~1note"]);
  assert.deepEqual(probes.children[1], {
    kind: { group: "batch", version: "v1", kind: "Job" },
    strategy: "create-only",
    strongestStrategy: "recreate",
    propagation: "foreground",
    outlivesParent: false,
  });
  assert.deepEqual(probes.children.map((child: any) => [child.kind.kind, child.strategy, child.outlivesParent]), [
    ["ConfigMap", "apply", false],
    ["Job", "create-only", false],
    ["PersistentVolumeClaim", "apply", true],
    ["Secret", "apply", false],
  ]);
  assert.deepEqual(probes.reads.slice(0, 2), [
    { kind: { group: "", version: "v1", kind: "Secret" }, namespace: null, labelSelector: "app=probe", metadataOnly: false },
    { kind: { group: "", version: "v1", kind: "Pod" }, namespace: "pods", labelSelector: null, metadataOnly: true },
  ]);
  assert.deepEqual([(json(probes.settingsSchema) as any).properties.suffix.maxLength, pools.settingsSchema], [9, null]);
  assert.deepEqual((json(probes.crds[0]) as any).metadata, { name: "probes.example.com" });
});

test("a plugin is named by its package if it has no name", () => {
  const nameless = plugin({ kind: Probe, reconcile: probes.definition.reconcile as never });
  const [manifest] = interfaceOf(nameless).describe() as any[];
  assert.deepEqual([manifest.name, manifest.version, manifest.description], ["everything", "1.2.3", ""]);
});

test("a module without a plugin is refused", () => {
  for (const module of [undefined, {}, [], [probes, 1]]) {
    assert.throws(() => interfaceOf(module), /write `export default plugin\(/);
  }
});

test("a response has all that the contract has", () => {
  const applied = reconcile("apply");
  assert.deepEqual(json(applied.children[0].val.object), {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "it" },
    data: { does: "apply" },
  });
  assert.deepEqual([applied.children[0].tag, applied.children[0].val.strategy], ["apply", null]);
  assert.deepEqual(json(applied.status), { seen: 1, text: "ümlaut 😀" });
  assert.deepEqual(applied.conditions, [{ type: "Ready", status: "yes", reason: "Applied", message: "it has 1" }]);
  assert.deepEqual(applied.events, [{ severity: "normal", reason: "Applied", message: "it has 1" }]);
  const { requeueAfterMs, parent, deleteParent, members } = applied;
  assert.deepEqual({ requeueAfterMs, parent, deleteParent, members }, { requeueAfterMs: null, parent: null, deleteParent: null, members: [] });

  const strategies = reconcile("strategies").children;
  assert.deepEqual([strategies[0].val.strategy, strategies[1].val.strategy], [null, "recreate"]);
  assert.deepEqual(strategies[2], { tag: "keep", val: { kind: { group: "batch", version: "v1", kind: "Job" }, namespace: null, name: "it-kept" } });
  assert.equal(strategies[3].val.namespace, "default");

  const { children, parent: fields, events } = reconcile("parent-fields");
  assert.deepEqual([children, events[0].severity], [null, "warning"]);
  assert.deepEqual(json(fields), { metadata: { labels: { "example.com/size": "1" }, annotations: { "example.com/note": "noted" } } });
  assert.deepEqual(reconcile("delete-parent").deleteParent, { afterMs: 120_000, propagation: "foreground" });
  const { conditions, requeueAfterMs: requeue } = reconcile("conditions");
  assert.deepEqual([conditions.map(({ status }: any) => status), requeue], [["unknown", "no", "no"], 60_000]);
});

test("a group has its members, and a response their statuses", () => {
  const group = { apiVersion: "gyre.dev/v1", kind: "ParentGroup", metadata: { name: "g", uid: "2" }, spec: { value: "a" }, status: { count: 0 } };
  const response = interfaceOf(everything).reconcile(request(group, [probe("apply", { pool: "a" })], "pools")) as any;
  assert.deepEqual((json(response.children[0].val.object) as any).data, { names: "it" });
  assert.deepEqual(json(response.status), { count: 1 });
  assert.deepEqual(response.members.map((member: any) => ({ ...member, status: json(member.status) })), [
    { namespace: "default", name: "it", status: { seen: 1 }, conditions: [{ type: "Ready", status: "yes", reason: "Listed", message: "it is listed" }] },
  ]);
});

test("failures say when to try again", () => {
  assert.deepEqual(thrownBy(() => reconcile("transient")), { tag: "transient", val: "it may pass" });
  assert.deepEqual(thrownBy(() => reconcile("retry-after")), { tag: "retry-after", val: { delayMs: 1500, message: "it takes a while" } });
  assert.deepEqual(thrownBy(() => reconcile("terminal")), { tag: "terminal", val: "it is wrong: the reason" });
  const mistake = thrownBy(() => reconcile("mistake")) as { tag: string; val: string };
  assert.match(mistake.val, /^a child was added to a plan that leaves the children as they are/);
});

test("a plan that releases the parent is for finalize", () => {
  const released = { ...probes, definition: { ...probes.definition, reconcile: probes.definition.finalize } };
  const module = Object.setPrototypeOf(released, Object.getPrototypeOf(probes)) as Plugin<unknown, unknown>;
  const failure = thrownBy(() => interfaceOf(module).reconcile(request(probe("apply")))) as { tag: string; val: string };
  assert.match(failure.val, /^reconcile returned a plan that releases the parent/);
  const { done, response } = interfaceOf(everything).finalize(request(probe("apply"))) as any;
  assert.deepEqual([done, response.children], [true, []]);
});

test("other exceptions end the instance", () => {
  const thrown = thrownBy(() => reconcile("throw")) as Error;
  assert.ok(thrown.cause instanceof TypeError);
});

test("the wrong results of functions are refused by name", () => {
  for (const [result, expected] of [
    [undefined, /^Error: reconcile returned no plan/],
    [Promise.resolve(), /^Error: reconcile must not be async/],
  ] as const) {
    const wrong = plugin({ name: "probes", kind: Probe, reconcile: () => result as never });
    const thrown = thrownBy(() => interfaceOf(wrong).reconcile(request(probe("apply")))) as Error;
    assert.match(String(thrown.cause), expected);
  }
});

test("settings are checked by their schema and by the plugin", () => {
  const { validateSettings } = interfaceOf(everything);
  const check = (settings: object) => thrownBy(() => validateSettings("probes", encode(JSON.stringify(settings))));
  assert.equal(check({ suffix: "-a-" }), "suffix: leave out the - at the end");
  assert.equal(check({ suffix: 1 }), "settings.suffix: expected string, and it is 1");
  assert.equal(validateSettings("probes", encode("{}")), undefined);
});

test("random numbers begin with the parent's UID", () => {
  const { reconcile, seeds } = interfaceOf(everything);
  reconcile(request(probe("apply")));
  assert.deepEqual(seeds, ["1"]);
});

test("the contract is that of this repository", () => {
  const read = (path: string) => readFileSync(fileURLToPath(new URL(path, import.meta.url)), "utf8");
  assert.equal(read("../wit/deps/gyre-plugin/plugin.wit"), read("../../wit/v0.1.0/plugin.wit"));
});
