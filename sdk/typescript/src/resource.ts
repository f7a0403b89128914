/** Kinds of one's own, and their CustomResourceDefinitions. */

import type { ObservedCondition } from "./condition.ts";
import type { ObjectMeta } from "./k8s/meta.ts";
import { type Kind, kind } from "./object.ts";
import { type JsonSchema, type Schema, schema } from "./schema.ts";

/** The fields of a status that the host writes. */
export interface HostStatus {
  conditions?: ObservedCondition[];
  observedGeneration?: number;
}

/** An object of a kind of one's own. Nothing is in its status until a plan has written it. */
export interface CustomObject<Spec, Status = unknown> {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
  spec: Spec;
  status?: Partial<Status> & HostStatus;
}

/** A column of `kubectl get`, after the name. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  /** Where the value is, e.g. `.spec.replicas`. */
  readonly jsonPath: string;
  /** Above 0, the column is shown with `-o wide` only. */
  readonly priority?: number;
}

/** Returns a column with the age. */
export function ageColumn(): Column {
  return { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };
}

/** Returns a column with the status of a condition. */
export function conditionColumn(type: string): Column {
  const jsonPath = `.status.conditions[?(@.type==${JSON.stringify(type)})].status`;
  return { name: type, type: "string", jsonPath };
}

/** The description of a kind of one's own. */
export interface CustomResource<Spec, SpecInput, Status, StatusInput> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** What `kubectl explain` shows. */
  readonly description?: string;
  readonly spec: Schema<Spec, SpecInput>;
  readonly status?: Schema<Status, StatusInput>;
  /** The name in paths, in lower case. By default, it is formed like kubebuilder does. */
  readonly plural?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Its objects are in no namespace. */
  readonly clusterScoped?: boolean;
  readonly columns?: readonly Column[];
}

/** A kind of one's own, with its definition. */
export interface CustomKind<Spec, SpecInput, Status>
  extends Kind<CustomObject<Spec, Status>, CustomObject<SpecInput, Status>> {
  /** The CustomResourceDefinition. */
  readonly crd: CustomResourceDefinition;
}

/** A CustomResourceDefinition in JSON. */
export interface CustomResourceDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

/**
 * Declares a kind of one's own. The types of its objects and its CustomResourceDefinition follow
 * from the schemas of its spec and status. The conditions and `observedGeneration`, which the host
 * writes, are added to the status.
 */
export function customResource<Spec, SpecInput, Status = unknown, StatusInput = Status>(
  resource: CustomResource<Spec, SpecInput, Status, StatusInput>,
): CustomKind<Spec, SpecInput, Status> {
  const { group, version, clusterScoped = false } = resource;
  const of = kind<CustomObject<Spec, Status>, CustomObject<SpecInput, Status>>(`${group}/${version}`, resource.kind, {
    clusterScoped,
  });
  return Object.assign(of, { crd: definition(resource) });
}

function definition(resource: CustomResource<unknown, unknown, unknown, unknown>): CustomResourceDefinition {
  const { group, version, kind, shortNames = [], categories = [], columns = [] } = resource;
  const singular = kind.toLowerCase();
  const plural = resource.plural ?? pluralOf(singular);
  const names = {
    kind,
    listKind: `${kind}List`,
    plural,
    singular,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names,
      scope: resource.clusterScoped ? "Cluster" : "Namespaced",
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          ...(columns.length > 0 && { additionalPrinterColumns: columns }),
          schema: { openAPIV3Schema: schemaOfObjects(resource) },
        },
      ],
    },
  };
}

function schemaOfObjects({ description, spec, status }: CustomResource<unknown, unknown, unknown, unknown>): JsonSchema {
  // A status that the host has only begun has none of the plugin's fields.
  const { required: _, ...ofStatus } = status?.json ?? { type: "object" };
  return {
    type: "object",
    ...(description !== undefined && { description }),
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: spec.json,
      status: { ...ofStatus, properties: { ...ofStatus.properties, ...HOST_STATUS.json.properties } },
    },
  };
}

/** The fields that the host writes, with the limits of the Kubernetes API. */
const HOST_STATUS = schema.object({
  observedGeneration: schema.integer({ description: "The generation of the spec that this status is about." }).optional(),
  conditions: schema
    .array(
      schema.object({
        type: schema.string({ maxLength: 316 }),
        status: schema.enum(["True", "False", "Unknown"]),
        observedGeneration: schema.integer({ minimum: 0 }).optional(),
        lastTransitionTime: schema.time(),
        reason: schema.string({ minLength: 1, maxLength: 1024 }),
        message: schema.string({ maxLength: 32768 }),
      }),
      { description: "The conditions of the object, one for each type.", keys: ["type"] },
    )
    .optional(),
});

/** Returns the plural of a kind as kubebuilder forms it. */
export function pluralOf(singular: string): string {
  if (/[^aeiou]y$/.test(singular)) {
    return `${singular.slice(0, -1)}ies`;
  }
  return /(s|x|z|ch|sh)$/.test(singular) ? `${singular}es` : `${singular}s`;
}
