/** Runs a plugin of this process when the program calls it. */

import { relative } from "node:path";
import { checked } from "../check.ts";
import { Cluster, type Source } from "../cluster.ts";
import { Failure, ReadError, type ReadProblem } from "../failure.ts";
import { setLog } from "../log.ts";
import type { GroupVersionKind, Propagation } from "../object.ts";
import { gvkOf } from "../object.ts";
import type { Child, Member, Plan } from "../plan.ts";
import { givenParent, type Manifest, type Plugin, type SentParent } from "../plugin.ts";
import { type Lane, Stopped, WorldError } from "./program.ts";

// A plugin of any types.
type AnyPlugin = Plugin<any, any>;

/** Answers a call. */
export function serve(plugin: AnyPlugin, call: Record<string, unknown>, lane: Lane): object {
  const previous = setLog(({ level, message, fields }) => lane.askWithinCall({ log: { level, message, fields } }));
  try {
    const settings = plugin.settings(parsed(call["settings"] ?? {}));
    if (call["function"] === "validateSettings") {
      return { settings: "problem" in settings ? settings.problem : null };
    }
    if ("problem" in settings) {
      return { failure: { reason: "TerminalFailure", message: `the settings are not as expected: ${settings.problem}` } };
    }
    const name = call["function"] === "finalize" ? "finalize" : "reconcile";
    const members = (call["members"] ?? []) as unknown[];
    const parent = givenParent(plugin.grouping, parsed(call["parent"]) as SentParent, members.map(parsed));
    const run = plugin.definition[name];
    const plan = checked(run?.({ parent, config: settings.config, cluster: new Cluster(reads(lane)) }), name);
    return { response: responseJson(plan) };
  } catch (error) {
    if (error instanceof Stopped || error instanceof WorldError) {
      throw error;
    }
    return error instanceof Failure ? { failure: failureJson(error) } : { panic: `${String(error)}${placeOf(error)}` };
  } finally {
    setLog(previous);
  }
}

/** The file and line that threw, e.g. ` (src/plugin.ts:46)`. */
function placeOf(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const [, file, line] = /^\s+at .*?(?:file:\/\/)?([^\s()]+\.[jt]s):(\d+):\d+\)?$/m.exec(stack) ?? [];
  return file === undefined ? "" : ` (${relative(process.cwd(), file)}:${line})`;
}

/** An object, or a text that contains one. */
function parsed(json: unknown): unknown {
  return typeof json === "string" ? JSON.parse(json) : json;
}

const PROBLEMS: Record<string, ReadProblem> = {
  notDeclared: "not-declared",
  notGranted: "not-granted",
  notServed: "not-served",
  invalidSelector: "invalid-selector",
};

function reads(lane: Lane): Source {
  const read = (kind: GroupVersionKind, request: object): unknown[] => {
    const { found, readError, message } = lane.askWithinCall({ read: request });
    const problem = PROBLEMS[readError as string];
    if (problem !== undefined) {
      throw new ReadError(problem, kind, message as string | undefined);
    }
    return (found as unknown[]).map(parsed);
  };
  return {
    children: (kind) => read(kind, { children: { kind } }),
    get: (kind, namespace, name) => read(kind, { get: { kind, namespace: namespace ?? null, name } })[0],
    list: (kind, namespace, labelSelector) =>
      read(kind, { list: { kind, namespace: namespace ?? null, labelSelector: labelSelector ?? null } }),
    now: () => new Date(lane.askWithinCall({ clock: {} })["time"] as string),
  };
}

const PROPAGATIONS = { background: "Background", foreground: "Foreground", orphan: "Orphan" } as const satisfies Record<Propagation, string>;

/** Returns a manifest as `gyre inspect -o json` writes it. */
export function manifestJson(manifest: Manifest): object {
  const { grouping } = manifest;
  return {
    name: manifest.name,
    version: manifest.version,
    description: manifest.description,
    parent: manifest.parent,
    grouping: grouping.by === "each" ? null : grouping.by === "all" ? "all" : { byField: grouping.pointer },
    children: manifest.children.map((child) => ({
      kind: gvkOf(child.kind),
      strategy: child.strategy,
      strongest_strategy: child.strongestStrategy ?? null,
      propagation: PROPAGATIONS[child.propagation],
      outlives_parent: child.outlivesParent,
    })),
    reads: manifest.reads.map((read) => ({
      kind: gvkOf(read.kind),
      namespace: read.namespace ?? null,
      label_selector: read.labelSelector ?? null,
      metadata_only: read.metadataOnly,
    })),
    parent_fields: manifest.parentFields,
    deletes_parent: manifest.deletesParent,
    finalizes: manifest.finalizes,
    settings_schema: manifest.settingsSchema ?? null,
    crds: manifest.crds,
  };
}

/** Returns a plan as recordings have it. */
function responseJson({ content }: Plan<unknown>): object {
  const { children, status, conditions, events, requeue, parent, deletion, members, releases } = content;
  return {
    children: children?.map(childJson) ?? null,
    status: status ?? null,
    conditions,
    events: events.map(({ severity, reason, message }) => ({ type: severity === "normal" ? "Normal" : "Warning", reason, message })),
    requeueAfterMs: requeue === undefined ? null : Math.ceil(requeue),
    parent: parent ?? null,
    deleteParent: deletion === undefined ? null : { afterMs: Math.ceil(deletion.after), propagation: PROPAGATIONS[deletion.propagation] },
    members: members.map(memberJson),
    done: releases,
  };
}

function childJson(child: Child): object {
  if ("keep" in child) {
    const { kind, namespace, name } = child.keep;
    const group = kind.group === "" ? "" : `.${kind.group}`;
    return { keep: { kind: `${kind.kind}.${kind.version}${group}`, namespace: namespace ?? null, name } };
  }
  return { apply: { object: child.apply.object, strategy: child.apply.strategy ?? null } };
}

function memberJson({ namespace, name, ownStatus, conditions }: Member): object {
  return { namespace: namespace ?? null, name, status: ownStatus ?? null, conditions };
}

function failureJson({ message, retry }: Failure): object {
  switch (retry.when) {
    case "transient":
      return { reason: "TransientFailure", message };
    case "after":
      return { reason: "RetryAfter", message, afterMs: Math.ceil(retry.delay) };
    case "terminal":
      return { reason: "TerminalFailure", message };
  }
}
