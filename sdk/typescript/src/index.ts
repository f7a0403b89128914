/**
 * Everything that a gyre plugin in TypeScript depends on.
 *
 * A plugin is a pure function: from a parent, and from what it reads, it computes the children and
 * the status that should exist. The host watches, caches, queues, writes, retries and reports.
 *
 * - `@gyre/sdk/k8s` has the built-in kinds.
 * - `@gyre/sdk/testing` has a fake cluster for unit tests, and a client of simulated clusters.
 *
 * What is absent: a client, a queue, `async`, random numbers, and any way to write.
 */

export { Cluster, type NamespaceReads, type Selector } from "./cluster.ts";
export { type Condition, type ConditionStatus, conditionOf, isTrue, type ObservedCondition } from "./condition.ts";
export { secretData, secretText } from "./data.ts";
export { Failure, ReadError, type ReadProblem, type Retry, retryAfter, terminal, transient } from "./failure.ts";
export { type Algorithm, type CertificateRequest, type Generated, generated } from "./generated.ts";
export { type LogFields, log } from "./log.ts";
export { dnsLabel, fingerprint, LABEL_LIMIT, serviceLabel } from "./names.ts";
export {
  type ChildKind,
  Children,
  type DynamicObject,
  type Fields,
  type GroupVersionKind,
  type Kind,
  type KindOf,
  type KubernetesObject,
  kind,
  type Named,
  type ObjectRef,
  type Propagation,
  type ReadKind,
  Reads,
  type Stored,
  type Strategy,
} from "./object.ts";
export {
  type Child,
  children,
  type Event,
  finalized,
  keepChildren,
  Member,
  memberOf,
  noChildren,
  type ParentDeletion,
  Plan,
  ref,
  type Severity,
  wait,
} from "./plan.ts";
export { type Call, type Definition, type Group, type GroupDefinition, groupPlugin, type Manifest, Plugin, plugin } from "./plugin.ts";
export { restricted } from "./pod.ts";
export {
  ageColumn,
  type Column,
  conditionColumn,
  type CustomKind,
  type CustomObject,
  type CustomResource,
  type CustomResourceDefinition,
  customResource,
  type HostStatus,
} from "./resource.ts";
export { type CelRule, type Infer, type InferInput, type JsonSchema, Schema, schema } from "./schema.ts";
export { age, days, formatTime, hours, minutes, parseTime, seconds } from "./time.ts";
