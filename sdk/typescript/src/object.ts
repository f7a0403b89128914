/** Kinds of objects, and objects of these kinds. */

import type { ObjectMeta } from "./k8s/meta.ts";

/** The name of a kind. The core group is the empty string. */
export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** An object of the cluster. */
export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

/** The metadata of an object that exists. */
export interface StoredMeta extends ObjectMeta {
  name: string;
  uid: string;
  creationTimestamp: string;
}

/** An object that exists: it has a kind, and metadata with a name and a UID. */
export type Stored<T> = T & { apiVersion: string; kind: string; metadata: StoredMeta };

/** An object with a kind and a name. */
export type Named<T> = T & { apiVersion: string; kind: string; metadata: ObjectMeta & { name: string } };

/** The fields from which a {@link Kind} makes an object: all but `apiVersion` and `kind`. */
export type Fields<T> = Omit<T, "apiVersion" | "kind" | "metadata"> & { metadata: ObjectMeta & { name: string } };

/** The name of an object. Without a namespace, it is in that of the parent. */
export interface ObjectRef {
  readonly kind: GroupVersionKind;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/**
 * The way in which the host changes an existing child to the desired one. From weak to strong:
 * `create-only` creates it once and never changes it while it exists; `apply` changes it in place
 * with server-side apply; `recreate` deletes it and creates it again if it differs.
 */
export type Strategy = "create-only" | "apply" | "recreate";

/** What becomes of the objects that a deleted object owns. */
export type Propagation = "background" | "foreground" | "orphan";

/** A kind of which the plugin makes children: a {@link Kind}, or what its methods return. */
export interface ChildKind {
  readonly kind: GroupVersionKind;
  /** The strategy of a child that names none. */
  readonly strategy: Strategy;
  /** The strongest strategy that a child may name. By default, that of the kind. */
  readonly strongestStrategy?: Strategy | undefined;
  /** How children of this kind are deleted. */
  readonly propagation: Propagation;
  /** Whether children of this kind stay when their parent is deleted. */
  readonly outlivesParent: boolean;
}

/** A kind that the plugin reads: a {@link Kind}, or what its methods return. */
export interface ReadKind {
  readonly kind: GroupVersionKind;
  /** The only namespace to read. By default, the parent's and those that the operator grants. */
  readonly namespace?: string | undefined;
  /** A label selector in the syntax of `kubectl get -l`. Other objects are invisible. */
  readonly labelSelector?: string | undefined;
  /** Whether only `apiVersion`, `kind` and `metadata` are read, which saves memory. */
  readonly metadataOnly: boolean;
}

/** A declaration of children, as {@link Kind.strategy} and its like return it. */
export class Children implements ChildKind {
  readonly kind: GroupVersionKind;
  readonly strategy: Strategy;
  readonly strongestStrategy: Strategy | undefined;
  readonly propagation: Propagation;
  readonly outlivesParent: boolean;

  constructor(declared: ChildKind) {
    this.kind = declared.kind;
    this.strategy = declared.strategy;
    this.strongestStrategy = declared.strongestStrategy;
    this.propagation = declared.propagation;
    this.outlivesParent = declared.outlivesParent;
  }

  /** Allows single children to have a stronger strategy than the kind, up to this one. */
  upTo(strongestStrategy: Strategy): Children {
    return new Children({ ...this, strongestStrategy });
  }

  /** Sets the way in which objects that a deleted child owns are deleted. */
  deletes(propagation: Propagation): Children {
    return new Children({ ...this, propagation });
  }

  /** Leaves the children when their parent is deleted, e.g. volumes with data. */
  outliving(): Children {
    return new Children({ ...this, outlivesParent: true });
  }
}

/** A declaration of reads, as {@link Kind.where} and its like return it. */
export class Reads implements ReadKind {
  readonly kind: GroupVersionKind;
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
  readonly metadataOnly: boolean;

  constructor(declared: ReadKind) {
    this.kind = declared.kind;
    this.namespace = declared.namespace;
    this.labelSelector = declared.labelSelector;
    this.metadataOnly = declared.metadataOnly;
  }

  /** Restricts the reads to objects that match, in the syntax of `kubectl get -l`. */
  where(labelSelector: string): Reads {
    return new Reads({ ...this, labelSelector });
  }

  /** Restricts the reads to one namespace. */
  inNamespace(namespace: string): Reads {
    return new Reads({ ...this, namespace });
  }

