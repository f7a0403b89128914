/** The result of a plugin. */

import type { Condition, ConditionStatus } from "./condition.ts";
import type { GroupVersionKind, KubernetesObject, ObjectRef, Propagation, Strategy } from "./object.ts";
import { gvkOf } from "./object.ts";

/** A child that should exist, with these fields. Other fields belong to other managers. */
export interface Desired {
  readonly object: KubernetesObject;
  /** The strategy of this child. By default, that of its kind. */
  readonly strategy?: Strategy | undefined;
}

/** What is wanted of one child: it should exist, or it stays if it exists. */
export type Child = { readonly apply: Desired } | { readonly keep: ObjectRef };

/** The type of an event. */
export type Severity = "normal" | "warning";

/** An Event about the parent. Return it whenever it applies; the host does not repeat it. */
export interface Event {
  readonly severity: Severity;
  /** One word in CamelCase, for programs. */
  readonly reason: string;
  /** A sentence for people. */
  readonly message: string;
}

/** The deletion of the parent. */
export interface ParentDeletion {
  /**
   * The milliseconds after which it is due. Until then, the plugin is called again and decides
   * again.
   */
  readonly after: number;
  readonly propagation: Propagation;
}

/** A part of an object, in any depth. */
export type Part = { readonly [field: string]: unknown };

interface Content {
  /** All children that should exist; `undefined` leaves them as they are. */
  readonly children: readonly Child[] | undefined;
  readonly status: unknown;
  readonly conditions: readonly Condition[];
  readonly events: readonly Event[];
  readonly requeue: number | undefined;
  readonly parent: Part | undefined;
  readonly deletion: ParentDeletion | undefined;
  readonly members: readonly Member[];
  readonly releases: boolean;
  readonly mistake: string | undefined;
}

const NOTHING: Content = {
  children: undefined,
  status: undefined,
  conditions: [],
  events: [],
  requeue: undefined,
  parent: undefined,
  deletion: undefined,
  members: [],
  releases: false,
  mistake: undefined,
};

const LEAVES_CHILDREN =
  "a child was added to a plan that leaves the children as they are (wait or keepChildren): begin with children or " +
  "noChildren, and list all children that should exist";

/**
 * The children and the status that should exist. {@link children}, {@link noChildren}, {@link
 * wait}, {@link keepChildren} and {@link finalized} begin one; its methods return a changed copy.
 */
export class Plan<Status = never> {
  /** What the plan says, for the host and for tests. */
  readonly content: Content;
  /** Only for the type checker. */
  declare readonly ofStatus: Status;

  constructor(content: Content) {
    this.content = content;
  }

  private with(change: Partial<Content>): Plan<Status> {
    return new Plan<Status>({ ...this.content, ...change });
  }

  /** Adds a child that should exist with these fields. */
  apply(object: KubernetesObject, options: { readonly strategy?: Strategy } = {}): Plan<Status> {
    return this.list({ apply: { object, strategy: options.strategy } });
  }

  /**
   * Adds a child that stays if it exists, e.g. a finished Job; it is not created if it does not.
   */
  keepChild(child: ObjectRef): Plan<Status> {
    return this.list({ keep: child });
  }

  private list(child: Child): Plan<Status> {
    const { children } = this.content;
    return children === undefined ? this.with({ mistake: LEAVES_CHILDREN }) : this.with({ children: [...children, child] });
  }

  /** Sets the plugin's whole status. The host adds the conditions and `observedGeneration`. */
  status<T extends object>(status: T): Plan<T> {
    return new Plan<T>({ ...this.content, status });
  }

  /**
   * Sets the condition `Ready` to `True`, and adds a `Normal` event with the reason and message.
   */
  ready(reason: string, message: string): Plan<Status> {
    return this.report("Ready", "True", reason, message);
  }

  /**
   * Sets the condition `Ready` to `False`, and adds a `Warning` event with the reason and message.
   */
  notReady(reason: string, message: string, options: { readonly severity?: Severity } = {}): Plan<Status> {
    return this.report("Ready", "False", reason, message, options);
  }

  /**
   * Sets a condition, and adds an event that is `Normal` if the status is `True`, else a `Warning`.
   */
  report(
    type: string,
    status: ConditionStatus | boolean,
    reason: string,
    message: string,
    options: { readonly severity?: Severity } = {},
  ): Plan<Status> {
    const severity = options.severity ?? (statusOf(status) === "True" ? "normal" : "warning");
    return this.condition(type, status, reason, message).event(reason, message, { severity });
  }

  /** Sets a condition. Conditions of other types stay as they are. */
  condition(type: string, status: ConditionStatus | boolean, reason: string, message: string): Plan<Status> {
    const condition: Condition = { type, status: statusOf(status), reason, message };
    return this.with({ conditions: [...this.content.conditions, condition] });
  }

  /** Adds an event, which is `Normal` unless its severity says otherwise. */
  event(reason: string, message: string, options: { readonly severity?: Severity } = {}): Plan<Status> {
    const event: Event = { severity: options.severity ?? "normal", reason, message };
    return this.with({ events: [...this.content.events, event] });
  }

