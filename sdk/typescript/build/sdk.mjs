// Where the SDK is.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this package. */
export const SDK = join(dirname(fileURLToPath(import.meta.url)), "..");

/**
 * A plugin and the entry use the same SDK, also where it is linked and a package brings another
 * one.
 */
export const onlyOneSdk = {
  name: "only-one-sdk",
  setup(build) {
    build.onResolve({ filter: /^@gyre\/sdk(\/|$)/ }, ({ path, pluginData }) =>
      pluginData?.isSdk
        ? undefined
        : build.resolve(path, { resolveDir: SDK, kind: "import-statement", pluginData: { isSdk: true } }),
    );
  },
};
