// The build of components.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { build, built, bytesOf, copyInto, GREETER, project, SDK } from "./project.ts";

const PLUGIN = `
  import { noChildren, plugin } from "@gyre/sdk";
  import { ConfigMap } from "@gyre/sdk/k8s";
  export default plugin({ kind: ConfigMap, reconcile: () => noChildren() });
`;

test("the same source gives the same bytes in every folder and at every time", (context) => {
  const components = ["", "deep/in/folders"].map((within) => {
    const folder = project(context, {}, within);
    copyInto(folder, join(GREETER, "src"), "src");
    return bytesOf(folder);
  });
  assert.ok(components[0]?.equals(components[1] ?? Buffer.of()), "two builds differ");
});

test("a component has no path of this machine", (context) => {
  const folder = project(context, { "src/plugin.ts": PLUGIN });
  const text = bytesOf(folder).toString("latin1");
  for (const path of [folder, SDK.replace(/\/$/, "")]) {
    assert.ok(!text.includes(path), path);
  }
});

test("the files of a plugin are listed, and its bundle is written", (context) => {
  const folder = project(context, { "src/plugin.ts": `import "./other.ts";${PLUGIN}`, "src/other.ts": "export {};" });
  const { stdout } = build(folder, "--sources", "--bundle", join(folder, "bundle.js"));
  const sources = stdout.trimEnd().split("\n");
  assert.ok(["src/plugin.ts", "src/other.ts"].every((file) => sources.includes(join(folder, file))), stdout);
  assert.ok(sources.every((file) => existsSync(file)), stdout);
  assert.match(readFileSync(join(folder, "bundle.js"), "utf8"), /\/\/ src\/plugin\.ts/);
});

test("the faster engine builds, too", (context) => {
  const folder = project(context, { "src/plugin.ts": PLUGIN });
  const [small, fast] = ["quickjs", "quickjs-fast"].map((engine) => readFileSync(built(folder, "--engine", engine)).length);
  assert.ok((small ?? 0) < (fast ?? 0));
});

test("what is wrong is said with its place and the remedy", (context) => {
  const said = (files: Record<string, string>, ...options: string[]) => {
    const { status, stderr } = build(project(context, files), ...options);
    assert.equal(status, 1, stderr);
    assert.doesNotMatch(stderr, /\n\s+at /, "there is a stack");
    return stderr;
  };
  const plugin = (text: string) => ({ "src/plugin.ts": text });
  assert.match(said({}), /has no module of a plugin: expected src\/plugin\.ts; `main` of package\.json names it/);
  assert.match(said({ "package.json": "{" }), /package\.json is no JSON/);
  assert.match(said(plugin("export default {")), /src\/plugin\.ts:1:17: Expected identifier but found end of file/);
  assert.match(said(plugin('import "./absent.ts";')), /src\/plugin\.ts:1:8: Could not resolve "\.\/absent\.ts"/);
  assert.match(said(plugin('import "node:fs";')), /src\/plugin\.ts:1:8: a plugin cannot use node:fs: it has no files/);
  assert.match(said(plugin("export const it = 1;")), /No matching export in "src\/plugin\.ts" for import "default": write/);
  assert.match(said(plugin("export default 1;")), /the module has no plugin: write `export default plugin\(/);
  assert.match(said(plugin("const x = Date.now(); export default x;")), /src\/plugin\.ts:1: Error: there is no clock while a module is loaded/);
  assert.match(said(plugin("export default new Date();")), /there is no clock while a module is loaded/);
  assert.match(said(plugin("export default Math.random();")), /there are no random numbers while a module is loaded/);
  assert.match(said(plugin("\nnull.field;\nexport default 1;")), /src\/plugin\.ts:2: Error: cannot read property 'field' of null/);
  assert.match(said(plugin(PLUGIN), "--engine", "v8"), /there is no engine v8; there is quickjs, quickjs-fast, starlingmonkey/);
  assert.match(said(plugin(PLUGIN), "--engine", "starlingmonkey"), /install the package @bytecodealliance\/componentize-js/);
  assert.match(said(plugin(PLUGIN), "--fast"), /Unknown option '--fast'/);
});
