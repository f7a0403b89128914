#!/usr/bin/env node
// Compiles the plugin in a folder to a component: `gyre build` runs it.

import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { spawnSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { installPackages } from "../build/packages.mjs";
import { ProjectError, readProject } from "../build/project.mjs";
import { SDK } from "../build/sdk.mjs";

const HELP = `Compiles the plugin in a folder to a component.

Usage: gyre-build [DIRECTORY] [OPTIONS]

Options:
  --to FILE          File to write [default: target/gyre/plugin.wasm in the folder]
  --engine ENGINE    quickjs: about 1 MB; quickjs-fast: about 1.6 MB, and faster; starlingmonkey: about 12 MB, and needs
                     the package @bytecodealliance/componentize-js [default: quickjs]
  --no-check         Do not run the type checker, where the project has one
  --bundle FILE      Also write the JavaScript that the component contains
  --sources          Print the files that the component was made of, one a line
`;

const WIT = join(SDK, "wit");
const WORLD = "component";

const OPTIONS = {
  to: { type: "string" },
  engine: { type: "string", default: "quickjs" },
  "no-check": { type: "boolean", default: false },
  bundle: { type: "string" },
  sources: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
};

const ENGINES = {
  quickjs: (code) => byQuickjs(code, "small"),
  "quickjs-fast": (code) => byQuickjs(code, "fast"),
  starlingmonkey: byStarlingMonkey,
};

async function main() {
  const { values, positionals } = parse();
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const engine = ENGINES[values.engine];
  if (engine === undefined) {
    throw new ProjectError(`there is no engine ${values.engine}; there is ${Object.keys(ENGINES).join(", ")}`);
  }
  const project = readProject(resolve(positionals[0] ?? "."));
  if (!values["no-check"]) {
    checkTypes(project.folder);
  }
  installPackages();
  const { bundle } = await import("../build/bundle.mjs");
  const { code, sources, table } = await bundle(project);
  if (values.bundle !== undefined) {
    writeFileSync(values.bundle, code);
  }
  const { placeIn } = await import("../build/lines.mjs");
  const component = await engine(code, project).catch((error) => {
    throw new ProjectError(withPlace(error.message, (stack) => placeIn(stack, table)));
  });
  const to = resolve(values.to ?? join(project.folder, "target/gyre/plugin.wasm"));
  replace(to, component);
  if (values.sources) {
    process.stdout.write(sources.map((source) => `${source}\n`).join(""));
  }
}

/** What the engine says before the exception of a module. */
const PREFIX = /^.*Failed to finish JavaScript module evaluation: /s;

/** Returns a message with the place of the exception, in place of its stack. */
function withPlace(message, placeOf) {
  const [said, ...calls] = message.replace(PREFIX, "").split(/\n(?=\s+at )/);
  const place = placeOf(calls.join("\n"));
  return `cannot load the modules of the plugin: ${place === undefined ? "" : `${place}: `}${said.trim()}`;
}

function parse() {
  try {
    return parseArgs({ options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new ProjectError(error.message);
  }
}

/** Runs the type checker of the project, if it has one and a tsconfig.json. */
function checkTypes(folder) {
  if (!existsSync(join(folder, "tsconfig.json"))) {
    return;
  }
  const compiler = packageFile(folder, "typescript", "bin/tsc");
  if (compiler === undefined) {
    return;
  }
  const { status, error } = spawnSync(process.execPath, [compiler, "--noEmit"], { cwd: folder, stdio: ["ignore", 2, 2] });
  if (error !== undefined || status !== 0) {
    throw new ProjectError(error?.message ?? "the types do not fit: see the messages above");
  }
}

/** Returns a file of an installed package, or `undefined` if it is not installed. */
function packageFile(folder, name, file) {
  for (let place = folder; ; place = dirname(place)) {
    const found = join(place, "node_modules", name, file);
    if (existsSync(found)) {
      return found;
    }
    if (dirname(place) === place) {
      return undefined;
    }
  }
}

async function byQuickjs(code, variant) {
  const { componentize } = await import("../build/quickjs.mjs");
  return componentize(code, { witPath: WIT, world: WORLD, variant });
}

async function byStarlingMonkey(code, project) {
  const main = packageFile(project.folder, "@bytecodealliance/componentize-js", "src/componentize.js");
  if (main === undefined) {
    throw new Error("install the package @bytecodealliance/componentize-js for the engine starlingmonkey");
  }
  const { componentize } = await import(pathToFileURL(main).href);
  const disableFeatures = ["http", "fetch-event"];
  const { component } = await componentize(code, { witPath: WIT, worldName: WORLD, disableFeatures });
  return component;
}

/** Writes a file at once, so that no reader gets a part of it. */
function replace(path, bytes) {
  mkdirSync(dirname(path), { recursive: true });
  const part = `${path}.${process.pid}`;
  writeFileSync(part, bytes);
  renameSync(part, path);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof ProjectError)) {
    throw error;
  }
  console.error(`gyre-build: ${error.message}`);
  process.exitCode = 1;
}
