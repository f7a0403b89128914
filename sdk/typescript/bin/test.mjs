#!/usr/bin/env node
// Runs tests in TypeScript with node:test, on any version of Node.js: `gyre-test [FILE…]`. Without
// files, these are test/*.test.ts and src/*.test.ts in the working directory. Further options go to
// `node --test`.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, extname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { installPackages } from "../build/packages.mjs";
import { ProjectError } from "../build/project.mjs";
import { onlyOneSdk } from "../build/sdk.mjs";

/** In milliseconds. A plugin that loops would never end. */
const LONGEST_TEST = 120_000;
const FOLDERS = ["test", "src", "."];
const IS_TEST = /\.test\.[jt]s$/;

const options = process.argv.slice(2).filter((argument) => argument.startsWith("-"));
const named = process.argv.slice(2).filter((argument) => !argument.startsWith("-"));
const files = named.length > 0 ? named.map((file) => resolve(file)) : FOLDERS.flatMap(testsIn);

function testsIn(folder) {
  if (!existsSync(folder)) {
    return [];
  }
  return readdirSync(folder).filter((file) => IS_TEST.test(file)).map((file) => resolve(folder, file));
}

/** Files that a test names are beside its source, not beside what is built of it. */
const ownPlace = {
  name: "own-place",
  setup(build) {
    build.onLoad({ filter: /\.m?[jt]s$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8");
      return {
        contents: source.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href)),
        loader: extname(path).endsWith("ts") ? "ts" : "js",
      };
    });
  },
};

if (files.length === 0) {
  console.error("gyre-test: there are no tests: expected files such as test/plugin.test.ts");
  process.exit(1);
}

// Within the project, so that packages are found from there, and not in node_modules, where Node.js
// looks for no tests. Each run has its own folder.
const output = resolve("target/gyre-test", String(process.pid));
mkdirSync(output, { recursive: true });
try {
  process.exitCode = await run();
} finally {
  rmSync(output, { recursive: true, force: true });
}

async function run() {
  try {
    installPackages();
    const esbuild = await import("esbuild");
    await esbuild.build({
      entryPoints: Object.fromEntries(files.map((file, index) => [`${index}-${basename(file).replace(/\.[jt]s$/, "")}`, file])),
      outdir: output,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20",
      sourcemap: "inline",
      external: ["esbuild", "componentize-qjs"],
      plugins: [ownPlace, onlyOneSdk],
      logLevel: "warning",
    });
  } catch (error) {
    // esbuild has printed what is wrong with the sources.
    if (error instanceof ProjectError || error.errors === undefined) {
      console.error(`gyre-test: ${error.message}`);
    }
    return 1;
  }
  const built = readdirSync(output).map((file) => relative(".", join(output, file)));
  const limit = options.some((option) => option.startsWith("--test-timeout")) ? [] : [`--test-timeout=${LONGEST_TEST}`];
  const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...limit, ...options, ...built], { stdio: "inherit" });
  return status ?? 1;
}
