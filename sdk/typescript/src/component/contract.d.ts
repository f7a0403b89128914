// The interfaces of the contract in JavaScript, as componentize-qjs has them: `camelCase`, a
// variant as `{ tag, val }`, `none` as `null`, and the error of a result as an exception.

declare module "gyre:plugin/cluster@0.1.0" {
  interface Gvk {
    group: string;
    version: string;
    kind: string;
  }
  export function children(kind: Gvk): Uint8Array[];
  export function get(kind: Gvk, namespace: string | null, name: string): Uint8Array | null;
  export function list(kind: Gvk, namespace: string | null, labelSelector: string | null): Uint8Array[];
}

declare module "gyre:plugin/log@0.1.0" {
  export function log(level: string, message: string, fields: (readonly [string, string])[]): void;
}

declare module "wasi:clocks/wall-clock@0.2.0" {
  export function now(): { seconds: number; nanoseconds: number };
}

declare module "wasi:cli/stderr@0.2.0" {
  interface OutputStream {
    blockingWriteAndFlush(contents: Uint8Array): void;
  }
  export function getStderr(): OutputStream;
}

declare module "wasi:cli/exit@0.2.0" {
  export function exit(status: { tag: "ok" } | { tag: "err" }): void;
}
