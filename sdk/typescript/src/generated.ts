/** Values of Secrets that the host makes, so that the plugin never sees them. */

import type { Secret } from "./k8s/core.ts";

/**
 * A request for a value, in place of the value in `data` of a Secret. The host makes the value once
 * and keeps it, also if the request changes; a higher `epoch` makes a new one. Texts and hashes
 * follow the values that they contain, and certificates are renewed in time.
 */
export interface Generated {
  readonly generate: object;
  readonly epoch?: number;
}

/** What all requests have. */
interface Options {
  /** A higher number than before makes a new value, e.g. the one in a spec that people increase. */
  readonly epoch?: number | undefined;
}

/** An algorithm of keys. */
export type Algorithm = "ed25519" | "ecdsa-p256" | "rsa-2048" | "rsa-3072" | "rsa-4096";

/** A request for an X.509 certificate. */
export interface CertificateRequest extends Options {
  /** The key of `data` for the private key. */
  readonly privateKey: string;
  /**
   * Who signs it: itself, a certificate under another key of this Secret, or the CA in the keys
   * `tls.crt` and `tls.key` of another Secret in the parent's namespace.
   */
  readonly issuer: "self" | { readonly key: string } | { readonly secret: string };
  /** Whether it may sign others. It then keeps its private key when it is renewed. */
  readonly isCa?: boolean;
  readonly commonName?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  /** By default, `["server"]`. */
  readonly usages?: readonly ("server" | "client")[];
  /** The algorithm of its key. By default, ECDSA with the curve P-256. */
  readonly algorithm?: Algorithm;
  /** The key of `data` for the certificate of the issuer. */
  readonly caCertificate?: string;
  /** By default, 90. */
  readonly validDays?: number;
  /** By default, a third of its validity. */
  readonly renewDaysBefore?: number;
}

const SECONDS_OF_DAY = 86_400;

/** The placeholders that the host shows begin with `gyre-generated:`, which is this in base64. */
const PLACEHOLDER = "Z3lyZS1nZW5lcmF0ZWQ6";

function request(generator: string, value: unknown, { epoch }: Options): Generated {
  const generate = { [generator]: value };
  return epoch === undefined ? { generate } : { generate, epoch };
}

/** Requests for values, for `data` of a Secret: `{ password: generated.password(24) }`. */
export const generated = {
  /** Random bytes, at most 1024. */
  bytes(length: number, options: Options & { readonly encoding?: "hex" | "base64" | "base64Url" } = {}): Generated {
    return request("bytes", { length, encoding: options.encoding }, options);
  },

  /** A random text of at most 256 characters: ASCII letters and digits, or of an alphabet. */
  password(length: number, options: Options & { readonly alphabet?: string } = {}): Generated {
    return request("password", { length, alphabet: options.alphabet }, options);
  },

  /** A private key in PEM, or as `ssh-keygen` writes it. */
  keyPair(
    algorithm: Algorithm,
    options: Options & { readonly format?: "ssh"; readonly publicKey?: string } = {},
  ): Generated {
    return request("keyPair", { algorithm, format: options.format, publicKey: options.publicKey }, options);
  },

  /** An X.509 certificate. */
  certificate(wanted: CertificateRequest): Generated {
    const { epoch, issuer, validDays = 90, renewDaysBefore, ...fields } = wanted;
    const signer = typeof issuer === "object" && "secret" in issuer ? { secret: { name: issuer.secret } } : issuer;
    const value = {
      ...fields,
      issuer: signer,
      lifetimeSeconds: validDays * SECONDS_OF_DAY,
      renewBeforeSeconds: renewDaysBefore === undefined ? undefined : renewDaysBefore * SECONDS_OF_DAY,
    };
    return request("certificate", value, { epoch });
  },

  /** A certificate that signs itself and may sign others. */
  ca(commonName: string, privateKey: string, options: Partial<CertificateRequest> = {}): Generated {
    return generated.certificate({ ...options, privateKey, issuer: "self", isCa: true, commonName });
  },

  /**
   * A text with other values of the Secret: `{key}` is the value of a key; `{{` and `}}` are
   * braces.
   */
  text(template: string, options: Options = {}): Generated {
    return request("text", template, options);
  },

  /** The hash of another value of the Secret. */
  hash(of: string, algorithm: "bcrypt" | "scram-sha256" | "sha256", options: Options = {}): Generated {
    return request("hash", { of, algorithm }, options);
  },

  /**
   * Returns the digest of a generated value, of a Secret that was read; `undefined` if it is not
   * yet there. It changes with the value. In a Pod template, the Pods are replaced when the value
   * changes.
   */
  digest(secret: Secret | undefined, key: string): string | undefined {
    const value = secret?.data?.[key];
    return value?.startsWith(PLACEHOLDER) ? value.slice(PLACEHOLDER.length) : undefined;
  },
};
