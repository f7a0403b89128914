// Types of `scheduling`, generated from the OpenAPI documents of Kubernetes.
// Do not edit them: `npm run generate` writes them.

import { type Kind, kind } from "../object.ts";
import type {
  ObjectMeta,
} from "./meta.ts";

/** PriorityClass defines mapping from a priority class name to the priority integer value. */
export interface PriorityClass {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /**
   * description is an arbitrary string that usually provides guidelines on when this priority class
   * should be used.
   */
  description?: string;
  /**
   * globalDefault specifies whether this PriorityClass should be considered as the default priority
   * for pods that do not have any priority class.
   */
  globalDefault?: boolean;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** preemptionPolicy is the Policy for preempting pods with lower priority. */
  preemptionPolicy?: "Never" | "PreemptLowerPriority";
  /** value represents the integer value of this priority class. */
  value?: number;
}

/** The kind PriorityClass of scheduling.k8s.io/v1. */
export const PriorityClass: Kind<PriorityClass> = /* @__PURE__ */ kind<PriorityClass>("scheduling.k8s.io/v1", "PriorityClass", { clusterScoped: true });
