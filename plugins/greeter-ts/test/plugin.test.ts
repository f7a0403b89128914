import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "@gyre/sdk/k8s";
import { given } from "@gyre/sdk/testing";
import plugin, { Greeting } from "../src/plugin.ts";

const parent = Greeting({ metadata: { name: "hello" }, spec: { message: "Hello, world!" } });

test("the message is in the ConfigMap", () => {
  const answer = given(parent).reconcile(plugin);
  assert.equal(answer.applies(ConfigMap, "hello").data?.message, "Hello, world!");
  answer.isReady("Written");
});
