/** The answer of a plugin in a unit test, and assertions about it. */

import { AssertionError } from "node:assert";
import type { Condition, ConditionStatus } from "../condition.ts";
import type { Failure } from "../failure.ts";
import type { LogLine } from "../log.ts";
import type { DynamicObject, GroupVersionKind, Kind, KubernetesObject, Named, Strategy } from "../object.ts";
import { apiVersionOf, isSameKind } from "../object.ts";
import type { Child, Desired, Member, Plan } from "../plan.ts";

/** The answer of a plugin. An assertion that fails prints the whole of it. */
export class Answer {
  /** The lines that the plugin wrote to its log. */
  readonly log: readonly LogLine[];
  readonly #answer: Plan<unknown> | Failure;
  readonly #existing: readonly KubernetesObject[];

  constructor(answer: Plan<unknown> | Failure, existing: readonly KubernetesObject[], log: readonly LogLine[]) {
    this.#answer = answer;
    this.#existing = existing;
    this.log = log;
  }

  /** Returns the plan. Fails if the plugin failed. */
  plan(): Plan<unknown> {
    return "content" in this.#answer ? this.#answer : this.#fail("the plugin failed");
  }

  /** Returns the failure. Fails if the plugin did not fail. */
  failure(): Failure {
    return "content" in this.#answer ? this.#fail("the plugin did not fail") : this.#answer;
  }

  /** Returns the applied child of this kind and name. */
  applies<T extends object, Input extends object>(kind: Kind<T, Input>, name: string): Named<Input> {
    return this.#applied(kind, name).object as unknown as Named<Input>;
  }

  /** Asserts that the applied child of this kind and name has a strategy of its own. */
  appliesWith(kind: GroupVersionKind, name: string, strategy: Strategy): this {
    const { strategy: own } = this.#applied(kind, name);
    return this.#check(own === strategy, `${kind.kind} ${name} is not applied with ${strategy}`);
  }

