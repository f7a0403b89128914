import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

test("the cases are those of the plugin in Rust", () => {
  for (const file of ["cases/new/sample.yaml", "cases/new/expected.yaml", "samples/sample.yaml"]) {
    const read = (plugin: string) => readFileSync(new URL(`../../${plugin}/${file}`, import.meta.url), "utf8");
    assert.equal(read("greeter-ts"), read("greeter"), file);
  }
});
