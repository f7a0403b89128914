// The plugin with the real host, which makes the values.

import assert from "node:assert/strict";
import { test } from "node:test";
import { days } from "@gyre/sdk";
import { World } from "@gyre/sdk/testing";
import plugin from "../src/plugin.ts";

function digest(world: World): string {
  return world.get("StatefulSet orders").spec.template.metadata.annotations["db.gyre.dev/secret"];
}

test("pods are replaced by a higher epoch and a renewed certificate, and not else", () => {
  const world = new World({ plugin, files: ["samples"] });
  world.settle();
  const first = digest(world);
  world.edit("Database orders", (database) => {
    database.spec.passwordEpoch = 1;
  });
  world.settle();
  const second = digest(world);
  assert.notEqual(second, first);
  world.advance(days(1));
  world.settle();
  assert.equal(digest(world), second);
  world.advance(days(90));
  world.settle();
  assert.notEqual(digest(world), second);
});