  #applied(kind: GroupVersionKind, name: string): Desired {
    const found = this.#children().find((child) => "apply" in child && isOf(child.apply.object, kind, name));
    return found !== undefined && "apply" in found ? found.apply : this.#fail(`${kind.kind} ${name} is not applied`);
  }

  /** Asserts that this child is kept. */
  keeps(kind: GroupVersionKind, name: string): this {
    return this.#check(this.#isKept(kind, name), `${kind.kind} ${name} is not kept`);
  }

  /**
   * Asserts that the host deletes this child: it exists, and the plan lists the children without
   * it.
   */
  deletes(kind: GroupVersionKind, name: string): this {
    const named = `${kind.kind} ${name}`;
    const exists = this.#existing.some((object) => isOf(object, kind, name));
    this.#check(exists, `the parent has no child ${named}: add it by \`withChild\``);
    this.#check(this.plan().content.children !== undefined, `the children stay as they are, and so does ${named}`);
    const isApplied = this.#children().some((child) => "apply" in child && isOf(child.apply.object, kind, name));
    return this.#check(!isApplied && !this.#isKept(kind, name), `${named} is not deleted`);
  }

  /** Asserts that no child of this kind is applied or kept. */
  hasNo(kind: GroupVersionKind): this {
    const has = this.#children().some((child) => ("keep" in child ? isSameKind(child.keep.kind, kind) : isOf(child.apply.object, kind)));
    return this.#check(!has, `there is a ${kind.kind}`);
  }

  /** Asserts that the children stay as they are, and `Ready` is `False` with this reason. */
  waits(reason: string): this {
    this.#check(this.plan().content.children === undefined, "the children do not stay as they are");
    return this.isNotReady(reason);
  }

  /** Asserts that `Ready` is `True` with this reason. */
  isReady(reason: string): this {
    return this.hasCondition("Ready", "True", reason);
  }

  /** Asserts that `Ready` is `False` with this reason. */
  isNotReady(reason: string): this {
    return this.hasCondition("Ready", "False", reason);
  }

  /** Asserts that this condition has this status and reason. */
  hasCondition(type: string, status: ConditionStatus, reason: string): this {
    const condition = this.condition(type);
    const isAsExpected = condition.status === status && condition.reason === reason;
    return this.#check(isAsExpected, `${type} is not ${status} with ${reason}`);
  }

  /** Returns the condition of this type. */
  condition(type: string): Condition {
    const found = this.plan().content.conditions.find((condition) => condition.type === type);
    return found ?? this.#fail(`there is no condition ${type}`);
  }

  /** Asserts that there is an event with this reason. */
  hasEvent(reason: string): this {
    const has = this.plan().content.events.some((event) => event.reason === reason);
    return this.#check(has, `there is no event ${reason}`);
  }

  /**
   * Returns the status that the plugin sets, without the conditions; `undefined` if it leaves it as
   * it is.
   */
  status(): DynamicObject | undefined {
    return this.plan().content.status as DynamicObject | undefined;
  }

  /** Returns a field of the parent that the plan sets, by its JSON Pointer. */
  sets(pointer: string): unknown {
    const names = pointer.split("/").slice(1).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
    const field = names.reduce<unknown>((value, name) => (value as DynamicObject | undefined)?.[name], this.plan().content.parent);
    return field ?? this.#fail(`${pointer} of the parent is not set`);
  }

  /** Asserts that the parent is deleted, now or after this time in milliseconds. */
  deletesParent(after = 0): this {
    const { deletion } = this.plan().content;
    return this.#check(deletion?.after === after, `the parent is not deleted ${after === 0 ? "now" : `after ${after} ms`}`);
  }

  /** Asserts that the parent is not deleted, neither now nor later. */
  keepsParent(): this {
    return this.#check(this.plan().content.deletion === undefined, "the parent is deleted");
  }

  /** Asserts that the plugin is called again after this time in milliseconds. */
  requeuesAfter(duration: number): this {
    return this.#check(this.plan().content.requeue === duration, `it is not called again after ${duration} ms`);
  }

  /** Returns what the plan says of the member of a group with this name. */
  member(name: string): Member {
    const found = this.plan().content.members.find((member) => member.name === name);
    return found ?? this.#fail(`the plan says nothing of the member ${name}`);
  }

  /** Asserts that the plan lets the parent go, which is being deleted. */
  isFinalized(): this {
    return this.#check(this.plan().content.releases, "the parent does not go");
  }

  #children(): readonly Child[] {
    return this.plan().content.children ?? [];
  }

  #isKept(kind: GroupVersionKind, name: string): boolean {
    return this.#children().some((child) => "keep" in child && isSameKind(child.keep.kind, kind) && child.keep.name === name);
  }

  #check(holds: boolean, problem: string): this {
    return holds ? this : this.#fail(problem);
  }

  #fail(problem: string): never {
    throw new AssertionError({ message: `${problem}\n${this}`, stackStartFn: this.#fail });
  }

  /** Returns the answer for people. */
  toString(): string {
    if (!("content" in this.#answer)) {
      const { message, retry } = this.#answer;
      return `answer: failure (${retry.when}): ${message}\n`;
    }
    const { children, status, conditions, events, requeue, parent, deletion, members, releases } = this.#answer.content;
    const lines = ["answer:", ...childLines(children)];
    if (status !== undefined) lines.push(`status ${JSON.stringify(status)}`);
    lines.push(...conditions.map(({ type, status, reason, message }) => `condition ${type} ${status} ${reason}: ${message}`));
    lines.push(...events.map(({ severity, reason, message }) => `event ${severity} ${reason}: ${message}`));
    if (requeue !== undefined) lines.push(`called again after ${requeue} ms`);
    if (parent !== undefined) lines.push(`fields of the parent ${JSON.stringify(parent)}`);
    if (deletion !== undefined) lines.push(`deletes the parent after ${deletion.after} ms`);
    lines.push(...members.map((member) => `member ${member.name} ${JSON.stringify(member.ownStatus ?? null)}`));
    if (releases) lines.push("lets the parent go");
    return `${lines.join("\n  ")}\n`;
  }
}

function childLines(children: readonly Child[] | undefined): string[] {
  if (children === undefined) {
    return ["the children stay as they are"];
  }
  if (children.length === 0) {
    return ["no children"];
  }
  return children.map((child) => {
    if ("keep" in child) {
      return `keep ${child.keep.kind.kind} ${child.keep.name}`;
    }
    const { object, strategy } = child.apply;
    return `apply ${strategy === undefined ? "" : `with ${strategy} `}${JSON.stringify(object)}`;
  });
}

function isOf(object: KubernetesObject, kind: GroupVersionKind, name = object.metadata?.name): boolean {
  return object.apiVersion === apiVersionOf(kind) && object.kind === kind.kind && object.metadata?.name === name;
}
