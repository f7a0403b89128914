//! Types of `scheduling`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// PriorityClass defines mapping from a priority class name to the priority integer value.
    PriorityClass, PriorityClassView, "scheduling.k8s.io/v1" {
        /// description is an arbitrary string that usually provides guidelines on when this
        /// priority class should be used.
        text() description, with_description: "description";
        /// globalDefault specifies whether this PriorityClass should be considered as the default
        /// priority for pods that do not have any priority class.
        flag() global_default, with_global_default: "globalDefault";
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// preemptionPolicy is the Policy for preempting pods with lower priority.
        choice(PreemptionPolicy) preemption_policy, with_preemption_policy: "preemptionPolicy";
        /// value represents the integer value of this priority class.
        int() value, with_value: "value";
    }
}
