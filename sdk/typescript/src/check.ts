/** Refuses plans that cannot be what the plugin means. */

import { terminal } from "./failure.ts";
import { Plan } from "./plan.ts";

/** Returns the plan of a function of a plugin. A mistake in it is a terminal failure. */
export function checked(plan: unknown, name: "reconcile" | "finalize"): Plan<unknown> {
  if (plan instanceof Promise) {
    throw new Error(`${name} must not be async: a call has nothing to wait for`);
  }
  if (!(plan instanceof Plan)) {
    throw new Error(`${name} returned no plan: return children(…), noChildren(), keepChildren() or wait(…)`);
  }
  const { mistake, releases, children } = plan.content;
  if (mistake !== undefined) {
    throw terminal(mistake);
  }
  if (releases && name === "reconcile") {
    throw terminal("reconcile returned a plan that releases the parent (finalized or releaseParent), which is for finalize");
  }
  for (const child of children ?? []) {
    if ("apply" in child && !isObject(child.apply.object)) {
      throw terminal(`a child has no apiVersion and kind: ${JSON.stringify(child.apply.object)}; make it with its kind, as in ConfigMap({ … })`);
    }
  }
  return plan;
}

function isObject(object: unknown): boolean {
  const { apiVersion, kind } = (object ?? {}) as { apiVersion?: unknown; kind?: unknown };
  return typeof apiVersion === "string" && typeof kind === "string";
}
