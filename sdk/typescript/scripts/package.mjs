// Makes the package for a registry in dist/package: with JavaScript and declarations in place of
// TypeScript, because Node.js runs no TypeScript in node_modules. `npm publish dist/package`
// publishes it.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const SDK = join(dirname(fileURLToPath(import.meta.url)), "..");
const TO = join(SDK, "dist/package");

const OPTIONS = ["--noEmit", "false", "--rootDir", "src", "--outDir", join(TO, "dist"), "--declaration", "--rewriteRelativeImportExtensions"];

/** `./src/k8s/index.ts` is `./dist/k8s/index.js` in the package. */
function published(target) {
  if (!target.startsWith("./src/")) {
    return target;
  }
  const file = target.replace("./src/", "./dist/").replace(/\.ts$/, "");
  return { types: `${file}.d.ts`, default: `${file}.js` };
}

rmSync(TO, { recursive: true, force: true });
mkdirSync(TO, { recursive: true });
const configuration = join(SDK, "dist/tsconfig.json");
writeFileSync(configuration, JSON.stringify({ extends: "../tsconfig.json", compilerOptions: { rootDir: "../src" }, include: ["../src"] }));
const compiler = join(SDK, "node_modules/typescript/bin/tsc");
const { status } = spawnSync(process.execPath, [compiler, "-p", configuration, ...OPTIONS], { cwd: SDK, stdio: "inherit" });
if (status !== 0) {
  process.exit(1);
}
for (const folder of ["bin", "build", "wit"]) {
  cpSync(join(SDK, folder), join(TO, folder), { recursive: true });
}
cpSync(join(SDK, "README.md"), join(TO, "README.md"));

const { scripts, devDependencies, ...description } = JSON.parse(readFileSync(join(SDK, "package.json"), "utf8"));
const exports = Object.fromEntries(Object.entries(description.exports).map(([name, target]) => [name, published(target)]));
const files = ["bin", "build", "dist", "wit"];
const sideEffects = ["./dist/component/environment.js"];
writeFileSync(join(TO, "package.json"), `${JSON.stringify({ ...description, exports, files, sideEffects }, undefined, 2)}\n`);
