/** Errors that a plugin throws instead of returning a plan. */

import type { GroupVersionKind } from "./object.ts";
import { apiVersionOf } from "./object.ts";

/** When the host calls again after a {@link Failure}. */
export type Retry =
  /** With back-off. */
  | { readonly when: "transient" }
  /** After this time, in milliseconds. */
  | { readonly when: "after"; readonly delay: number }
  /** When an input changes. */
  | { readonly when: "terminal" };

/**
 * An error that says when to try again. The children and the status stay as they are, and the
 * conditions of the parent have the message. Any other exception is a defect of the plugin: the
 * condition then says its file and line.
 */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly retry: Retry;

  constructor(message: string, retry: Retry, options?: ErrorOptions) {
    super(withCause(message, options?.cause), options);
    this.retry = retry;
  }
}

function withCause(message: string, cause: unknown): string {
  if (cause === undefined) {
    return message;
  }
  return `${message}: ${cause instanceof Error ? cause.message : String(cause)}`;
}

/**
 * Returns a failure after which the call is tried again with back-off: `throw transient(message)`.
 */
export function transient(message: string, options?: ErrorOptions): Failure {
  return new Failure(message, { when: "transient" }, options);
}

/**
 * Returns a failure after which the call is tried again after this time: `retryAfter(minutes(5),
 * message)`.
 */
export function retryAfter(delay: number, message: string, options?: ErrorOptions): Failure {
  return new Failure(message, { when: "after", delay: Math.max(delay, 1) }, options);
}

/**
 * Returns a failure after which the call is tried again only when an input changes. A cause becomes
 * a part of the message: `throw terminal("the port is no number", { cause: error })`.
 */
export function terminal(message: string, options?: ErrorOptions): Failure {
  return new Failure(message, { when: "terminal" }, options);
}

/** Why a read has no answer. */
export type ReadProblem = "not-declared" | "not-granted" | "not-served" | "invalid-selector";

/**
 * A read that has no answer. A plugin need not catch it: a kind that is not served is a transient
 * failure, because its definition may be installed later; everything else is a terminal one.
 */
export class ReadError extends Failure {
  readonly problem: ReadProblem;

  constructor(problem: ReadProblem, kind: GroupVersionKind, detail = "") {
    super(readMessage(problem, kind, detail), { when: problem === "not-served" ? "transient" : "terminal" });
    this.problem = problem;
  }
}

function readMessage(problem: ReadProblem, kind: GroupVersionKind, detail: string): string {
  const named = `${kind.kind} of ${apiVersionOf(kind)}`;
  switch (problem) {
    case "not-declared":
      return `the manifest does not declare ${named}: add it to \`reads\` or \`children\` of the plugin`;
    case "not-granted":
      return `the mount may not read ${named} in this namespace`;
    case "not-served":
      return `the API server does not serve ${named}`;
    case "invalid-selector":
      return `the label selector for ${named} is invalid: ${detail}`;
  }
}
