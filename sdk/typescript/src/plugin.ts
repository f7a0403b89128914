/** The definition of a plugin. */

import type { Cluster } from "./cluster.ts";
import type { KubernetesObject, Stored } from "./object.ts";
import type { ChildKind, GroupVersionKind, KindOf, ReadKind } from "./object.ts";
import { Children, childKind, gvkOf, Reads, readKind } from "./object.ts";
import type { Plan } from "./plan.ts";
import type { CustomObject, CustomResourceDefinition } from "./resource.ts";
import { type JsonSchema, problems, type Schema, withDefaults } from "./schema.ts";

/** What a function of a plugin is given. */
export interface Call<Parent, Settings> {
  readonly parent: Parent;
  /** The settings of the mount, with their defaults. */
  readonly config: Settings;
  readonly cluster: Cluster;
}

/**
 * The parents of one call, if the plugin groups them: what it returns exists because of all of
 * them.
 */
export interface Group<Parent> {
  /** The parents, by namespace and name, also those that are being deleted. */
  readonly members: readonly Parent[];
  /**
   * The value of the field that the members have in common; `undefined` if all parents are one
   * group.
   */
  readonly value?: string | undefined;
  /** The status that `Plan.status` has written for the group. */
  readonly status?: unknown;
}

/** Fields that all plugins have. */
interface Common<Settings> {
  /** A DNS label. By default, the name in `package.json`. */
  readonly name?: string;
  /** The version, for people. By default, that in `package.json`. */
  readonly version?: string;
  /** One sentence for people. By default, the description in `package.json`. */
  readonly description?: string;
  /** The kinds of children: `[CronJob, Job.strategy("recreate")]`. */
  readonly children?: readonly (GroupVersionKind | ChildKind)[];
  /** The other kinds that are read: `[Secret.where("app=backup")]`. */
  readonly reads?: readonly (GroupVersionKind | ReadKind)[];
  /** The fields of parents that the plugin may set, as JSON Pointers: `Plan.parentFields`. */
  readonly parentFields?: readonly string[];
  /** Whether the plugin may delete parents: `Plan.deleteParent`. */
  readonly deletesParent?: boolean;
  /** The schema of the settings. Without it, the plugin takes none. */
  readonly settings?: Schema<Settings, any, any>;
  /** Returns what is wrong with settings beyond what the schema can say, or `undefined`. */
  readonly validate?: (config: Settings) => string | undefined;
  /** CustomResourceDefinitions beside that of the kind. */
  readonly crds?: readonly object[];
}

/** A plugin with functions for one parent. */
export interface Definition<Parent, Status, Settings> extends Common<Settings> {
  /** Returns what should exist. */
  readonly reconcile: (call: Call<Parent, Settings>) => Plan<Status>;
  /** Returns what should still exist while the parent is deleted, and `finalized()` at the end. */
  readonly finalize?: (call: Call<Parent, Settings>) => Plan<Status>;
}

/** A plugin with a function for several parents. It has no `finalize`. */
export interface GroupDefinition<Parent, Settings> extends Common<Settings> {
  /** Returns what should exist because of all of them. */
  readonly reconcile: (call: Call<Group<Parent>, Settings>) => Plan<any>;
}

/** How a plugin groups its parents. */
export type Grouping = { readonly by: "each" } | { readonly by: "all" } | { readonly by: "field"; readonly pointer: string };

/** What a plugin declares. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly parent: GroupVersionKind;
  readonly grouping: Grouping;
  readonly children: readonly ChildKind[];
  readonly reads: readonly ReadKind[];
  readonly parentFields: readonly string[];
  readonly deletesParent: boolean;
  readonly finalizes: boolean;
  readonly settingsSchema: object | undefined;
  readonly crds: readonly object[];
}

/** The parts of `package.json` that a manifest takes. */
export interface Package {
  readonly name?: string;
  readonly version?: string;
  readonly description?: string;
}

/** A reconciler. A module exports one by default, or an array of several. */
export class Plugin<Parent, Settings> {
  /** The kind of the parents. */
  readonly kind: GroupVersionKind & { readonly crd?: CustomResourceDefinition; readonly clusterScoped?: boolean };
  readonly definition: Definition<Parent, any, Settings>;
  readonly grouping: Grouping;
  /** The stack of its definition, which has the place of the plugin. */
  readonly stack: string;

  constructor(kind: GroupVersionKind, definition: Definition<Parent, any, Settings>, grouping: Grouping) {
    this.kind = kind;
    this.definition = definition;
    this.grouping = grouping;
    this.stack = new Error().stack ?? "";
  }

