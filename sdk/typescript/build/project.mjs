// A plugin's project: its package.json, and the module of the plugin.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What is wrong with a project, and the remedy: it is printed without a stack. */
export class ProjectError extends Error {}

/** Modules that are looked for if `main` of package.json names none. */
const MAINS = ["src/plugin.ts", "plugin.ts", "src/plugin.js", "plugin.js"];

/** Returns the description of the project in a folder. */
export function readProject(folder) {
  const file = join(folder, "package.json");
  if (!existsSync(file)) {
    throw new ProjectError(`${folder} has no package.json: name the folder of a plugin's project`);
  }
  let description;
  try {
    description = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new ProjectError(`${file} is no JSON: ${error.message}`);
  }
  const { name, version, description: sentence, main } = description;
  const module = main ?? MAINS.find((candidate) => existsSync(join(folder, candidate)));
  if (module === undefined || !existsSync(join(folder, module))) {
    const expected = main === undefined ? `src/plugin.ts` : main;
    throw new ProjectError(`${folder} has no module of a plugin: expected ${expected}; \`main\` of package.json names it`);
  }
  return { folder, module: join(folder, module), package: { name, version, description: sentence } };
}
