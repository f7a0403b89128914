// The packages that the SDK depends on. Where the SDK is a link to a checkout, npm installs those
// of a project only, so the SDK installs its own.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ProjectError } from "./project.mjs";
import { SDK } from "./sdk.mjs";

const COMMAND = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];

function areInstalled() {
  const { resolve } = createRequire(import.meta.url);
  try {
    return ["esbuild", "componentize-qjs"].every((name) => resolve(name) !== "");
  } catch {
    return false;
  }
}

/** Installs the packages of the SDK if they are missing. Scripts of packages are not run. */
export function installPackages() {
  if (areInstalled()) {
    return;
  }
  const place = `in ${SDK}`;
  if (!existsSync(join(SDK, "package-lock.json"))) {
    throw new ProjectError("the packages of @gyre/sdk are missing: run `npm ci --ignore-scripts` in the folder of the project");
  }
  console.error(`$ npm ${COMMAND.join(" ")}   # ${place}`);
  const { status, error } = spawnSync("npm", COMMAND, { cwd: SDK, stdio: ["ignore", 2, 2], shell: process.platform === "win32" });
  if (error !== undefined || status !== 0) {
    throw new ProjectError(`npm cannot install the packages of @gyre/sdk ${place}: ${error?.message ?? "see its messages above"}`);
  }
}
