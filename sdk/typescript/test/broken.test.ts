// The errors of broken plugins: the last words of their calls, and the findings of gyre fuzz.
// broken/plugin.ts has a function for each way to be broken.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { World } from "@gyre/sdk/testing";
import { Broken } from "./broken/plugin.ts";
import { built, copyInto, project, SDK } from "./project.ts";

const SOURCE = readFileSync(join(SDK, "test/broken/plugin.ts"), "utf8").split("\n");

const later: (() => void)[] = [];
let folder = "";
let path = "";

after(() => later.forEach((clean) => clean()));

before(() => {
  folder = project({ after: (clean) => later.push(clean) }, {});
  copyInto(folder, join(SDK, "test/broken"), "src");
  path = built(folder);
});

function parent(does: string) {
  return Broken({ metadata: { name: "it", namespace: "default" }, spec: { does } });
}

function settled(does: string, mount: object = {}) {
  return new World({ plugin: { path }, objects: [parent(does)], mount }).settle({ allowFaults: true });
}

function lineOf(text: string): number {
  const line = SOURCE.findIndex((line) => line.includes(text));
  assert.notEqual(line, -1, text);
  return line + 1;
}

const EXCEPTIONS = [
  ["throws", "none.port!", "TypeError: cannot read property 'name' of undefined"],
  ["throwsWithCause", "cause:", "Error: the first line and the second"],
] as const;

for (const [does, line, message] of EXCEPTIONS) {
  test(`an exception is reported with its file and line: ${does}`, () => {
    const ready = settled(does).condition("it", "Ready");
    assert.equal(ready["reason"], "Trapped");
    assert.equal(ready["message"], `the plugin trapped: it panicked at src/plugin.ts:${lineOf(line)}: ${message}`);
  });
}

const WITHOUT_PLACE = [
  ["throwsText", /: a text$/],
  ["returnsNothing", /: Error: reconcile returned no plan: return children/],
  ["waits", /: Error: reconcile must not be async: a call has nothing to wait for$/],
  ["returnsBigInt", /: TypeError: BigInt are forbidden in JSON.stringify$/],
] as const;

for (const [does, message] of WITHOUT_PLACE) {
  test(`an exception without a place has that of the plugin: ${does}`, () => {
    const said = settled(does).condition("it", "Ready")["message"] as string;
    assert.match(said, message);
    const line = Number(/it panicked at src\/plugin\.ts:(\d+): /.exec(said)?.[1]);
    assert.ok(lineOf("export default plugin(") <= line && line < lineOf("reconcile({ parent })"), said);
  });
}

test("the log has the cause of an exception", () => {
  const lines = settled("throwsWithCause").log.map(({ message }) => message);
  const [thrown, called] = [lineOf("cause:"), lineOf("= way()")];
  const calls = [`    at throwsWithCause (src/plugin.ts:${thrown})`, `    at reconcile (src/plugin.ts:${called})`];
  const told = [
    `thread 'javascript' panicked at src/plugin.ts:${thrown}:`,
    "Error: the first line and the second",
    ...calls,
    "caused by TypeError: the reason",
    ...calls,
  ];
  // The host repeats a call that fails.
  assert.deepEqual(lines.slice(0, told.length), told);
});

const ENDS = [
  ["recurses", "StackOverflow", "the plugin exhausted its call stack"],
  ["loops", "DeadlineExceeded", "the plugin did not answer within 200ms"],
  ["allocates", "OutOfMemory", "the plugin exceeded its memory limit of 67108864 bytes"],
] as const;

for (const [does, reason, message] of ENDS) {
  test(`the host ends what does not end: ${does}`, () => {
    const limits = does === "loops" ? { deadline: "200ms" } : {};
    const ready = settled(does, { limits }).condition("it", "Ready");
    assert.equal(ready["reason"], reason);
    assert.ok((ready["message"] as string).startsWith(message), ready["message"] as string);
  });
}

const FINDINGS = [
  ["throws", ["trap"]],
  ["readsTheClock", ["restless", "does-not-converge", "spec-not-restored"]],
  ["countsCalls", ["nondeterministic"]],
  // These are the same in each call about a parent.
  ["draws", []],
  ["ordersASet", []],
] as const;

for (const [does, expected] of FINDINGS) {
  test(`gyre fuzz finds what depends on time and earlier calls: ${does}`, () => {
    const file = join(folder, "parent.json");
    writeFileSync(file, JSON.stringify(parent(does)));
    const program = process.env["GYRE"] ?? "gyre";
    const { stdout, stderr } = spawnSync(program, ["fuzz", path, "-f", file, "--cases", "0", "-o", "json"], { encoding: "utf8" });
    assert.ok(stdout.startsWith("{"), stderr);
    const { findings } = JSON.parse(stdout) as { findings: { finding: string }[] };
    assert.deepEqual(findings.map(({ finding }) => finding), expected, stdout);
  });
}
