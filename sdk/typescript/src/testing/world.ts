/** Simulated clusters with the real host, for tests of behaviour over time. */

import { AssertionError } from "node:assert";
import { resolve } from "node:path";
import { type DynamicObject, type KubernetesObject } from "../object.ts";
import { Plugin } from "../plugin.ts";
import { formatTime } from "../time.ts";
import { manifestJson, serve } from "./hosted.ts";
import { Lane, WorldError } from "./program.ts";

// A plugin of any types.
type AnyPlugin = Plugin<any, any>;

/** A component in a file, and which of its reconcilers. */
export interface Component {
  readonly path: string;
  readonly reconciler?: string;
}

/** A plugin of this process, in which a debugger works, or a component. */
export type Tested = AnyPlugin | Component;

/** What a world begins with. */
export interface Setup {
  readonly plugin: Tested;
  /** Further plugins. */
  readonly beside?: readonly Tested[];
  /** Objects that exist at first, unchanged, with their UIDs, owners and statuses. */
  readonly objects?: readonly KubernetesObject[];
  /** Paths of YAML and JSON files, and of folders with such files. */
  readonly files?: readonly string[];
  /** The settings of the plugin. */
  readonly settings?: object;
  /** Keys of the plugin's mount, as in the configuration: `{ limits: { children: 10 } }`. */
  readonly mount?: object;
  /** The time at first. By default, 2026-01-01T00:00:00Z. */
  readonly time?: Date | string;
  /**
   * The time in milliseconds after which Pods succeed. By default, they run until a test ends them.
   */
  readonly podsRunFor?: number;
  /** Runs no controllers, like `gyre test`: no garbage collection, no Pods of Jobs. */
  readonly withoutControllers?: boolean;
  /** The folder of a case of `gyre test`, with its objects, settings and time. */
  readonly case?: string;
}

/** The name of an object, as in plans: `Job default/hello`; or the object. */
export type Reference = string | KubernetesObject;

/** An object as the program sends it. */
type Found = DynamicObject;

/**
 * A cluster in memory, and a host that runs on it with the plugin under test. The clock is
 * simulated: it advances without waiting, and only in {@link World.settle}, {@link World.advance}
 * and changes.
 *
 * ```ts
 * const world = new World({ plugin, objects: [greeting] });
 * world.settle().assertPlan("create ConfigMap default/hello", "status Greeting default/hello");
 * world.advance(days(1));
 * world.settle().assertNothingDone();
 * ```
 */
export class World {
  readonly #lane = new Lane();
  readonly #plugins = new Map<number, AnyPlugin>();

