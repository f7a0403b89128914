/** The built-in kinds, with all their fields. Every field is optional. */

export * from "./apps.ts";
export * from "./autoscaling.ts";
export * from "./batch.ts";
export * from "./coordination.ts";
export * from "./core.ts";
export * from "./discovery.ts";
export * from "./events.ts";
export * from "./meta.ts";
export * from "./networking.ts";
export * from "./policy.ts";
export * from "./rbac.ts";
export * from "./scheduling.ts";
export * from "./storage.ts";
