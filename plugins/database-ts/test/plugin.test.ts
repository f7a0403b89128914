// The answers of the plugin before and after the host has made the values.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Generated } from "@gyre/sdk";
import { Secret, StatefulSet } from "@gyre/sdk/k8s";
import { type Answer, given } from "@gyre/sdk/testing";
import plugin, { Database } from "../src/plugin.ts";

function database(passwordEpoch: number) {
  return given(Database({ metadata: { name: "orders", namespace: "shop" }, spec: { name: "orders", passwordEpoch } }));
}

/** The Secret as the plugin sees it: placeholders in place of values. */
function made(password: string, certificate: string) {
  const placeholder = (digest: string) => `Z3lyZS1nZW5lcmF0ZWQ6${digest}`;
  const data = { password: placeholder(password), "tls.crt": placeholder(certificate) };
  return Secret({ metadata: { name: "orders" }, data });
}

function digest(answer: Answer): string | undefined {
  return answer.applies(StatefulSet, "orders").spec?.template?.metadata?.annotations?.["db.gyre.dev/secret"];
}

test("the Secret asks for values and has none", () => {
  const { data = {} } = database(3).reconcile(plugin).applies(Secret, "orders");
  assert.ok(Object.values(data).every((value) => typeof value === "object"));
  assert.equal((data.password as Generated).epoch, 3);
  const url = "postgresql://orders:{password}@orders.shop.svc:5432/orders?sslmode=verify-full";
  assert.deepEqual((data.url as Generated).generate, { text: url });
});

test("nothing runs before the values are there", () => {
  const answer = database(0).reconcile(plugin);
  answer.isNotReady("Creating").keeps(StatefulSet, "orders");
  assert.throws(() => answer.applies(StatefulSet, "orders"));
});

test("pods are replaced when a value changes and not else", () => {
  const of = (password: string, certificate: string) => digest(database(0).withChild(made(password, certificate)).reconcile(plugin));
  assert.equal(of("a", "b"), of("a", "b"));
  assert.notEqual(of("a", "b"), of("c", "b"));
  assert.notEqual(of("a", "b"), of("a", "c"));
});

test("the definition is that of the plugin in Rust", () => {
  const definition = readFileSync(new URL("../../database/crd.json", import.meta.url), "utf8");
  assert.deepEqual(JSON.parse(JSON.stringify(Database.crd)), JSON.parse(definition));
});