  /** Returns the manifest. */
  manifest(of: Package = {}): Manifest {
    const { definition, kind } = this;
    const crds = [...(kind.crd === undefined ? [] : [kind.crd]), ...(definition.crds ?? [])];
    return {
      name: definition.name ?? of.name?.replace(/^@[^/]*\//, "") ?? kind.kind.toLowerCase(),
      version: definition.version ?? of.version ?? "0.0.0",
      description: definition.description ?? of.description ?? "",
      parent: gvkOf(kind),
      grouping: this.grouping,
      children: (definition.children ?? []).map((child) => (child instanceof Children ? child : asChildKind(child))),
      reads: (definition.reads ?? []).map((read) => (read instanceof Reads ? read : asReadKind(read))),
      parentFields: definition.parentFields ?? [],
      deletesParent: definition.deletesParent ?? false,
      finalizes: definition.finalize !== undefined,
      settingsSchema: definition.settings && closed(definition.settings.json),
      crds,
    };
  }

  /** Returns the settings with their defaults, or a sentence about what is wrong with them. */
  settings(given: unknown): { readonly config: Settings } | { readonly problem: string } {
    const { settings, validate } = this.definition;
    const config = (settings === undefined ? given : withDefaults(given, settings.json)) as Settings;
    const wrong = settings === undefined ? [] : problems(config, settings.json, "settings");
    const problem = wrong.length > 0 ? wrong.join("; ") : validate?.(config);
    return problem === undefined ? { config } : { problem };
  }
}

function asChildKind(declared: GroupVersionKind | ChildKind): ChildKind {
  return typeof declared.kind === "string" ? childKind(declared as GroupVersionKind) : (declared as ChildKind);
}

function asReadKind(declared: GroupVersionKind | ReadKind): ReadKind {
  return typeof declared.kind === "string" ? readKind(declared as GroupVersionKind) : (declared as ReadKind);
}

/** Returns the schema of settings, in which unknown fields are refused. */
function closed(json: JsonSchema): JsonSchema {
  const copy: JsonSchema = { ...json };
  if (json.properties !== undefined) {
    copy.properties = Object.fromEntries(Object.entries(json.properties).map(([name, field]) => [name, closed(field)]));
    copy.additionalProperties = json["x-kubernetes-preserve-unknown-fields"] ?? false;
  }
  if (json.items !== undefined) {
    copy.items = closed(json.items);
  }
  if (json["x-kubernetes-int-or-string"]) {
    copy.anyOf = [{ type: "integer" }, { type: "string" }];
  }
  for (const keyword of Object.keys(copy).filter((keyword) => keyword.startsWith("x-kubernetes-"))) {
    delete copy[keyword as keyof JsonSchema];
  }
  return copy;
}

/** The status in the type of an object. */
type StatusOf<T> = T extends CustomObject<any, infer Status> ? Status : unknown;

/**
 * Defines a plugin. The types of the parent and the settings follow from `kind` and `settings`:
 *
 * ```ts
 * export default plugin({
 *   kind: Backup,
 *   children: [CronJob],
 *   reads: [Secret.where("app=backup")],
 *   reconcile({ parent, cluster }) {
 *     const secret = cluster.get(Secret, parent.spec.secret);
 *     if (!secret) return wait("SecretMissing", `waiting for Secret ${parent.spec.secret}`);
 *     return children(cronJob(parent, secret)).ready("Scheduled", "the next backup is planned");
 *   },
 * });
 * ```
 *
 * Where the kind has no type, they are named: `plugin<Spec, Status, Settings>({ kind: { group,
 * version, kind }, … })`.
 */
export function plugin<T extends object, Settings = Record<string, never>>(
  definition: { readonly kind: KindOf<T> } & Definition<Stored<T>, StatusOf<T>, Settings>,
): Plugin<Stored<T>, Settings>;
export function plugin<Spec, Status, Settings>(
  definition: { readonly kind: GroupVersionKind } & Definition<Stored<CustomObject<Spec, Status>>, Status, Settings>,
): Plugin<Stored<CustomObject<Spec, Status>>, Settings>;
export function plugin(definition: { readonly kind: GroupVersionKind } & Definition<any, any, any>): Plugin<any, any> {
  return new Plugin(definition.kind, definition, { by: "each" });
}

/**
 * Defines a plugin that is called about several parents at once: about all of them, or about those
 * with the same value in a field, a JSON Pointer such as `/spec/pool`:
 *
 * ```ts
 * export default groupPlugin({
 *   kind: Tenant,
 *   groupBy: "/spec/pool",
 *   reconcile({ parent }) {
 *     const members = parent.members.map((tenant) => memberOf(tenant).ready("Listed", "it is listed"));
 *     return noChildren().withMembers(members);
 *   },
 * });
 * ```
 */
export function groupPlugin<T extends object, Settings = Record<string, never>>(
  definition: { readonly kind: KindOf<T>; readonly groupBy?: string } & GroupDefinition<Stored<T>, Settings>,
): Plugin<Group<Stored<T>>, Settings> {
  const { groupBy } = definition;
  return new Plugin(definition.kind, definition, groupBy === undefined ? { by: "all" } : { by: "field", pointer: groupBy });
}

/** The parent of a call as the host sends it. */
export interface SentParent extends KubernetesObject {
  readonly spec?: { readonly value?: string };
  readonly status?: unknown;
}

/** Returns the parent that a plugin is given: the object, or the group of its members. */
export function givenParent(grouping: Grouping, parent: SentParent, members: readonly unknown[]): unknown {
  if (grouping.by === "each") {
    return parent;
  }
  const group: Group<unknown> = { members, value: parent.spec?.value, status: parent.status };
  return group;
}
