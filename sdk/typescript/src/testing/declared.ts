/** Compares a plan with the manifest, as the host does. */

import type { ChildKind, KubernetesObject, Strategy } from "../object.ts";
import { apiVersionOf } from "../object.ts";
import type { Child, Plan } from "../plan.ts";
import type { Manifest } from "../plugin.ts";

/** Returns why the host would refuse a part of the plan, and the remedy. */
export function firstUndeclared({ content }: Plan<unknown>, manifest: Manifest): string | undefined {
  if (content.deletion !== undefined && !manifest.deletesParent) {
    return "the plugin does not declare that it deletes parents (UndeclaredParentDeletion): add `deletesParent: true`";
  }
  const field = content.parent && undeclaredField(content.parent, "", manifest);
  if (field !== undefined) {
    return `the plugin does not declare that it sets ${field} of parents (UndeclaredParentField): add it to \`parentFields\``;
  }
  for (const child of content.children ?? []) {
    const undeclared = undeclaredChild(child, manifest);
    if (undeclared !== undefined) {
      return undeclared;
    }
  }
  return undefined;
}

/** The identity of the parent, which typed objects repeat. */
const IDENTITY = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];

/** Returns the first field that no declared one covers, as a JSON Pointer. */
function undeclaredField(value: unknown, pointer: string, manifest: Manifest): string | undefined {
  const isDeclared = (declared: string) => declared === pointer || pointer.startsWith(`${declared}/`);
  if (IDENTITY.includes(pointer) || manifest.parentFields.some(isDeclared)) {
    return undefined;
  }
  const fields = value !== null && typeof value === "object" && !Array.isArray(value) ? Object.entries(value) : [];
  if (fields.length === 0) {
    return pointer === "" ? undefined : pointer;
  }
  for (const [name, field] of fields) {
    const escaped = name.replaceAll("~", "~0").replaceAll("/", "~1");
    const undeclared = undeclaredField(field, `${pointer}/${escaped}`, manifest);
    if (undeclared !== undefined) {
      return undeclared;
    }
  }
  return undefined;
}

/** The strategies, from weak to strong. */
const STRENGTH: readonly Strategy[] = ["create-only", "apply", "recreate"];

function undeclaredChild(child: Child, manifest: Manifest): string | undefined {
  const { apiVersion, kind, name } = identity(child);
  const declared = manifest.children.find((other) => apiVersionOf(other.kind) === apiVersion && other.kind.kind === kind);
  if (declared === undefined) {
    return (
      `the plugin does not declare ${kind} of ${apiVersion} as a child kind, and ${kind} ${name} is one (UndeclaredKind): ` +
      "add it to `children`"
    );
  }
  const strategy = "apply" in child ? child.apply.strategy : undefined;
  if (strategy === undefined || STRENGTH.indexOf(strategy) <= strongest(declared)) {
    return undefined;
  }
  return (
    `${kind} ${name} has the strategy ${strategy}, and the plugin declares no such strong one for its kind ` +
    `(UndeclaredStrategy): write \`${kind}.strategy("${declared.strategy}").upTo("${strategy}")\` in \`children\``
  );
}

function identity(child: Child): { apiVersion: string; kind: string; name: string } {
  if ("keep" in child) {
    const { kind, name } = child.keep;
    return { apiVersion: apiVersionOf(kind), kind: kind.kind, name };
  }
  const { apiVersion = "", kind = "", metadata } = child.apply.object as KubernetesObject;
  return { apiVersion, kind, name: metadata?.name ?? "" };
}

function strongest({ strategy, strongestStrategy = strategy }: ChildKind): number {
  return Math.max(STRENGTH.indexOf(strategy), STRENGTH.indexOf(strongestStrategy));
}
