// A Greeting keeps its message in a ConfigMap.

import { ageColumn, children, conditionColumn, customResource, plugin, schema } from "@gyre/sdk";
import { ConfigMap } from "@gyre/sdk/k8s";

/** A message that is kept in a ConfigMap. */
export const Greeting = customResource({
  group: "example.com",
  version: "v1alpha1",
  kind: "Greeting",
  description: "A message that is kept in a ConfigMap.",
  spec: schema.object({
    message: schema.string({ description: "Any text." }),
  }),
  status: schema.object({
    configMap: schema.string({ description: "The ConfigMap that holds the message." }),
  }),
  columns: [conditionColumn("Ready"), ageColumn()],
});

/**
 * The plugin. The host calls `reconcile` whenever one of its inputs has changed: the Greeting or its
 * ConfigMap. It returns what should exist; the host compares, applies, prunes and retries.
 */
export default plugin({
  kind: Greeting,
  children: [ConfigMap],
  reconcile({ parent }) {
    const { name } = parent.metadata;
    const configMap = ConfigMap({ metadata: { name }, data: { message: parent.spec.message } });
    return children(configMap)
      .status({ configMap: name })
      .ready("Written", `ConfigMap ${name} holds the message`);
  },
});
