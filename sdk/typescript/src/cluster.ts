/** The objects that a plugin may read. */

import type { LabelSelector } from "./k8s/meta.ts";
import type { GroupVersionKind, KindOf, Stored } from "./object.ts";
import { gvkOf } from "./object.ts";

/**
 * A label selector: the text that `kubectl get -l` takes, labels that an object must have, or the
 * `LabelSelector` of another object.
 */
export type Selector = string | Readonly<Record<string, string>> | LabelSelector;

/** Where the reads of a call come from: the host, or a test. */
export interface Source {
  children(kind: GroupVersionKind): unknown[];
  get(kind: GroupVersionKind, namespace: string | undefined, name: string): unknown;
  list(kind: GroupVersionKind, namespace: string | undefined, labelSelector: string | undefined): unknown[];
  now(): Date;
}

/** The reads of one namespace, or of the parent's. */
export interface NamespaceReads {
  /**
   * Returns an object of a kind that the plugin `reads`, or `undefined` if it does not exist, or if
   * the name is `undefined`. See {@link Cluster.child} for children.
   */
  get<T extends object>(kind: KindOf<T>, name: string | undefined): Stored<T> | undefined;
  /** Returns the objects that match, by namespace and name; all objects without a selector. */
  list<T extends object>(kind: KindOf<T>, selector?: Selector): Stored<T>[];
}

/**
 * The caches of the host or, in tests, made-up objects. The plugin is called again when a result
 * changes, also that an object does not exist. A read without an answer throws a `ReadError`, which
 * a plugin need not catch.
 */
export class Cluster implements NamespaceReads {
  readonly #source: Source;
  readonly #namespace: string | undefined;

  constructor(source: Source, namespace?: string) {
    this.#source = source;
    this.#namespace = namespace;
  }

  get<T extends object>(kind: KindOf<T>, name: string | undefined): Stored<T> | undefined {
    if (name === undefined) {
      return undefined;
    }
    return (this.#source.get(gvkOf(kind), this.#namespace, name) ?? undefined) as Stored<T> | undefined;
  }

  list<T extends object>(kind: KindOf<T>, selector?: Selector): Stored<T>[] {
    const text = selector === undefined ? undefined : selectorText(selector);
    return this.#source.list(gvkOf(kind), this.#namespace, text) as Stored<T>[];
  }

  /** Returns the children of the parent of this kind, by namespace and name. */
  children<T extends object>(kind: KindOf<T>): Stored<T>[] {
    return this.#source.children(gvkOf(kind)) as Stored<T>[];
  }

  /** Returns the child of the parent of this kind and name, or `undefined` if it does not exist. */
  child<T extends object>(kind: KindOf<T>, name: string): Stored<T> | undefined {
    return this.children(kind).find((child) => child.metadata.name === name);
  }

  /** Returns the reads of another namespace than the parent's. */
  inNamespace(namespace: string): NamespaceReads {
    return new Cluster(this.#source, namespace);
  }

  /**
   * Returns the time of the call, which is constant during the call. The result of a call that
   * reads the clock is never reused, so read it only if it is needed. Time alone does not cause a
   * call: see `Plan.requeueAfter`.
   */
  now(): Date {
    return this.#source.now();
  }
}

/** Returns a selector in the syntax of `kubectl get -l`. */
export function selectorText(selector: Selector): string {
  if (typeof selector === "string") {
    return selector;
  }
  const { matchLabels, matchExpressions } = selector as LabelSelector;
  if (typeof matchLabels !== "object" && !Array.isArray(matchExpressions)) {
    return equalities(selector as Readonly<Record<string, string>>).join(",");
  }
  const expressions = (matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    switch (operator) {
      case "In":
        return `${key} in (${values.join(",")})`;
      case "NotIn":
        return `${key} notin (${values.join(",")})`;
      case "DoesNotExist":
        return `!${key}`;
      default:
        return `${key}`;
    }
  });
  return [...equalities(matchLabels ?? {}), ...expressions].join(",");
}

function equalities(labels: Readonly<Record<string, string>>): string[] {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`);
}
