//! Types of `policy`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// PodDisruptionBudget is an object to define the max disruption that can be caused to a
    /// collection of pods.
    PodDisruptionBudget, PodDisruptionBudgetView, "policy/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Specification of the desired behavior of the PodDisruptionBudget.
        object(PodDisruptionBudgetSpec, PodDisruptionBudgetSpecView) spec, with_spec: "spec";
        /// Most recently observed status of the PodDisruptionBudget.
        object(PodDisruptionBudgetStatus, PodDisruptionBudgetStatusView) status, with_status: "status";
    }
}

crate::object! {
    /// PodDisruptionBudgetSpec is a description of a PodDisruptionBudget.
    PodDisruptionBudgetSpec, PodDisruptionBudgetSpecView {
        /// An eviction is allowed if at most "maxUnavailable" pods selected by "selector" are
        /// unavailable after the eviction, i.e.
        int_or_text() max_unavailable, with_max_unavailable: "maxUnavailable";
        /// An eviction is allowed if at least "minAvailable" pods selected by "selector" will still
        /// be available after the eviction, i.e.
        int_or_text() min_available, with_min_available: "minAvailable";
        /// Label query over pods whose evictions are managed by the disruption budget.
        object(LabelSelector, LabelSelectorView) selector, with_selector: "selector";
        /// UnhealthyPodEvictionPolicy defines the criteria for when unhealthy pods should be
        /// considered for eviction.
        choice(UnhealthyPodEvictionPolicy) unhealthy_pod_eviction_policy, with_unhealthy_pod_eviction_policy: "unhealthyPodEvictionPolicy";
    }
}

crate::object! {
    /// PodDisruptionBudgetStatus represents information about the status of a PodDisruptionBudget.
    PodDisruptionBudgetStatus, PodDisruptionBudgetStatusView {
        /// Conditions contain conditions for PDB.
        objects(Condition, ConditionView) conditions, with_conditions: "conditions";
        /// current number of healthy pods.
        int() current_healthy, with_current_healthy: "currentHealthy";
        /// minimum desired number of healthy pods.
        int() desired_healthy, with_desired_healthy: "desiredHealthy";
        /// DisruptedPods contains information about pods whose eviction was processed by the API
        /// server eviction subresource handler but has not yet been observed by the
        /// PodDisruptionBudget controller.
        json() disrupted_pods, with_disrupted_pods: "disruptedPods";
        /// Number of pod disruptions that are currently allowed.
        int() disruptions_allowed, with_disruptions_allowed: "disruptionsAllowed";
        /// total number of pods counted by this disruption budget.
        int() expected_pods, with_expected_pods: "expectedPods";
        /// Most recent generation observed when updating this PDB status.
        long() observed_generation, with_observed_generation: "observedGeneration";
    }
}

crate::choice! {
    /// A value of a field.
    UnhealthyPodEvictionPolicy {
        AlwaysAllow = "AlwaysAllow",
        IfHealthyBudget = "IfHealthyBudget",
    }
}
