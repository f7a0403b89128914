import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

test("the cases are those of the plugin in Rust", () => {
  for (const file of ["cases/new/database.yaml", "cases/new/expected.yaml", "samples/database.yaml"]) {
    const read = (plugin: string) => readFileSync(new URL(`../../${plugin}/${file}`, import.meta.url), "utf8");
    assert.equal(read("database-ts"), read("database"), file);
  }
});
