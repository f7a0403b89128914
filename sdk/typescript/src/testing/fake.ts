/** The objects from which a plugin reads in a unit test, by the rules of the contract. */

import { secretData } from "../data.ts";
import type { Source } from "../cluster.ts";
import { ReadError } from "../failure.ts";
import type { DynamicObject, GroupVersionKind, KubernetesObject } from "../object.ts";
import { apiVersionOf, isSameKind, kindOf } from "../object.ts";
import type { Manifest } from "../plugin.ts";
import { formatTime } from "../time.ts";
import { selectorMatcher } from "./selector.ts";

/** The label that names the owner of children in other namespaces. */
const OWNER_UID_LABEL = "gyre.dev/owner-uid";

/** A made-up cluster. */
export interface FakeCluster {
  readonly objects: readonly KubernetesObject[];
  readonly notServed: readonly GroupVersionKind[];
  readonly notGranted: readonly GroupVersionKind[];
  readonly now: Date | undefined;
}

/** The reads of a call in a test. */
export class FakeReads implements Source {
  readonly #cluster: FakeCluster;
  readonly #manifest: Manifest;
  readonly #namespace: string | undefined;
  readonly #uid: string | undefined;
  readonly #objects: readonly DynamicObject[];

  constructor(cluster: FakeCluster, manifest: Manifest, parent: KubernetesObject) {
    this.#cluster = cluster;
    this.#manifest = manifest;
    this.#namespace = parent.metadata?.namespace;
    this.#uid = parent.metadata?.uid;
    const objects = cluster.objects.map((object) => stored(object, cluster.now));
    this.#objects = objects.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  }

  /** Returns the children of the parent, of all kinds. */
  allChildren(): DynamicObject[] {
    return this.#objects.filter((object) => this.#owns(object));
  }

  children(kind: GroupVersionKind): unknown[] {
    if (!this.#manifest.children.some((child) => isSameKind(child.kind, kind))) {
      throw new ReadError("not-declared", kind);
    }
    this.#check(kind);
    return copy(this.allChildren().filter((object) => isOfKind(object, kind)));
  }

  get(kind: GroupVersionKind, given: string | undefined, name: string): unknown {
    const declared = this.#declared(kind);
    const namespace = given ?? this.#namespace;
    if (declared.namespace !== undefined && declared.namespace !== namespace) {
      throw new ReadError("not-granted", kind);
    }
    // The namespace does not matter for a cluster-scoped object.
    const isMeant = ({ metadata }: DynamicObject) =>
      metadata?.name === name && (metadata.namespace === undefined || metadata.namespace === namespace);
    const found = this.#visible(kind).find(isMeant);
    return found && copy(found);
  }

  list(kind: GroupVersionKind, namespace: string | undefined, selector: string | undefined): unknown[] {
    const declared = this.#declared(kind);
    if (namespace !== undefined && declared.namespace !== undefined && declared.namespace !== namespace) {
      throw new ReadError("not-granted", kind);
    }
    const isMeant = matcher(kind, selector);
    const visible = this.#visible(kind).filter((object) => namespace === undefined || object.metadata?.namespace === namespace);
    return copy(visible.filter(isMeant));
  }

  now(): Date {
    if (this.#cluster.now === undefined) {
      throw new Error('the plugin read the clock, and the test did not set it: add `.at("2026-01-01T00:00:00Z")`');
    }
    return new Date(this.#cluster.now);
  }

  #declared(kind: GroupVersionKind) {
    const declared = this.#manifest.reads.find((read) => isSameKind(read.kind, kind));
    if (declared === undefined) {
      throw new ReadError("not-declared", kind);
    }
    this.#check(kind);
    return declared;
  }

  #check(kind: GroupVersionKind): void {
    if (this.#cluster.notGranted.some((other) => isSameKind(other, kind))) {
      throw new ReadError("not-granted", kind);
    }
    if (this.#cluster.notServed.some((other) => isSameKind(other, kind))) {
      throw new ReadError("not-served", kind);
    }
  }

  #visible(kind: GroupVersionKind): DynamicObject[] {
    const { namespace, labelSelector, metadataOnly } = this.#declared(kind);
    const isMeant = matcher(kind, labelSelector);
    const isInNamespace = ({ metadata }: DynamicObject) =>
      namespace === undefined || metadata?.namespace === undefined || metadata.namespace === namespace;
    const visible = this.#objects.filter((object) => isOfKind(object, kind) && isInNamespace(object) && isMeant(object));
    return metadataOnly ? visible.map(({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata }) as DynamicObject) : visible;
  }

  /** Decides by the controller or, without one, by the label for children in other namespaces. */
  #owns({ metadata }: DynamicObject): boolean {
    if (this.#uid === undefined) {
      return false;
    }
    const controller = metadata?.ownerReferences?.find((owner) => owner.controller);
    return (controller === undefined ? metadata?.labels?.[OWNER_UID_LABEL] : controller.uid) === this.#uid;
  }
}

function matcher(kind: GroupVersionKind, selector: string | undefined): (object: DynamicObject) => boolean {
  try {
    const matches = selectorMatcher(selector);
    return ({ metadata }) => matches(metadata?.labels ?? {});
  } catch (error) {
    throw new ReadError("invalid-selector", kind, error instanceof Error ? error.message : "");
  }
}

function isOfKind(object: KubernetesObject, kind: GroupVersionKind): boolean {
  return object.apiVersion === apiVersionOf(kind) && object.kind === kind.kind;
}

function keyOf({ metadata }: DynamicObject): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}

/** Returns an object as the API server stores it. */
function stored(object: KubernetesObject, now: Date | undefined): DynamicObject {
  if (kindOf(object) === undefined) {
    throw new Error(`an object of the test has no apiVersion and kind: ${JSON.stringify(object)}`);
  }
  const kept = copy(object) as DynamicObject;
  const { stringData, ...others } = kept;
  const isSecret = kept.apiVersion === "v1" && kept.kind === "Secret" && stringData !== undefined;
  const complete = isSecret ? { ...others, data: { ...others["data"], ...secretData(stringData) } } : kept;
  return withMetadata(complete, now);
}

/** Returns an object with the metadata that every stored object has. */
export function withMetadata(object: DynamicObject, now: Date | undefined): DynamicObject {
  const name = object.metadata?.name ?? "";
  const metadata = {
    uid: `uid-of-${name}`,
    ...(now !== undefined && { creationTimestamp: formatTime(now) }),
    ...object.metadata,
  };
  return { ...object, metadata };
}

/** Returns JSON without what the plugin or the test has in common with it. */
export function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
