/** Tests that read like a sentence: given a parent and objects, a plugin answers this. */

import { AssertionError } from "node:assert";
import { Cluster } from "../cluster.ts";
import { checked } from "../check.ts";
import { Failure } from "../failure.ts";
import { type LogLine, setLog } from "../log.ts";
import type { DynamicObject, GroupVersionKind, KubernetesObject } from "../object.ts";
import { isSameKind, kindOf } from "../object.ts";
import * as builtin from "../k8s/index.ts";
import { type Group, type Manifest, Plugin } from "../plugin.ts";
import { type JsonSchema, problems, withDefaults } from "../schema.ts";
import { Answer } from "./answer.ts";
import { firstUndeclared } from "./declared.ts";
import { copy, type FakeCluster, FakeReads, withMetadata } from "./fake.ts";

/**
 * Begins a test with this parent:
 *
 * ```ts
 * const answer = given(Backup({ metadata: { name: "db" }, spec: { secret: "login" } }))
 *   .with(Secret({ metadata: { name: "login" } }))
 *   .reconcile(plugin);
 * answer.isReady("Scheduled");
 * assert.equal(answer.applies(CronJob, "db").spec?.schedule, "0 3 * * *");
 * ```
 *
 * Where the test does not say it, the parent has a UID, the generation 1 and, unless its kind is
 * cluster-scoped, the namespace `default`; it was created at the time of the test. Its spec gets
 * the defaults of its schema, and must be valid.
 */
export function given(parent: KubernetesObject): Given {
  return new Given([parent], undefined, EMPTY, {});
}

/**
 * Begins a test of a plugin that groups its parents. `value` is that of the field that the members
 * have in common.
 */
export function givenGroup(members: readonly KubernetesObject[], options: { readonly value?: string; readonly status?: object } = {}): Given {
  return new Given(members, options, EMPTY, {});
}

const EMPTY: FakeCluster = { objects: [], notServed: [], notGranted: [], now: undefined };

type AnyPlugin = Plugin<any, any>;

/** A test of a plugin. Its methods return a changed copy. */
export class Given {
  readonly #parents: readonly KubernetesObject[];
  readonly #group: { readonly value?: string; readonly status?: object } | undefined;
  readonly #cluster: FakeCluster;
  readonly #settings: object;

  constructor(parents: readonly KubernetesObject[], group: { value?: string; status?: object } | undefined, cluster: FakeCluster, settings: object) {
    this.#parents = parents;
    this.#group = group;
    this.#cluster = cluster;
    this.#settings = settings;
  }

  #in(change: Partial<FakeCluster>): Given {
    return new Given(this.#parents, this.#group, { ...this.#cluster, ...change }, this.#settings);
  }

