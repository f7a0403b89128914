import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { conditionOf, isTrue, restricted, secretData, secretText } from "@gyre/sdk";
import { Deployment, Job, Namespace, Secret } from "@gyre/sdk/k8s";
import { selectorText } from "../src/cluster.ts";

test("the types of built-in kinds are those of the OpenAPI documents", () => {
  const script = fileURLToPath(new URL("../scripts/generate-k8s.mjs", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
});

test("a kind makes objects, and knows its scope", () => {
  const job = Job({ metadata: { name: "it" }, spec: { backoffLimit: 2 } });
  assert.deepEqual(job, { apiVersion: "batch/v1", kind: "Job", metadata: { name: "it" }, spec: { backoffLimit: 2 } });
  assert.deepEqual([Namespace.clusterScoped, Job.clusterScoped], [true, false]);
  assert.deepEqual(Job.named("it"), { kind: { group: "batch", version: "v1", kind: "Job" }, namespace: undefined, name: "it" });
});

test("what the API server would refuse is refused by the type checker", () => {
  // @ts-expect-error: an object has a name
  Job({ metadata: {} });
  // @ts-expect-error: it is a number
  Deployment({ metadata: { name: "it" }, spec: { replicas: "2" } });
  // @ts-expect-error: there is no such policy
  Job({ metadata: { name: "it" }, spec: { template: { spec: { restartPolicy: "Sometimes" } } } });
  // @ts-expect-error: there is no such field
  Deployment({ metadata: { name: "it" }, spec: { replica: 2 } });
});

test("selectors of other objects are texts", () => {
  const expressions = [
    { key: "a", operator: "In", values: ["b", "c"] },
    { key: "d", operator: "NotIn", values: ["e"] },
    { key: "f", operator: "Exists" },
    { key: "g", operator: "DoesNotExist" },
  ] as const;
  const selector = { matchLabels: { app: "web" }, matchExpressions: expressions.map((expression) => ({ ...expression, values: "values" in expression ? [...expression.values] : [] })) };
  assert.equal(selectorText(selector), "app=web,a in (b,c),d notin (e),f,!g");
  assert.equal(selectorText({ app: "web", tier: "front" }), "app=web,tier=front");
  assert.equal(selectorText("app"), "app");
});

test("data of Secrets are texts in base64", () => {
  const data = secretData({ text: "ümlaut 😀" });
  assert.equal(data["text"], Buffer.from("ümlaut 😀").toString("base64"));
  const secret = Secret({ metadata: { name: "it" }, data: { ...data, bytes: "/w==" } });
  assert.deepEqual(["text", "bytes", "absent"].map((key) => secretText(secret, key)), ["ümlaut 😀", undefined, undefined]);
});

test("conditions of every kind are read", () => {
  const job = { status: { conditions: [{ type: "Complete", status: "True", reason: "Done" }] } };
  assert.deepEqual([isTrue(job, "Complete"), isTrue(job, "Failed"), isTrue(undefined, "Failed")], [true, false, false]);
  assert.equal(conditionOf(job, "Complete")?.reason, "Done");
});

test("every container of a restricted pod is restricted", () => {
  const pod = restricted({ securityContext: { runAsUser: 1 }, containers: [{ name: "a" }, { name: "b" }], initContainers: [{ name: "c" }] });
  for (const { securityContext } of [...(pod.containers ?? []), ...(pod.initContainers ?? [])]) {
    assert.deepEqual(securityContext, { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } });
  }
  assert.deepEqual([pod.securityContext?.runAsUser, pod.securityContext?.runAsNonRoot], [1, true]);
});
