/** Plugins, as the contract defines them. */

import { Cluster } from "../cluster.ts";
import type { Condition } from "../condition.ts";
import { Failure } from "../failure.ts";
import type { ChildKind, KubernetesObject, ReadKind } from "../object.ts";
import type { Child, Plan } from "../plan.ts";
import { givenParent, type Manifest, type Package, Plugin, type SentParent } from "../plugin.ts";
import { checked } from "../check.ts";
import { decode, encode } from "./bytes.ts";

/** A request of the contract. */
export interface Request {
  readonly reconciler: string;
  readonly parent: Uint8Array;
  readonly members: readonly Uint8Array[];
  readonly settings: Uint8Array;
}

/** What differs between hosts of plugins. */
export interface Environment {
  /** Returns the cluster of a call. */
  readonly cluster: () => Cluster;
  /** Begins the random numbers of a call about this parent. */
  readonly seed: (uid: string) => void;
  /** Returns a number as the engine takes one of 64 bits. */
  readonly u64: (value: number) => number | bigint;
  /** Ends the instance with an exception that is a defect of the plugin. */
  readonly end: (error: unknown, plugin?: AnyPlugin) => never;
}

type AnyPlugin = Plugin<any, any>;

/** Returns the interface `reconciler` of the contract for the default export of a module. */
export function exported(module: unknown, of: Package, environment: Environment) {
  const plugins = (Array.isArray(module) ? module : [module]) as AnyPlugin[];
  if (plugins.length === 0 || !plugins.every((plugin) => plugin instanceof Plugin)) {
    throw new Error("the module has no plugin: write `export default plugin({ … })`, or an array of several");
  }
  const find = (name: string): AnyPlugin => {
    const found = plugins.find((plugin) => plugin.manifest(of).name === name);
    if (found === undefined) {
      throw new Error(`there is no reconciler ${name}`);
    }
    return found;
  };
  const guarded = <T>(run: () => T): T => {
    try {
      return run();
    } catch (error) {
      return environment.end(error);
    }
  };
  return {
    describe: () => guarded(() => plugins.map((plugin) => lowerManifest(plugin.manifest(of)))),

    validateSettings(name: string, settings: Uint8Array): void {
      const answer = guarded(() => find(name).settings(parse(settings)));
      if ("problem" in answer) {
        throw answer.problem;
      }
    },

    reconcile: (request: Request) => call(request, find, environment, "reconcile"),

    finalize: (request: Request) => call(request, find, environment, "finalize"),
  };
}

function call(
  { reconciler, parent, members, settings }: Request,
  find: (name: string) => AnyPlugin,
  environment: Environment,
  name: "reconcile" | "finalize",
) {
  let failure: unknown;
  let plugin: AnyPlugin | undefined;
  try {
    plugin = find(reconciler);
    const sent = parse(parent) as SentParent;
    environment.seed(sent.metadata?.uid ?? "");
    const answer = plugin.settings(parse(settings));
    if ("problem" in answer) {
      failure = { tag: "terminal", val: `the settings are not as expected: ${answer.problem}` };
    } else {
      const run = plugin.definition[name];
      if (run === undefined) {
        throw new Error(`the plugin has no function ${name}`);
      }
      const given = givenParent(plugin.grouping, sent, members.map(parse));
      const plan = checked(run({ parent: given, config: answer.config, cluster: environment.cluster() }), name);
      const response = lowerPlan(plan, environment);
      return name === "reconcile" ? response : { response, done: plan.content.releases };
    }
  } catch (error) {
    if (!(error instanceof Failure)) {
      return environment.end(error, plugin);
    }
    failure = lowerFailure(error, environment);
  }
  throw failure;
}

function parse(bytes: Uint8Array): unknown {
  return JSON.parse(decode(bytes));
}

function json(value: unknown): Uint8Array {
  return encode(JSON.stringify(value));
}

function optionalJson(value: unknown): Uint8Array | null {
  return value === undefined ? null : json(value);
}

function lowerFailure({ message, retry }: Failure, environment: Environment): unknown {
  switch (retry.when) {
    case "transient":
      return { tag: "transient", val: message };
    case "after":
      return { tag: "retry-after", val: { delayMs: milliseconds(retry.delay, environment), message } };
    case "terminal":
      return { tag: "terminal", val: message };
  }
}

/** Rounds up, so that no call comes too early. */
function milliseconds(duration: number, { u64 }: Environment): number | bigint {
  return u64(Math.ceil(Math.max(duration, 0)));
}

function lowerManifest(manifest: Manifest) {
  const { grouping } = manifest;
  return {
    name: manifest.name,
    version: manifest.version,
    description: manifest.description,
    parent: manifest.parent,
    grouping: grouping.by === "field" ? { tag: "by-field", val: grouping.pointer } : { tag: grouping.by },
    children: manifest.children.map(lowerChildKind),
    reads: manifest.reads.map(lowerReadKind),
    parentFields: manifest.parentFields,
    deletesParent: manifest.deletesParent,
    finalizes: manifest.finalizes,
    settingsSchema: optionalJson(manifest.settingsSchema),
    crds: manifest.crds.map(json),
  };
}

function lowerChildKind({ kind, strategy, strongestStrategy, propagation, outlivesParent }: ChildKind) {
  return { kind, strategy, strongestStrategy: strongestStrategy ?? null, propagation, outlivesParent };
}

function lowerReadKind({ kind, namespace, labelSelector, metadataOnly }: ReadKind) {
  return { kind, namespace: namespace ?? null, labelSelector: labelSelector ?? null, metadataOnly };
}

function lowerPlan({ content }: Plan<unknown>, environment: Environment) {
  const { children, status, conditions, events, requeue, parent, deletion, members } = content;
  return {
    children: children === undefined ? null : children.map(lowerChild),
    status: optionalJson(status),
    conditions: conditions.map(lowerCondition),
    events,
    requeueAfterMs: requeue === undefined ? null : milliseconds(requeue, environment),
    parent: optionalJson(parent),
    deleteParent:
      deletion === undefined
        ? null
        : { afterMs: milliseconds(deletion.after, environment), propagation: deletion.propagation },
    members: members.map((member) => ({
      namespace: member.namespace ?? null,
      name: member.name,
      status: optionalJson(member.ownStatus),
      conditions: member.conditions.map(lowerCondition),
    })),
  };
}

function lowerChild(child: Child) {
  if ("keep" in child) {
    const { kind, namespace, name } = child.keep;
    return { tag: "keep", val: { kind, namespace: namespace ?? null, name } };
  }
  const { object, strategy } = child.apply;
  return { tag: "apply", val: { object: json(object satisfies KubernetesObject), strategy: strategy ?? null } };
}

const TRUTHS = { True: "yes", False: "no", Unknown: "unknown" } as const;

function lowerCondition({ type, status, reason, message }: Condition) {
  return { type, status: TRUTHS[status], reason, message };
}
