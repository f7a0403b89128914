/** The entry of components: `gyre-build` generates a module that calls {@link component}. */

import { finishLoading, seedRandom } from "./environment.ts";
import { Cluster } from "../cluster.ts";
import type { Package } from "../plugin.ts";
import { end } from "./end.ts";
import { exported } from "./exports.ts";
import { hostReads } from "./imports.ts";

/** Returns the interface `reconciler` of the contract for the default export of a module. */
export function component(module: unknown, of: Package) {
  const cluster = new Cluster(hostReads());
  // StarlingMonkey takes big integers only, and QuickJS numbers.
  const u64 = "__cqjs" in globalThis ? (value: number) => value : BigInt;
  const reconciler = exported(module, of, { cluster: () => cluster, seed: seedRandom, u64, end });
  finishLoading();
  return reconciler;
}
