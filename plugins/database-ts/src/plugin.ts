// A PostgreSQL server whose password, connection string and certificate the host makes: this plugin
// never sees them.
//
//   Database ──▶ Secret: password, its SCRAM verifier, connection string, CA, certificate
//                  │ digests of the values, once they are made
//                  └──▶ StatefulSet (pods carry the digest of the password and certificate), Service
//
// - A StatefulSet begins when the values are there, so its pods start with the right digests.
// - A higher `passwordEpoch` makes a new password. With it, the digest changes, and the pods are
//   replaced; a renewed certificate replaces them, too.

import {
  ageColumn,
  children,
  conditionColumn,
  customResource,
  fingerprint,
  generated,
  plugin,
  type Stored,
  schema,
  serviceLabel,
} from "@gyre/sdk";
import { type Container, Secret, Service, StatefulSet } from "@gyre/sdk/k8s";

const IMAGE = "postgres:18-alpine";

/** The label that identifies the pods of a Database. */
const INSTANCE = "app.kubernetes.io/instance";

/** The values on whose change the pods are replaced. */
const REPLACED_WITH = ["password", "tls.crt"];

/** A PostgreSQL server. */
export const Database = customResource({
  group: "db.gyre.dev",
  version: "v1alpha1",
  kind: "Database",
  description: "A PostgreSQL server.",
  spec: schema.object({
    name: schema.string({
      description: "The name of the database and of its user.",
      minLength: 1,
      maxLength: 63,
      pattern: "^[a-z][a-z0-9_]*$",
    }),
    passwordEpoch: schema.integer({ description: "A higher number makes a new password.", minimum: 0 }).optional(),
  }),
  columns: [conditionColumn("Ready"), ageColumn()],
});

type Database = Stored<ReturnType<typeof Database>>;

/** The plugin. */
export default plugin({
  kind: Database,
  children: [Secret, Service, StatefulSet],
  reconcile({ parent, cluster }) {
    const name = serviceLabel(parent.metadata.name);
    const plan = children(secret(parent, name), service(name));
    const digest = digestOf(cluster.child(Secret, name));
    if (digest === undefined) {
      // The host calls again once the Secret is there. Until then, what runs goes on.
      return plan
        .keepChild(StatefulSet.named(name))
        .notReady("Creating", `Secret ${name} is being created`, { severity: "normal" });
    }
    return plan
      .apply(statefulSet(parent, name, digest))
      .ready("Running", `StatefulSet ${name} runs with the values of Secret ${name}`);
  },
});

/** The digest of the values on whose change the pods are replaced, once all are there. */
function digestOf(secret: Secret | undefined): string | undefined {
  const digests = REPLACED_WITH.map((key) => generated.digest(secret, key));
  return digests.every((digest) => digest !== undefined) ? fingerprint(...digests) : undefined;
}

/** The keys of the Secret. Those who connect need `url` and `ca.crt`; `tls.key` is the server's. */
function secret({ metadata, spec }: Database, name: string) {
  const user = spec.name;
  const host = `${name}.${metadata.namespace}.svc`;
  return Secret({
    metadata: { name },
    data: {
      password: generated.password(32, { epoch: spec.passwordEpoch ?? 0 }),
      "password.scram": generated.hash("password", "scram-sha256"),
      url: generated.text(`postgresql://${user}:{password}@${host}:5432/${user}?sslmode=verify-full`),
      "ca.crt": generated.ca(`${name} CA`, "ca.key", { validDays: 3650 }),
      "tls.crt": generated.certificate({ privateKey: "tls.key", issuer: { key: "ca.crt" }, dnsNames: [name, host] }),
    },
  });
}

function statefulSet({ spec }: Database, name: string, digest: string) {
  const container: Container = {
    name: "postgres",
    image: IMAGE,
    args: ["-c", "ssl=on", "-c", "ssl_cert_file=/tls/tls.crt", "-c", "ssl_key_file=/tls/tls.key"],
    env: [
      { name: "POSTGRES_USER", value: spec.name },
      { name: "POSTGRES_PASSWORD", valueFrom: { secretKeyRef: { name, key: "password" } } },
    ],
    ports: [{ name: "postgresql", containerPort: 5432 }],
    volumeMounts: [{ name: "tls", mountPath: "/tls", readOnly: true }],
  };
  // PostgreSQL refuses a key that others may read.
  const tls = { name: "tls", secret: { secretName: name, defaultMode: 0o640 } };
  return StatefulSet({
    metadata: { name },
    spec: {
      replicas: 1,
      serviceName: name,
      selector: { matchLabels: labels(name) },
      template: {
        metadata: { labels: labels(name), annotations: { "db.gyre.dev/secret": digest } },
        spec: { containers: [container], volumes: [tls] },
      },
    },
  });
}

function service(name: string) {
  const port = { name: "postgresql", port: 5432, targetPort: "postgresql" };
  return Service({ metadata: { name }, spec: { selector: labels(name), ports: [port] } });
}

function labels(name: string): Record<string, string> {
  return { [INSTANCE]: name };
}
