// A plugin that is broken on purpose, for tests: its parent says how.

import { children, customResource, plugin, schema } from "@gyre/sdk";
import { ConfigMap } from "@gyre/sdk/k8s";

/** A kind whose objects say what is broken. */
export const Broken = customResource({
  group: "example.com",
  version: "v1",
  kind: "Broken",
  spec: schema.object({ does: schema.string() }),
});

type Data = Record<string, string>;

let calls = 0;

const WAYS: Record<string, () => Data | undefined | Promise<Data>> = {
  throws() {
    const none: { port?: { name: string } } = {};
    return { port: none.port!.name };
  },
  throwsWithCause() {
    throw new Error("the first line\nand the second", { cause: new TypeError("the reason") });
  },
  throwsText() {
    throw "a text";
  },
  returnsNothing: () => undefined,
  async waits() {
    return {};
  },
  returnsBigInt: () => ({ size: 1n as unknown as string }),
  recurses: () => WAYS["recurses"]!(),
  loops() {
    for (;;) {}
  },
  allocates() {
    for (let parts: string[] = []; ; ) {
      parts.push("x".repeat(100_000) + parts.length);
    }
  },
  readsTheClock: () => ({ now: String(Date.now()) }),
  countsCalls: () => ({ calls: String((calls += 1)) }),
  draws: () => ({ number: String(Math.random()) }),
  ordersASet: () => ({ names: [...new Set(["joe", "ada", "bob"])].join(" ") }),
};

/** Does what its parent says. */
export default plugin({
  kind: Broken,
  children: [ConfigMap],
  reconcile({ parent }) {
    const way = WAYS[parent.spec.does] ?? (() => ({}));
    const data = way();
    if (data === undefined || data instanceof Promise) {
      return data as never;
    }
    return children(ConfigMap({ metadata: { name: parent.metadata.name }, data })).ready("Written", "it is written");
  },
});
