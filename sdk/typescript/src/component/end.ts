/** The end of an instance by an exception that is a defect of the plugin. */

import * as exit from "wasi:cli/exit@0.2.0";
import * as stderr from "wasi:cli/stderr@0.2.0";
import { encode } from "./bytes.ts";
import { type LineTable, lastWords } from "./last-words.ts";

/** Writes an exception of a plugin as the host expects a panic, and ends the instance. */
export function end(error: unknown, plugin?: { readonly stack: string }): never {
  const { __gyreLines: table } = globalThis as { __gyreLines?: LineTable };
  stderr.getStderr().blockingWriteAndFlush(encode(lastWords(error, table, plugin?.stack)));
  exit.exit({ tag: "err" });
  throw error;
}