  /** Restricts the reads to metadata. */
  onlyMetadata(): Reads {
    return new Reads({ ...this, metadataOnly: true });
  }
}

/** A kind of objects of the type `T`, for reads and parents: a {@link Kind}. */
export interface KindOf<T extends object> extends GroupVersionKind {
  readonly apiVersion: string;
  /** Whether its objects are in no namespace. */
  readonly clusterScoped: boolean;
  /** Only for the type checker. */
  readonly objects?: T;
}

/**
 * A kind of objects. As a function, it makes an object of the kind:
 *
 * ```ts
 * const settings = ConfigMap({ metadata: { name: "settings" }, data: { color: "blue" } });
 * ```
 *
 * `children: [Job]` and `reads: [Secret]` of a plugin declare it; its methods say more:
 * `children: [Job.strategy("recreate")]`, `reads: [Secret.where("app=backup")]`.
 */
export interface Kind<T extends object, Input extends object = T> extends KindOf<T> {
  (fields: Fields<Input>): Named<T>;
  /** Returns the name of an object of this kind. */
  named(name: string, namespace?: string): ObjectRef;
  /** Declares children of this kind that are changed in this way. */
  strategy(strategy: Strategy): Children;
  /** See {@link Children.outliving}. */
  outliving(): Children;
  /** See {@link Children.deletes}. */
  deletes(propagation: Propagation): Children;
  /** See {@link Reads.where}. */
  where(labelSelector: string): Reads;
  /** See {@link Reads.inNamespace}. */
  inNamespace(namespace: string): Reads;
  /** See {@link Reads.onlyMetadata}. */
  onlyMetadata(): Reads;
}

/** An object of a kind without a type of its own. */
export interface DynamicObject extends KubernetesObject {
  [field: string]: any;
}

/** What a kind has besides its name. */
export interface KindOptions {
  /** Whether its objects are in no namespace. */
  readonly clusterScoped?: boolean;
}

/**
 * Returns a kind by its `apiVersion`, with the type of its objects:
 * `kind<Certificate>("cert-manager.io/v1", "Certificate")`.
 */
export function kind<T extends object = DynamicObject, Input extends object = T>(
  apiVersion: string,
  name: string,
  options: KindOptions = {},
): Kind<T, Input> {
  const slash = apiVersion.indexOf("/");
  const gvk: GroupVersionKind = {
    group: apiVersion.slice(0, Math.max(slash, 0)),
    version: apiVersion.slice(slash + 1),
    kind: name,
  };
  const make = (fields: Fields<Input>) => ({ apiVersion, kind: name, ...fields }) as unknown as Named<T>;
  return Object.assign(make, {
    ...gvk,
    apiVersion,
    clusterScoped: options.clusterScoped ?? false,
    named: (name: string, namespace?: string): ObjectRef => ({ kind: gvk, namespace, name }),
    strategy: (strategy: Strategy) => new Children({ ...childKind(gvk), strategy }),
    outliving: () => new Children(childKind(gvk)).outliving(),
    deletes: (propagation: Propagation) => new Children(childKind(gvk)).deletes(propagation),
    where: (labelSelector: string) => new Reads(readKind(gvk)).where(labelSelector),
    inNamespace: (namespace: string) => new Reads(readKind(gvk)).inNamespace(namespace),
    onlyMetadata: () => new Reads(readKind(gvk)).onlyMetadata(),
  });
}

/** Returns the declaration of children of a kind that are changed in place. */
export function childKind(of: GroupVersionKind): ChildKind {
  return { kind: gvkOf(of), strategy: "apply", propagation: "background", outlivesParent: false };
}

/** Returns the declaration of reads of all objects of a kind that are granted. */
export function readKind(of: GroupVersionKind): ReadKind {
  return { kind: gvkOf(of), metadataOnly: false };
}

/** Returns only the name of a kind. */
export function gvkOf({ group, version, kind }: GroupVersionKind): GroupVersionKind {
  return { group, version, kind };
}

/** Returns the kind of an object, or `undefined` if it has none. */
export function kindOf(object: KubernetesObject): GroupVersionKind | undefined {
  const { apiVersion, kind } = object;
  if (!apiVersion || !kind) {
    return undefined;
  }
  const slash = apiVersion.indexOf("/");
  return { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1), kind };
}

/** Returns whether two kinds are the same. */
export function isSameKind(one: GroupVersionKind, other: GroupVersionKind): boolean {
  return one.group === other.group && one.version === other.version && one.kind === other.kind;
}

/** Returns the `apiVersion` of objects of a kind. */
export function apiVersionOf({ group, version }: GroupVersionKind): string {
  return group === "" ? version : `${group}/${version}`;
}