  get #first(): KubernetesObject {
    return this.#parents[0] ?? {};
  }

  /**
   * Adds objects. Without a namespace, they are in the parent's, unless their kind has no
   * namespaces.
   */
  with(...objects: readonly KubernetesObject[]): Given {
    const added = objects.map((object) => inNamespace(object, namespaceOf(this.#first)));
    return this.#in({ objects: [...this.#cluster.objects, ...added] });
  }

  /** Adds children of the parent. Without a namespace, they are in the parent's. */
  withChild(...objects: readonly KubernetesObject[]): Given {
    const owner = { apiVersion: "", kind: "", name: "", controller: true, uid: this.#group === undefined ? uidOf(this.#first) : GROUP_UID };
    const owned = objects.map((object) => ({ ...object, metadata: { ...object.metadata, ownerReferences: [owner] } }));
    return this.with(...owned);
  }

  /** Stops serving this kind, as if its definition were not installed. */
  notServing(kind: GroupVersionKind): Given {
    return this.#in({ notServed: [...this.#cluster.notServed, kind] });
  }

  /** Removes the grant of this kind. */
  notGranting(kind: GroupVersionKind): Given {
    return this.#in({ notGranted: [...this.#cluster.notGranted, kind] });
  }

  /** Sets the time. Without it, a plugin that reads the clock fails the test. */
  at(now: Date | string): Given {
    const time = new Date(now);
    if (Number.isNaN(time.getTime())) {
      throw new Error(`the time of the test: ${now} is no time, such as 2026-01-01T00:00:00Z`);
    }
    return this.#in({ now: time });
  }

  /** Sets the settings, as the operator writes them. */
  settings(settings: object): Given {
    return new Given(this.#parents, this.#group, this.#cluster, settings);
  }

  /** Calls `reconcile`. Fails if the host would refuse the plan. */
  reconcile(plugin: AnyPlugin | readonly AnyPlugin[]): Answer {
    return this.#call(plugin, "reconcile");
  }

  /** Calls `finalize`. Fails if the host would refuse the plan. */
  finalize(plugin: AnyPlugin | readonly AnyPlugin[]): Answer {
    return this.#call(plugin, "finalize");
  }

  #call(of: AnyPlugin | readonly AnyPlugin[], name: "reconcile" | "finalize"): Answer {
    const plugin = this.#plugin(of);
    const run = plugin.definition[name];
    if (run === undefined) {
      throw new AssertionError({ message: `the plugin has no function ${name}` });
    }
    const manifest = plugin.manifest();
    const parents = this.#parents.map((parent) => complete(parent, plugin, this.#cluster.now));
    const group: Group<unknown> | undefined = this.#group && { members: parents, ...this.#group };
    const owner = group === undefined ? parents[0] : { metadata: { name: "group", uid: GROUP_UID } };
    const reads = new FakeReads(this.#cluster, manifest, owner ?? {});
    const lines: LogLine[] = [];
    const previous = setLog((line) => lines.push(line));
    try {
      const settings = plugin.settings(copy(this.#settings));
      if ("problem" in settings) {
        throw new AssertionError({ message: `the settings of the test are not as expected: ${settings.problem}` });
      }
      const plan = checked(run({ parent: group ?? parents[0], config: settings.config, cluster: new Cluster(reads) }), name);
      return declared(new Answer(plan, reads.allChildren(), lines), manifest);
    } catch (error) {
      if (!(error instanceof Failure)) {
        throw error;
      }
      return new Answer(error, reads.allChildren(), lines);
    } finally {
      setLog(previous);
    }
  }

  /** Returns the plugin; of several, the one of the parent's kind. */
  #plugin(of: AnyPlugin | readonly AnyPlugin[]): AnyPlugin {
    const kind = kindOf(this.#first);
    const found = of instanceof Plugin ? of : of.find((plugin) => kind !== undefined && isSameKind(plugin.kind, kind));
    if (found === undefined) {
      throw new AssertionError({ message: `no plugin is one of ${kind?.kind ?? "an object without a kind"}` });
    }
    return found;
  }
}

const GROUP_UID = "uid-of-the-group";

function uidOf({ metadata }: KubernetesObject): string {
  return metadata?.uid ?? `uid-of-${metadata?.name ?? ""}`;
}

function namespaceOf({ metadata }: KubernetesObject): string {
  return metadata?.namespace ?? "default";
}

/** The built-in kinds without namespaces. */
const CLUSTER_SCOPED = Object.values(builtin).filter((kind) => kind.clusterScoped);

function isClusterScoped(object: KubernetesObject): boolean {
  const kind = kindOf(object);
  return kind !== undefined && CLUSTER_SCOPED.some((other) => isSameKind(other, kind));
}

function inNamespace(object: KubernetesObject, namespace: string): KubernetesObject {
  return isClusterScoped(object) ? object : { ...object, metadata: { namespace, ...object.metadata } };
}

/** Returns the parent as the API server stores it. */
function complete(parent: KubernetesObject, { kind }: AnyPlugin, now: Date | undefined): DynamicObject {
  const hasNamespace = !(kind.clusterScoped ?? isClusterScoped(parent));
  const metadata = { generation: 1, ...(hasNamespace && { namespace: "default" }), ...parent.metadata };
  const stored = withMetadata(copy({ ...parent, metadata }) as DynamicObject, now);
  const versions = (kind.crd?.spec as { versions?: { schema: { openAPIV3Schema: JsonSchema } }[] } | undefined)?.versions;
  const spec = versions?.[0]?.schema.openAPIV3Schema.properties?.["spec"];
  if (spec === undefined) {
    return stored;
  }
  const withSpec = { ...stored, spec: withDefaults(stored["spec"], spec) };
  const [problem] = problems(withSpec.spec, spec, "spec");
  if (problem !== undefined) {
    throw new AssertionError({ message: `the API server would refuse the parent of the test: ${problem}` });
  }
  return withSpec;
}

function declared(answer: Answer, manifest: Manifest): Answer {
  const undeclared = firstUndeclared(answer.plan(), manifest);
  if (undeclared !== undefined) {
    throw new AssertionError({ message: `the host would refuse the plan: ${undeclared}\n${answer}` });
  }
  return answer;
}
