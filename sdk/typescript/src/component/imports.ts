/** The host, as the contract defines it. */

import * as cluster from "gyre:plugin/cluster@0.1.0";
import * as log from "gyre:plugin/log@0.1.0";
import type { Source } from "../cluster.ts";
import { ReadError, type ReadProblem } from "../failure.ts";
import type { LogLine } from "../log.ts";
import type { GroupVersionKind } from "../object.ts";
import { decode } from "./bytes.ts";

/** Writes a line to the host's log. */
export function writeLog({ level, message, fields }: LogLine): void {
  log.log(level, message, [...fields]);
}

/** Returns the objects that the host has. */
export function hostReads(): Source {
  return {
    children: (kind) => read(kind, () => cluster.children(kind).map(parse)),
    get: (kind, namespace, name) =>
      read(kind, () => {
        const found = cluster.get(kind, namespace ?? null, name);
        return found === null || found === undefined ? undefined : parse(found);
      }),
    list: (kind, namespace, selector) =>
      read(kind, () => cluster.list(kind, namespace ?? null, selector ?? null).map(parse)),
    now: () => new Date(),
  };
}

function parse(bytes: Uint8Array): unknown {
  return JSON.parse(decode(bytes));
}

function read<T>(kind: GroupVersionKind, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    const { payload } = error as { payload?: { tag: ReadProblem; val?: string } };
    throw payload === undefined ? error : new ReadError(payload.tag, kind, payload.val);
  }
}