  /**
   * Asks for another call after this time, even if nothing changes:
   * `plan.requeueAfter(minutes(5))`.
   */
  requeueAfter(duration: number): Plan<Status> {
    return this.with({ requeue: duration });
  }

  /** Sets a label of the parent. See {@link parentFields}. */
  parentLabel(key: string, value: string): Plan<Status> {
    return this.parentFields({ metadata: { labels: { [key]: value } } });
  }

  /** Sets an annotation of the parent. See {@link parentFields}. */
  parentAnnotation(key: string, value: string): Plan<Status> {
    return this.parentFields({ metadata: { annotations: { [key]: value } } });
  }

  /**
   * Sets fields of the parent, beside those that are set already. The plugin must declare them
   * (`parentFields`), and the operator must grant them. The host never overwrites fields of others.
   * Fields that a later plan does not set are withdrawn.
   */
  parentFields(fields: Part): Plan<Status> {
    return this.with({ parent: merged(this.content.parent ?? {}, fields) });
  }

  /**
   * Deletes the parent, once everything else in this plan is done: now, or after a time. Until
   * then, the plugin is called again, and decides again. The plugin must declare it
   * (`deletesParent`).
   */
  deleteParent(options: { readonly after?: number; readonly propagation?: Propagation } = {}): Plan<Status> {
    const { after = 0, propagation = "background" } = options;
    return this.with({ deletion: { after: Math.max(after, 0), propagation } });
  }

  /** Sets the status of a member of the group. Members without one stay as they are. */
  member(member: Member): Plan<Status> {
    return this.with({ members: [...this.content.members, member] });
  }

  /** Sets the statuses of members of the group. */
  withMembers(members: readonly Member[]): Plan<Status> {
    return this.with({ members: [...this.content.members, ...members] });
  }

  /**
   * Lets a parent go that is being deleted, once the children are gone that this plan deletes. For
   * `finalize` only.
   */
  releaseParent(): Plan<Status> {
    return this.with({ releases: true });
  }
}

/** The status of one member of a group: `memberOf(tenant).status({ address })`. */
export class Member {
  readonly namespace: string | undefined;
  readonly name: string;
  /** The whole status of the plugin; `undefined` leaves it as it is. */
  readonly ownStatus: unknown;
  readonly conditions: readonly Condition[];

  constructor(namespace: string | undefined, name: string, ownStatus: unknown, conditions: readonly Condition[]) {
    this.namespace = namespace;
    this.name = name;
    this.ownStatus = ownStatus;
    this.conditions = conditions;
  }

  /** Sets the plugin's whole status. */
  status(status: object): Member {
    return new Member(this.namespace, this.name, status, this.conditions);
  }

  /** Sets a condition. */
  condition(type: string, status: ConditionStatus | boolean, reason: string, message: string): Member {
    const condition: Condition = { type, status: statusOf(status), reason, message };
    return new Member(this.namespace, this.name, this.ownStatus, [...this.conditions, condition]);
  }

  /** Sets the condition `Ready` to `True`. */
  ready(reason: string, message: string): Member {
    return this.condition("Ready", true, reason, message);
  }

  /** Sets the condition `Ready` to `False`. */
  notReady(reason: string, message: string): Member {
    return this.condition("Ready", false, reason, message);
  }
}

/** Returns what leaves the status of this member of a group as it is. */
export function memberOf(object: KubernetesObject): Member {
  return new Member(object.metadata?.namespace, object.metadata?.name ?? "", undefined, []);
}

/**
 * Returns a plan in which these are **all** children that should exist: others are deleted. Return
 * {@link wait} or {@link keepChildren} where they are not known yet.
 */
export function children(...objects: readonly KubernetesObject[]): Plan {
  return new Plan({ ...NOTHING, children: objects.map((object) => ({ apply: { object } })) });
}

/** Returns a plan without children: **all are deleted**. */
export function noChildren(): Plan {
  return new Plan({ ...NOTHING, children: [] });
}

/** Returns a plan that leaves the children and the status as they are. */
export function keepChildren(): Plan {
  return new Plan(NOTHING);
}

/**
 * Returns a plan for a parent that waits, e.g. for an object that is missing: the children and the
 * status stay as they are, and `Ready` is `False` with this reason. The plugin is called again when
 * something changes that it has read.
 */
export function wait(reason: string, message: string): Plan {
  return keepChildren().notReady(reason, message, { severity: "normal" });
}

/** Returns the last plan of `finalize`: all children are deleted, and then the parent goes. */
export function finalized(): Plan {
  return noChildren().releaseParent();
}

/** Returns the name of an object of a kind, for {@link Plan.keepChild}. */
export function ref(kind: GroupVersionKind, name: string, namespace?: string): ObjectRef {
  return { kind: gvkOf(kind), namespace, name };
}

function statusOf(status: ConditionStatus | boolean): ConditionStatus {
  if (typeof status === "boolean") {
    return status ? "True" : "False";
  }
  return status;
}

function isPart(value: unknown): value is Part {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function merged(into: Part, from: Part): Part {
  const all: Record<string, unknown> = { ...into };
  for (const [name, value] of Object.entries(from)) {
    const present = all[name];
    all[name] = isPart(present) && isPart(value) ? merged(present, value) : value;
  }
  return all;
}
