//! Types of `coordination`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// Lease defines a lease concept.
    Lease, LeaseView, "coordination.k8s.io/v1" {
        /// More info:
        /// <https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata>.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec contains the specification of the Lease.
        object(LeaseSpec, LeaseSpecView) spec, with_spec: "spec";
    }
}

crate::object! {
    /// LeaseSpec is a specification of a Lease.
    LeaseSpec, LeaseSpecView {
        /// acquireTime is a time when the current lease was acquired.
        time() acquire_time, with_acquire_time: "acquireTime";
        /// holderIdentity contains the identity of the holder of a current lease.
        text() holder_identity, with_holder_identity: "holderIdentity";
        /// leaseDurationSeconds is a duration that candidates for a lease need to wait to force
        /// acquire it.
        int() lease_duration_seconds, with_lease_duration_seconds: "leaseDurationSeconds";
        /// leaseTransitions is the number of transitions of a lease between holders.
        int() lease_transitions, with_lease_transitions: "leaseTransitions";
        /// PreferredHolder signals to a lease holder that the lease has a more optimal holder and
        /// should be given up.
        text() preferred_holder, with_preferred_holder: "preferredHolder";
        /// renewTime is a time when the current holder of a lease has last updated the lease.
        time() renew_time, with_renew_time: "renewTime";
        /// Strategy indicates the strategy for picking the leader for coordinated leader election.
        text() strategy, with_strategy: "strategy";
    }
}