  constructor(setup: Setup) {
    const { plugin, beside = [], objects = [], files = [], settings, mount, time, podsRunFor, withoutControllers } = setup;
    const [first, ...others] = [plugin, ...beside].map((tested) => ({ plugin: this.#load(tested) }));
    this.#ask("start", {
      plugins: [{ ...first, ...(settings && { settings }), ...(mount && { mount }) }, ...others],
      objects,
      files: files.map((file) => resolve(file)),
      ...(time !== undefined && { time: typeof time === "string" ? time : formatTime(time) }),
      ...(podsRunFor !== undefined && { podsRunForMs: podsRunFor }),
      ...(withoutControllers !== undefined && { withoutControllers }),
      ...(setup.case !== undefined && { case: resolve(setup.case) }),
    });
  }

  #load(tested: Tested): number {
    const number = load(this.#lane, tested);
    if (tested instanceof Plugin) {
      this.#plugins.set(number, tested);
    }
    return number;
  }

  #ask(request: string, fields: object = {}): Record<string, unknown> {
    return this.#lane.ask({ [request]: fields }, (call) => {
      const plugin = this.#plugins.get(call["plugin"] as number);
      if (plugin === undefined) {
        throw new WorldError("gyre calls a plugin that is not in this world");
      }
      return serve(plugin, call, this.#lane);
    });
  }

  /**
   * Runs the host until it has written nothing for two seconds. The run has everything since the
   * last one. Fails if the host never stops writing, or if a call ends by a fault of the plugin,
   * unless these are allowed.
   */
  settle(options: { readonly allowFaults?: boolean } = {}): Run {
    const run = this.#ask("settle", { allowFaults: options.allowFaults ?? false });
    return new Run(this.#lane, run as unknown as RunFields);
  }

  /** Advances the clock by a time in milliseconds. Time in which nothing is due costs nothing. */
  advance(time: number): void {
    this.#ask("advance", { ms: time });
  }

  /** Stops the host. The next run starts another, which knows only the cluster. */
  restart(): void {
    this.#ask("restart");
  }

  /** Replaces the plugin of a mount by another version, with the same settings. */
  upgrade(plugin: Tested): void {
    this.#ask("upgrade", { plugin: this.#load(plugin) });
  }

  /** Returns the simulated time. */
  now(): Date {
    return new Date(this.#ask("now")["time"] as string);
  }

  /**
   * Returns how often the simulated clock has moved: a measure of cost that does not depend on the
   * machine.
   */
  steps(): number {
    return this.#ask("steps")["steps"] as number;
  }

  /** Returns an object, or `undefined` if it does not exist. */
  find(object: Reference): Found | undefined {
    return (this.#ask("find", { object: nameOf(object) })["object"] ?? undefined) as Found | undefined;
  }

  /** Returns an object. Fails if it does not exist. */
  get(object: Reference): Found {
    const found = this.find(object);
    if (found === undefined) {
      throw new WorldError(`there is no ${nameOf(object)}`);
    }
    return found;
  }

  /** Returns all objects of a kind (`Job` or `batch/v1 Job`), by namespace and name. */
  list(kind: string): Found[] {
    return this.#ask("list", { kind })["objects"] as Found[];
  }

  /** Stores an object unchanged, with its UID, owners and status. */
  put(object: KubernetesObject): void {
    this.#ask("put", { object });
  }

  /** Changes an object, like `kubectl edit`. */
  edit(object: Reference, change: (object: Found) => void): void {
    const edited = this.get(object);
    change(edited);
    this.#ask("replace", { object: edited });
  }

  /** Replaces the status of an object, like the controller of its kind. */
  setStatus(object: Reference, status: object): void {
    this.#ask("setStatus", { object: nameOf(object), status });
  }

  /** Deletes an object, like `kubectl delete --wait=false`. {@link settle} completes it. */
  delete(object: Reference): void {
    this.#ask("delete", { object: nameOf(object) });
  }

  /** Lets the Pods of a Job succeed until the Job is complete. */
  finishJob(job: Reference): void {
    this.#ask("endJob", { object: nameOf(job), end: "succeeds" });
  }

  /** Lets the Pods of a Job fail, one after the other, until the Job has failed. */
  failJob(job: Reference): void {
    this.#ask("endJob", { object: nameOf(job), end: "fails" });
  }

  /** Ends the world. The end of the process ends all worlds. */
  end(): void {
    this.#ask("end");
  }
}

let loaded = 0;

function load(lane: Lane, tested: Tested): number {
  if (!(tested instanceof Plugin)) {
    return lane.ask({ load: { ...tested, path: resolve(tested.path) } })["plugin"] as number;
  }
  loaded += 1;
  const manifest = tested.manifest();
  const kit = { identity: `${manifest.name} ${loaded}`, manifest: manifestJson(manifest) };
  return lane.ask({ load: { kit } })["plugin"] as number;
}

function nameOf(object: Reference): string {
  if (typeof object === "string") {
    return object.trim().split(/\s+/).join(" ");
  }
  const { apiVersion, kind, metadata } = object;
  const namespace = metadata?.namespace === undefined ? "" : `${metadata.namespace}/`;
  return `${apiVersion} ${kind} ${namespace}${metadata?.name}`;
}

/** Something that the host did or attempted. */
export interface Action {
  readonly text: string;
  /** `create`, `update`, `delete`, `status`, `finalizers` or `event`. */
  readonly verb: string;
  readonly subject: { readonly apiVersion: string; readonly kind: string; readonly namespace?: string; readonly name: string };
  /** The object that was sent; for a deletion, the deleted object. */
  readonly object: Found;
  /** Why the API server refused it. */
  readonly refusal?: string;
}

/** A line of a plugin's log. */
export interface LoggedLine {
  readonly source: string;
  readonly level: string;
  readonly message: string;
  readonly fields?: readonly (readonly [string, string])[];
}

interface RunFields {
  readonly plan: Action[];
  readonly children: Found[];
  readonly parents: Found[];
  readonly calls: object[];
  readonly reads: string[];
  readonly log: LoggedLine[];
  readonly summary: object;
}

/** The writes of the host and the calls of the plugin since the last run, and the parents. */
export class Run {
  readonly #lane: Lane;
  /** The writes, refusals and events of the host, in order. */
  readonly plan: readonly Action[];
  /** The children as last written. */
  readonly children: readonly Found[];
  /** The parents at the end. */
  readonly parents: readonly Found[];
  /** The first 1000 calls of the plugin, as in recordings. */
  readonly calls: readonly object[];
  /** What the calls read, e.g. `get ConfigMap.v1 settings`, without children. */
  readonly reads: readonly string[];
  readonly log: readonly LoggedLine[];
  /** The content of the `expected.yaml` of `gyre test`. */
  readonly summary: object;

  constructor(lane: Lane, run: RunFields) {
    this.#lane = lane;
    this.plan = run.plan;
    this.children = run.children;
    this.parents = run.parents;
    this.calls = run.calls;
    this.reads = run.reads;
    this.log = run.log;
    this.summary = run.summary;
  }

  /** Returns the actions that the API server refused. */
  refusals(): Action[] {
    return this.plan.filter(({ refusal }) => refusal !== undefined && refusal !== null);
  }

  /** Returns the parent of this name at the end. */
  parent(name: string): Found {
    const found = this.parents.find(({ metadata }) => metadata?.name === name);
    return found ?? fail(`there is no parent ${name}`);
  }

  /** Returns a condition of the parent of this name. */
  condition(name: string, type: string): Found {
    const conditions: Found[] = this.parent(name)["status"]?.conditions ?? [];
    return conditions.find((condition) => condition["type"] === type) ?? fail(`the parent ${name} has no condition ${type}`);
  }

  /**
   * Asserts the plan, an action for each text: `create Job default/hello`. Spaces do not matter.
   */
  assertPlan(...expected: readonly string[]): void {
    const lines = (texts: readonly string[]) => texts.map((text) => `${text.trim().split(/\s+/).join(" ")}\n`).join("");
    const actual = lines(this.plan.map(({ text }) => text));
    const comparison = { actual, expected: { value: lines(expected) }, how: "lines", what: "the plan is not as expected" };
    assertSame(this.#lane.ask({ compare: comparison }));
  }

  /** Asserts that the host did nothing. */
  assertNothingDone(): void {
    this.assertPlan();
  }

  /** Compares the summary with a YAML file; the environment variable `GYRE_BLESS=1` writes it. */
  assertGolden(path: string): void {
    assertSame(this.#lane.ask({ golden: { actual: this.summary, path: resolve(path), write: isBlessed() } }));
  }
}

/**
 * Asserts that a plugin passes the cases of `gyre test` in a folder; `GYRE_BLESS=1` writes their
 * results.
 */
export function assertCases(component: Component, folder: string): void {
  const lane = new Lane();
  assertSame(lane.ask({ cases: { plugin: load(lane, component), folder: resolve(folder), write: isBlessed() } }));
}

function isBlessed(): boolean {
  const { GYRE_BLESS: blessed = "0" } = process.env;
  return blessed !== "0";
}

function assertSame({ difference }: Record<string, unknown>): void {
  if (typeof difference === "string") {
    fail(difference);
  }
}

function fail(message: string): never {
  throw new AssertionError({ message, stackStartFn: fail });
}
