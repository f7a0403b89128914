// Projects of plugins for tests, and the build of the SDK.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const SDK = fileURLToPath(new URL("..", import.meta.url));

/** The greeter of this repository. */
export const GREETER = join(SDK, "../../plugins/greeter-ts");

/** What runs at the end of a test. */
interface Context {
  after(clean: () => void): void;
}

/**
 * Creates a project with these files, which depends on this SDK. It goes at the end of the test.
 */
export function project(context: Context, files: Readonly<Record<string, string>>, within = ""): string {
  const root = mkdtempSync(join(tmpdir(), "gyre-sdk-"));
  context.after(() => rmSync(root, { recursive: true }));
  const folder = join(root, within);
  mkdirSync(join(folder, "node_modules/@gyre"), { recursive: true });
  symlinkSync(SDK, join(folder, "node_modules/@gyre/sdk"));
  const description = { name: "everything", version: "1.2.3", description: "Tests.", type: "module", main: "src/plugin.ts" };
  for (const [file, text] of Object.entries({ "package.json": JSON.stringify(description), ...files })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

/** Copies a folder of this package or repository into a project. */
export function copyInto(folder: string, from: string, to: string): void {
  cpSync(from, join(folder, to), { recursive: true });
}

/** Runs the build of the SDK in a folder. */
export function build(folder: string, ...options: readonly string[]) {
  const program = join(SDK, "bin/build.mjs");
  return spawnSync(process.execPath, [program, folder, ...options], { encoding: "utf8" });
}

/** Returns the path of the component of a project. */
export function built(folder: string, ...options: readonly string[]): string {
  const { status, stderr } = build(folder, ...options);
  assert.equal(status, 0, stderr);
  return join(folder, "target/gyre/plugin.wasm");
}

/** Returns the bytes of the component of a project. */
export function bytesOf(folder: string): Buffer {
  return readFileSync(built(folder));
}
