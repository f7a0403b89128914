// Makes one module of a plugin, the SDK and the packages that it uses.

import { join, relative, sep } from "node:path";
import * as esbuild from "esbuild";
import { lineTable } from "./lines.mjs";
import { ProjectError } from "./project.mjs";
import { onlyOneSdk, SDK } from "./sdk.mjs";

const OUTPUT = "bundle.js";

/** The module that is generated for a plugin. */
const ENTRY = "component.js";

/** Interfaces of the host, which are no files. */
const HOST = ["gyre:*", "wasi:*"];

/** Returns the module that the component consists of, and the files that it was made of. */
export async function bundle(project) {
  const entry = `
    import "@gyre/sdk/component/environment";
    import plugin from ${JSON.stringify(project.module)};
    import { component } from "@gyre/sdk/component";
    export const reconciler = component(plugin, ${JSON.stringify(project.package)});
  `;
  const result = await esbuild
    .build({
      stdin: { contents: entry, resolveDir: project.folder, sourcefile: ENTRY, loader: "js" },
      absWorkingDir: project.folder,
      bundle: true,
      format: "esm",
      platform: "neutral",
      target: "es2023",
      mainFields: ["module", "main"],
      conditions: ["import", "default"],
      external: HOST,
      legalComments: "none",
      sourcemap: "external",
      sourcesContent: false,
      metafile: true,
      write: false,
      outfile: OUTPUT,
      logLevel: "silent",
      plugins: [onlyOneSdk, noBuiltins],
    })
    .catch((error) => {
      throw new ProjectError(messages(error));
    });
  const texts = Object.fromEntries(result.outputFiles.map(({ path, text }) => [path.endsWith(".map") ? "map" : "code", text]));
  const table = lineTable(JSON.parse(texts.map), (source) => nameOf(project.folder, source));
  const inputs = Object.keys(result.metafile.inputs).filter((input) => input !== ENTRY);
  return {
    code: `${withoutPlace(project.folder, texts.code)}globalThis.__gyreLines = ${JSON.stringify(table)};\n`,
    table,
    sources: inputs.map((input) => join(project.folder, input)),
  };
}

/**
 * Names the SDK's modules in comments without the place of the SDK, which differs between machines.
 */
function withoutPlace(folder, code) {
  const place = relative(folder, SDK).split(sep).join("/");
  const comment = new RegExp(`^// ${place.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}/`, "gm");
  return code.replace(comment, "// @gyre/sdk/");
}

/**
 * Sources are named from the project's folder; those of packages by the package. The SDK has none.
 */
function nameOf(folder, source) {
  const path = join(folder, source);
  if (path.startsWith(SDK + sep) || source === ENTRY) {
    return undefined;
  }
  const name = relative(folder, path).split(sep).join("/");
  const packages = name.lastIndexOf("node_modules/");
  return packages < 0 ? name : name.slice(packages);
}

/** Modules of Node.js are refused by name, because there are no files, sockets or processes. */
const noBuiltins = {
  name: "no-builtins",
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path }) => ({
      errors: [{ text: `a plugin cannot use ${path}: it has no files, sockets or processes` }],
    }));
  },
};

function messages({ errors = [], message }) {
  const lines = errors.map(({ text, location }) => {
    if (location?.file === ENTRY) {
      return `${text}: write \`export default plugin({ … })\``;
    }
    return location === null ? text : `${location.file}:${location.line}:${location.column + 1}: ${text}`;
  });
  return lines.length > 0 ? lines.join("\n") : message;
}
