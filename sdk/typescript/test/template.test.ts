// The template of `gyre new`.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { built, project, SDK } from "./project.ts";

const TEMPLATE = join(SDK, "../../host/src/commands/new/template/typescript");
const VALUES = JSON.parse(readFileSync(join(TEMPLATE, "values.json"), "utf8")) as Record<string, Record<string, string>>;
const COMMON = {
  "{{name}}": "my-plugin",
  "{{A}}": "A",
  "{{a}}": "a",
  "{{Kind}}": "Greeting",
  "{{purpose}}": "keeps its message in a ConfigMap",
  "{{group}}": "example.com",
  "{{version}}": "v1",
  "{{sdk}}": "../gyre/sdk/typescript",
};
const FILES = { "package.json": "package.json.txt", "tsconfig.json": "tsconfig.json.txt", "src/plugin.ts": "plugin.ts.txt", "test/plugin.test.ts": "plugin.test.ts.txt", "README.md": "README.md", "ci.yaml": "ci.yaml.txt" };

for (const scope of ["namespaced", "cluster"]) {
  for (const finalizer of ["without finalizer", "finalizer"]) {
    test(`a new project has the right types, passes its test and builds: ${scope}, ${finalizer}`, (context) => {
      const values = Object.entries({ ...VALUES[scope], ...VALUES[finalizer], ...COMMON });
      const filled = Object.entries(FILES).map(([file, template]) => {
        const text = values.reduce((text, [name, value]) => text.replaceAll(name, value), readFileSync(join(TEMPLATE, template), "utf8"));
        assert.ok(!text.replaceAll("${{", "").includes("{{"), text);
        return [file, text];
      });
      const folder = project(context, Object.fromEntries(filled));
      const options = ["--typeRoots", join(SDK, "node_modules/@types")];
      const compiler = join(SDK, "node_modules/typescript/bin/tsc");
      const types = spawnSync(process.execPath, [compiler, ...options], { cwd: folder, encoding: "utf8" });
      assert.equal(types.status, 0, types.stdout);
      const tests = spawnSync(process.execPath, [join(SDK, "bin/test.mjs")], { cwd: folder, encoding: "utf8", env: { ...process.env, NODE_TEST_CONTEXT: "" } });
      assert.equal(tests.status, 0, tests.stdout + tests.stderr);
      built(folder, "--no-check");
    });
  }
}
