// The code of the guide.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { GREETER, project, SDK } from "./project.ts";

const GUIDE = readFileSync(join(SDK, "../../docs/typescript.md"), "utf8");
const README = readFileSync(join(SDK, "README.md"), "utf8");
const BLOCKS = [...`${GUIDE}\n${README}`.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);

test("the plugin and the tests of the guide are those of greeter-ts", () => {
  const read = (file: string) => withoutSpace(readFileSync(join(GREETER, file), "utf8"));
  assert.ok(read("src/plugin.ts").includes(withoutSpace(BLOCKS[0] ?? "").split("exportdefault")[0] ?? "-"));
  assert.ok(read("test/plugin.test.ts").includes(withoutSpace(BLOCKS[1] ?? "-")));
  assert.ok(withoutSpace(BLOCKS[2] ?? "-").includes(read("test/world.test.ts").split(";});")[1] ?? "-"));
});

test("the code of the guide has the types of the SDK", (context) => {
  const options = { target: "ES2023", module: "NodeNext", strict: true, allowImportingTsExtensions: true, noEmit: true, typeRoots: [join(SDK, "node_modules/@types")], types: ["node"] };
  const blocks = BLOCKS.map((code, index) => [index === 0 ? "src/plugin.ts" : `test/block${index}.ts`, code]);
  const folder = project(context, { ...Object.fromEntries(blocks), "tsconfig.json": JSON.stringify({ compilerOptions: options }) });
  const { status, stdout } = spawnSync(process.execPath, [join(SDK, "node_modules/typescript/bin/tsc")], { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stdout);
});

function withoutSpace(text: string): string {
  return text.replace(/\s+/g, "");
}
