// The engine QuickJS, by componentize-qjs.
//
// componentize-qjs takes a snapshot of the engine after the modules are loaded. While it does, the
// engine reads the clock and random numbers of the machine, which then are in the snapshot: the
// same source would result in other bytes each time. And it adds a component that loads modules,
// which needs a feature of WebAssembly (several memories) that hosts of plugins do not enable. Both
// are in the engine's imports. So the engine is taken from the package, these imports are renamed
// to others of the same type, and the package gets the result as its engine:
//
// - The clock and the random numbers become constants. `Date` of the SDK imports the clock itself,
//   and reads it when a plugin asks for it.
// - A bundle has no modules to load, so the functions that load them are never called.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as quickjs from "componentize-qjs";
import { modulesWithin, renameImports } from "./wasm.mjs";

/**
 * The engines of componentize-qjs 0.4.5 without async functions, which are the same on all
 * platforms.
 */
const ENGINES = {
  small: "51bced91769e0a3cb8bc288d230675b03fca8f97b42723b9f9f1702e6903b6f7",
  fast: "25703f010b80efb806f9c35daf9ee6524ad60320c9781b0bae4e234264f8dac5",
};

const RENAMED = new Map([
  ["wasi:random/insecure-seed@0.2.9 insecure-seed", ["wasi:cli/environment@0.2.0", "initial-cwd"]],
  ["wasi:clocks/wall-clock@0.2.0 now", ["wasi:clocks/wall-clock@0.2.0", "resolution"]],
  ["wasi:clocks/monotonic-clock@0.2.0 now", ["wasi:clocks/monotonic-clock@0.2.0", "resolution"]],
  ["local:init/module-loader resolve", ["wasi:filesystem/types@0.2.0", "[method]descriptor.stat-at"]],
  ["local:init/module-loader load", ["env", "wit_dylib_push_string"]],
]);

/** Returns the engine with the renamed imports. */
function engine(variant) {
  const expected = ENGINES[variant];
  for (const file of bindings()) {
    for (const module of modulesWithin(readFileSync(file))) {
      if (createHash("sha256").update(module).digest("hex") === expected) {
        return renameImports(module, RENAMED);
      }
    }
  }
  throw new Error(
    "the engine of componentize-qjs is not the expected one: use the version of componentize-qjs that package.json of @gyre/sdk names",
  );
}

/** The native files of componentize-qjs for this platform. */
function bindings() {
  const here = createRequire(import.meta.url);
  const main = here.resolve("componentize-qjs");
  const scope = join(dirname(main), "../@andreiltd");
  const packages = readdirSync(scope).filter((name) => name.startsWith("componentize-qjs-binding-"));
  return packages.flatMap((name) => {
    const folder = join(scope, name);
    return readdirSync(folder).filter((file) => file.endsWith(".node")).map((file) => join(folder, file));
  });
}

/** Returns the component of a bundle. */
export async function componentize(source, { witPath, world, variant }) {
  const { component } = await quickjs.componentize({ witPath, world, jsSource: source, runtimeBytes: engine(variant) });
  return component;
}
