/** Conditions that a plugin sets, and those that objects have. */

/** A condition of the parent. The host adds `observedGeneration` and `lastTransitionTime`. */
export interface Condition {
  /** In CamelCase, e.g. `Ready`. */
  readonly type: string;
  readonly status: ConditionStatus;
  /** One word in CamelCase, for programs. */
  readonly reason: string;
  /** A sentence for people. */
  readonly message: string;
}

/** The status of a condition, as Kubernetes writes it, or as a boolean. */
export type ConditionStatus = "True" | "False" | "Unknown";

/** A condition that an object has. */
export interface ObservedCondition {
  type: string;
  status: ConditionStatus;
  reason?: string;
  message?: string;
  observedGeneration?: number;
  lastTransitionTime?: string;
}

interface WithConditions {
  status?: { conditions?: readonly { type?: string; status?: string }[] };
}

/**
 * Returns a condition of an object, or `undefined` if it does not have it: `conditionOf(job,
 * "Complete")`.
 */
export function conditionOf(object: WithConditions | undefined, type: string): ObservedCondition | undefined {
  const found = object?.status?.conditions?.find((condition) => condition.type === type);
  return found as ObservedCondition | undefined;
}

/**
 * Returns whether a condition of an object is `True`: `isTrue(job, "Complete")`, `isTrue(pod,
 * "Ready")`.
 */
export function isTrue(object: WithConditions | undefined, type: string): boolean {
  return conditionOf(object, type)?.status === "True";
}
