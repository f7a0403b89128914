// The last words of a plugin that ends by an exception.

import assert from "node:assert/strict";
import { test } from "node:test";
import { lastWords, places } from "../src/component/last-words.ts";
// @ts-expect-error: it is JavaScript without types
import { lineTable } from "../build/lines.mjs";

const TABLE = { files: ["src/plugin.ts", "node_modules/it/index.js"], runs: [[3, 2, 0, 10], [7, 1, 1, 99]] as const };

const STACK = `    at name (componentize-qjs:user.js:3:14)
    at reconcile (componentize-qjs:user.js:4:1)
    at <anonymous> (componentize-qjs:user.js:5:1)
    at map (native)
    at componentize-qjs:user.js:7:20
`;

test("calls in sources of the plugin are named by file and line", () => {
  assert.deepEqual(places(STACK, TABLE), [
    { name: "name", place: "src/plugin.ts:10" },
    { name: "reconcile", place: "src/plugin.ts:11" },
    { name: undefined, place: "node_modules/it/index.js:99" },
  ]);
});

test("calls of another engine are named, too", () => {
  const stack = "name@source.js:3:14\nreconcile/<@source.js:4:1\n@source.js:7:20\n";
  assert.deepEqual(places(stack, TABLE), [
    { name: "name", place: "src/plugin.ts:10" },
    { name: "reconcile/<", place: "src/plugin.ts:11" },
    { name: undefined, place: "node_modules/it/index.js:99" },
  ]);
});

test("last words are a panic as the host knows it", () => {
  const error = Object.assign(new TypeError("cannot read\nproperty"), { stack: STACK });
  assert.equal(
    lastWords(error, TABLE),
    `thread 'javascript' panicked at src/plugin.ts:10:
TypeError: cannot read property
    at name (src/plugin.ts:10)
    at reconcile (src/plugin.ts:11)
    at node_modules/it/index.js:99
`,
  );
  assert.equal(lastWords("a text", undefined), "thread 'javascript' panicked at an unknown place:\na text\n");
  assert.equal(lastWords("a text", TABLE, STACK), "thread 'javascript' panicked at src/plugin.ts:10:\na text\n");
});

test("each cause is reported once, also if it is its own cause", () => {
  const error = new Error("it fails");
  error.stack = "";
  error.cause = Object.assign(new Error("the reason", { cause: error }), { stack: "" });
  const told = lastWords(error, TABLE);
  assert.equal(told, "thread 'javascript' panicked at an unknown place:\nError: it fails\ncaused by Error: the reason\n");
});

test("a table has the first source of each line of the bundle", () => {
  // Lines 1 to 6: a.ts:1, a.ts:2, none, sdk.ts:1, b.ts:21, b.ts:22.
  const map = { sources: ["a.ts", "sdk.ts", "b.ts"], mappings: "AAAA,IAAI;AACA;;ACDA;ACoBA;AACA" };
  const nameOf = (source: string) => (source === "sdk.ts" ? undefined : source);
  assert.deepEqual(lineTable(map, nameOf), { files: ["a.ts", "b.ts"], runs: [[1, 2, 0, 1], [5, 2, 1, 21]] });
});
