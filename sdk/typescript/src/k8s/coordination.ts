// Types of `coordination`, generated from the OpenAPI documents of Kubernetes.
// Do not edit them: `npm run generate` writes them.

import { type Kind, kind } from "../object.ts";
import type {
  ObjectMeta,
} from "./meta.ts";

/** Lease defines a lease concept. */
export interface Lease {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /**
   * More info:
   * https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata.
   */
  metadata?: ObjectMeta;
  /** spec contains the specification of the Lease. */
  spec?: LeaseSpec;
}

/** The kind Lease of coordination.k8s.io/v1. */
export const Lease: Kind<Lease> = /* @__PURE__ */ kind<Lease>("coordination.k8s.io/v1", "Lease");

/** LeaseSpec is a specification of a Lease. */
export interface LeaseSpec {
  /** acquireTime is a time when the current lease was acquired. */
  acquireTime?: string;
  /** holderIdentity contains the identity of the holder of a current lease. */
  holderIdentity?: string;
  /**
   * leaseDurationSeconds is a duration that candidates for a lease need to wait to force acquire
   * it.
   */
  leaseDurationSeconds?: number;
  /** leaseTransitions is the number of transitions of a lease between holders. */
  leaseTransitions?: number;
  /**
   * PreferredHolder signals to a lease holder that the lease has a more optimal holder and should
   * be given up.
   */
  preferredHolder?: string;
  /** renewTime is a time when the current holder of a lease has last updated the lease. */
  renewTime?: string;
  /** Strategy indicates the strategy for picking the leader for coordinated leader election. */
  strategy?: string;
}
