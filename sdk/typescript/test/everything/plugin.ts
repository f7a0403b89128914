// Plugins that use the whole contract, for tests.

import {
  age,
  children,
  conditionOf,
  customResource,
  finalized,
  generated,
  groupPlugin,
  isTrue,
  keepChildren,
  kind,
  log,
  memberOf,
  minutes,
  noChildren,
  plugin,
  retryAfter,
  schema,
  secretText,
  terminal,
  transient,
  wait,
} from "@gyre/sdk";
import { ConfigMap, Job, PersistentVolumeClaim, Pod, Secret } from "@gyre/sdk/k8s";

/** A kind whose objects say what the plugin does. */
export const Probe = customResource({
  group: "example.com",
  version: "v1",
  kind: "Probe",
  description: "An object that says what the plugin does.",
  spec: schema.object({
    does: schema.string(),
    size: schema.integer({ minimum: 0 }).default(1),
    pool: schema.string().optional(),
  }),
  status: schema.object({ seen: schema.integer(), text: schema.string().optional() }),
  shortNames: ["pr"],
  categories: ["all"],
});

/** A plugin with a reaction for each part of the contract. */
export const probes = plugin({
  name: "probes",
  version: "1.2.3",
  description: "Does what a Probe says.",
  kind: Probe,
  children: [
    ConfigMap,
    Job.strategy("create-only").upTo("recreate").deletes("foreground"),
    PersistentVolumeClaim.outliving(),
    Secret,
  ],
  reads: [Secret.where("app=probe"), Pod.inNamespace("pods").onlyMetadata(), ConfigMap, kind("example.org/v1", "Absent")],
  parentFields: ["/metadata/labels", "/metadata/annotations/example.com~1note"],
  deletesParent: true,
  settings: schema.object({ suffix: schema.string({ maxLength: 9 }).default("") }),
  validate: ({ suffix }) => (suffix.endsWith("-") ? "suffix: leave out the - at the end" : undefined),

  reconcile({ parent, config, cluster }) {
    const { name } = parent.metadata;
    const { does, size } = parent.spec;
    const configMap = ConfigMap({ metadata: { name: name + config.suffix }, data: { does } });
    switch (does) {
      case "apply":
        return children(configMap).status({ seen: size, text: "ümlaut 😀" }).ready("Applied", `it has ${size}`);
      case "strategies": {
        const job = (name: string) => Job({ metadata: { name }, spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "it", image: "busybox" }] } } } });
        return noChildren()
          .apply(job(`${name}-once`))
          .apply(job(`${name}-again`), { strategy: "recreate" })
          .keepChild(Job.named(`${name}-kept`))
          .keepChild(ConfigMap.named(name, parent.metadata.namespace));
      }
      case "outlive":
        return children(
          PersistentVolumeClaim({
            metadata: { name },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          }),
        );
      case "generate":
        return children(
          Secret({
            metadata: { name },
            data: {
              password: generated.password(24, { epoch: size }),
              token: generated.bytes(16, { encoding: "hex" }),
              url: generated.text("postgres://app:{password}@db/app"),
              scram: generated.hash("password", "scram-sha256"),
              "ssh.key": generated.keyPair("ed25519", { format: "ssh", publicKey: "ssh.pub" }),
              "ca.crt": generated.ca("probe CA", "ca.key", { validDays: 3650 }),
              "tls.crt": generated.certificate({
                privateKey: "tls.key",
                issuer: { key: "ca.crt" },
                dnsNames: [name],
                ipAddresses: ["::1"],
                usages: ["server", "client"],
                validDays: 30,
                renewDaysBefore: 10,
              }),
            },
          }),
        );
      case "read": {
        const secret = cluster.get(Secret, "login");
        if (secret === undefined) {
          return wait("SecretMissing", "there is no Secret login").requeueAfter(minutes(5));
        }
        const pods = cluster.inNamespace("pods").list(Pod, { tier: "front" });
        const maps = cluster.list(ConfigMap, { matchLabels: { app: "probe" } });
        const own = cluster.child(ConfigMap, name);
        const text = `${secretText(secret, "text")} ${pods.map((pod) => pod.metadata.name)} ${maps.length} ${own === undefined}`;
        return children(configMap).status({ seen: cluster.children(ConfigMap).length, text });
      }
      case "not-served":
        cluster.list(kind("example.org/v1", "Absent"));
        return noChildren();
      case "not-declared":
        cluster.list(kind("v1", "Service"));
        return noChildren();
      case "not-granted":
        cluster.inNamespace("elsewhere").get(Pod, "it");
        return noChildren();
      case "invalid-selector":
        cluster.list(ConfigMap, "a in (");
        return noChildren();
      case "parent-fields":
        return keepChildren()
          .parentLabel("example.com/size", String(size))
          .parentAnnotation("example.com/note", "noted")
          .event("Labelled", "it has a label", { severity: "warning" });
      case "delete-parent":
        return noChildren().deleteParent({ after: minutes(2) - age(parent, cluster.now()), propagation: "foreground" });
      case "conditions":
        return keepChildren()
          .condition("Degraded", "Unknown", "NotKnown", "nobody knows")
          .condition("Available", false, "Missing", "it is missing")
          .notReady("Late", "it is late")
          .requeueAfter(minutes(1));
      case "clock":
        return children(configMap).status({ seen: age(parent, cluster.now()) });
      case "log":
        log.warn("a line", { size, does });
        console.log("printed", { size });
        return noChildren();
      case "random":
        return noChildren().status({ seen: Math.floor(Math.random() * 1e9) });
      case "transient":
        throw transient("it may pass");
      case "retry-after":
        throw retryAfter(1500, "it takes a while");
      case "terminal":
        throw terminal("it is wrong", { cause: new Error("the reason") });
      case "mistake":
        return wait("Waiting", "it waits").apply(configMap);
      case "throw": {
        const missing: { field?: { name: string } } = {};
        return children(ConfigMap({ metadata: { name: missing.field!.name } }));
      }
      default:
        return children(configMap).notReady("Unknown", `it does not know ${does}`);
    }
  },

  finalize({ parent, cluster }) {
    if (parent.spec.does !== "finalize" || cluster.children(ConfigMap).length === 0) {
      return finalized();
    }
    return noChildren().event("Deleting", `${conditionOf(parent, "Ready")?.reason} ${isTrue(parent, "Ready")}`);
  },
});

/** A plugin that is called about all Probes with the same pool. */
export const pools = groupPlugin({
  name: "pools",
  version: "1.2.3",
  description: "Lists the Probes of a pool.",
  kind: Probe,
  groupBy: "/spec/pool",
  children: [ConfigMap],
  reconcile({ parent }) {
    const names = parent.members.map(({ metadata }) => metadata.name);
    const list = ConfigMap({ metadata: { name: `pool-${parent.value}`, namespace: "default" }, data: { names: names.join(" ") } });
    const members = parent.members.map((member) => memberOf(member).status({ seen: names.length }).ready("Listed", "it is listed"));
    return children(list).status({ count: names.length }).withMembers(members);
  },
});

export default [probes, pools];
