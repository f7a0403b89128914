//! Types of `apps`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// ControllerRevision implements an immutable snapshot of state data.
    ControllerRevision, ControllerRevisionView, "apps/v1" {
        /// Data is the serialized representation of the state.
        json() data, with_data: "data";
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Revision indicates the revision of the state represented by Data.
        long() revision, with_revision: "revision";
    }
}

crate::kind! {
    /// DaemonSet represents the configuration of a daemon set.
    DaemonSet, DaemonSetView, "apps/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// The desired behavior of this daemon set.
        object(DaemonSetSpec, DaemonSetSpecView) spec, with_spec: "spec";
        /// The current status of this daemon set.
        object(DaemonSetStatus, DaemonSetStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// Deployment enables declarative updates for Pods and ReplicaSets.
    Deployment, DeploymentView, "apps/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Specification of the desired behavior of the Deployment.
        object(DeploymentSpec, DeploymentSpecView) spec, with_spec: "spec";
        /// Most recently observed status of the Deployment.
        object(DeploymentStatus, DeploymentStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// ReplicaSet ensures that a specified number of pod replicas are running at any given time.
    ReplicaSet, ReplicaSetView, "apps/v1" {
        /// If the Labels of a ReplicaSet are empty, they are defaulted to be the same as the Pod(s)
        /// that the ReplicaSet manages.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Spec defines the specification of the desired behavior of the ReplicaSet.
        object(ReplicaSetSpec, ReplicaSetSpecView) spec, with_spec: "spec";
        /// Status is the most recently observed status of the ReplicaSet.
        object(ReplicaSetStatus, ReplicaSetStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// StatefulSet represents a set of pods with consistent identities.
    StatefulSet, StatefulSetView, "apps/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Spec defines the desired identities of pods in this set.
        object(StatefulSetSpec, StatefulSetSpecView) spec, with_spec: "spec";
        /// Status is the current status of Pods in this StatefulSet.
        object(StatefulSetStatus, StatefulSetStatusView) status, with_status: "status";
    }
}

crate::object! {
    /// DaemonSetCondition describes the state of a DaemonSet at a certain point.
    DaemonSetCondition, DaemonSetConditionView {
        /// Last time the condition transitioned from one status to another.
        time() last_transition_time, with_last_transition_time: "lastTransitionTime";
        /// A human readable message indicating details about the transition.
        text() message, with_message: "message";
        /// The reason for the condition's last transition.
        text() reason, with_reason: "reason";
        /// Status of the condition, one of True, False, Unknown.
        text() status, with_status: "status";
        /// Type of DaemonSet condition.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// DaemonSetSpec is the specification of a daemon set.
    DaemonSetSpec, DaemonSetSpecView {
        /// The minimum number of seconds for which a newly created DaemonSet pod should be ready
        /// without any of its container crashing, for it to be considered available.
        int() min_ready_seconds, with_min_ready_seconds: "minReadySeconds";
        /// The number of old history to retain to allow rollback.
        int() revision_history_limit, with_revision_history_limit: "revisionHistoryLimit";
        /// A label query over pods that are managed by the daemon set.
        object(LabelSelector, LabelSelectorView) selector, with_selector: "selector";
        /// An object that describes the pod that will be created.
        object(PodTemplateSpec, PodTemplateSpecView) template, with_template: "template";
        /// An update strategy to replace existing DaemonSet pods with new pods.
        object(DaemonSetUpdateStrategy, DaemonSetUpdateStrategyView) update_strategy, with_update_strategy: "updateStrategy";
    }
}

crate::object! {
    /// DaemonSetStatus represents the current status of a daemon set.
    DaemonSetStatus, DaemonSetStatusView {
        /// Count of hash collisions for the DaemonSet.
        int() collision_count, with_collision_count: "collisionCount";
        /// Represents the latest available observations of a DaemonSet's current state.
        objects(DaemonSetCondition, DaemonSetConditionView) conditions, with_conditions: "conditions";
        /// The number of nodes that are running at least 1 daemon pod and are supposed to run the
        /// daemon pod.
        int() current_number_scheduled, with_current_number_scheduled: "currentNumberScheduled";
        /// The total number of nodes that should be running the daemon pod (including nodes
        /// correctly running the daemon pod).
        int() desired_number_scheduled, with_desired_number_scheduled: "desiredNumberScheduled";
        /// The number of nodes that should be running the daemon pod and have one or more of the
        /// daemon pod running and available (ready for at least spec.minReadySeconds).
        int() number_available, with_number_available: "numberAvailable";
        /// The number of nodes that are running the daemon pod, but are not supposed to run the
        /// daemon pod.
        int() number_misscheduled, with_number_misscheduled: "numberMisscheduled";
        /// numberReady is the number of nodes that should be running the daemon pod and have one or
        /// more of the daemon pod running with a Ready Condition.
        int() number_ready, with_number_ready: "numberReady";
        /// The number of nodes that should be running the daemon pod and have none of the daemon
        /// pod running and available (ready for at least spec.minReadySeconds).
        int() number_unavailable, with_number_unavailable: "numberUnavailable";
        /// The most recent generation observed by the daemon set controller.
        long() observed_generation, with_observed_generation: "observedGeneration";
        /// The total number of nodes that are running updated daemon pod.
        int() updated_number_scheduled, with_updated_number_scheduled: "updatedNumberScheduled";
    }
}

crate::object! {
    /// DaemonSetUpdateStrategy is a struct used to control the update strategy for a DaemonSet.
    DaemonSetUpdateStrategy, DaemonSetUpdateStrategyView {
        /// Rolling update config params.
        object(RollingUpdateDaemonSet, RollingUpdateDaemonSetView) rolling_update, with_rolling_update: "rollingUpdate";
        /// Type of daemon set update.
        choice(DaemonSetUpdateStrategyType) type_, with_type: "type";
    }
}

crate::object! {
    /// DeploymentCondition describes the state of a deployment at a certain point.
    DeploymentCondition, DeploymentConditionView {
        /// Last time the condition transitioned from one status to another.
        time() last_transition_time, with_last_transition_time: "lastTransitionTime";
        /// The last time this condition was updated.
        time() last_update_time, with_last_update_time: "lastUpdateTime";
        /// A human readable message indicating details about the transition.
        text() message, with_message: "message";
        /// The reason for the condition's last transition.
        text() reason, with_reason: "reason";
        /// Status of the condition, one of True, False, Unknown.
        text() status, with_status: "status";
        /// Type of deployment condition.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// DeploymentSpec is the specification of the desired behavior of the Deployment.
    DeploymentSpec, DeploymentSpecView {
        /// Minimum number of seconds for which a newly created pod should be ready without any of
        /// its container crashing, for it to be considered available.
        int() min_ready_seconds, with_min_ready_seconds: "minReadySeconds";
        /// Indicates that the deployment is paused.
        flag() paused, with_paused: "paused";
        /// The maximum time in seconds for a deployment to make progress before it is considered to
        /// be failed.
        int() progress_deadline_seconds, with_progress_deadline_seconds: "progressDeadlineSeconds";
        /// Number of desired pods.
        int() replicas, with_replicas: "replicas";
        /// The number of old ReplicaSets to retain to allow rollback.
        int() revision_history_limit, with_revision_history_limit: "revisionHistoryLimit";
        /// Label selector for pods.
        object(LabelSelector, LabelSelectorView) selector, with_selector: "selector";
        /// The deployment strategy to use to replace existing pods with new ones.
        object(DeploymentStrategy, DeploymentStrategyView) strategy, with_strategy: "strategy";
        /// Template describes the pods that will be created.
        object(PodTemplateSpec, PodTemplateSpecView) template, with_template: "template";
    }
}

crate::object! {
    /// DeploymentStatus is the most recently observed status of the Deployment.
    DeploymentStatus, DeploymentStatusView {
        /// Total number of available non-terminating pods (ready for at least minReadySeconds)
        /// targeted by this deployment.
        int() available_replicas, with_available_replicas: "availableReplicas";
        /// Count of hash collisions for the Deployment.
        int() collision_count, with_collision_count: "collisionCount";
        /// Represents the latest available observations of a deployment's current state.
        objects(DeploymentCondition, DeploymentConditionView) conditions, with_conditions: "conditions";
        /// The generation observed by the deployment controller.
        long() observed_generation, with_observed_generation: "observedGeneration";
        /// Total number of non-terminating pods targeted by this Deployment with a Ready Condition.
        int() ready_replicas, with_ready_replicas: "readyReplicas";
        /// Total number of non-terminating pods targeted by this deployment (their labels match the
        /// selector).
        int() replicas, with_replicas: "replicas";
        /// Total number of terminating pods targeted by this deployment.
        int() terminating_replicas, with_terminating_replicas: "terminatingReplicas";
        /// Total number of unavailable pods targeted by this deployment.
        int() unavailable_replicas, with_unavailable_replicas: "unavailableReplicas";
        /// Total number of non-terminating pods targeted by this deployment that have the desired
        /// template spec.
        int() updated_replicas, with_updated_replicas: "updatedReplicas";
    }
}

crate::object! {
    /// DeploymentStrategy describes how to replace existing pods with new ones.
    DeploymentStrategy, DeploymentStrategyView {
        /// Rolling update config params.
        object(RollingUpdateDeployment, RollingUpdateDeploymentView) rolling_update, with_rolling_update: "rollingUpdate";
        /// Type of deployment.
        choice(DeploymentStrategyType) type_, with_type: "type";
    }
}

crate::object! {
    /// ReplicaSetCondition describes the state of a replica set at a certain point.
    ReplicaSetCondition, ReplicaSetConditionView {
        /// The last time the condition transitioned from one status to another.
        time() last_transition_time, with_last_transition_time: "lastTransitionTime";
        /// A human readable message indicating details about the transition.
        text() message, with_message: "message";
        /// The reason for the condition's last transition.
        text() reason, with_reason: "reason";
        /// Status of the condition, one of True, False, Unknown.
        text() status, with_status: "status";
        /// Type of replica set condition.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// ReplicaSetSpec is the specification of a ReplicaSet.
    ReplicaSetSpec, ReplicaSetSpecView {
        /// Minimum number of seconds for which a newly created pod should be ready without any of
        /// its container crashing, for it to be considered available.
        int() min_ready_seconds, with_min_ready_seconds: "minReadySeconds";
        /// Replicas is the number of desired pods.
        int() replicas, with_replicas: "replicas";
        /// Selector is a label query over pods that should match the replica count.
        object(LabelSelector, LabelSelectorView) selector, with_selector: "selector";
        /// Template is the object that describes the pod that will be created if insufficient
        /// replicas are detected.
        object(PodTemplateSpec, PodTemplateSpecView) template, with_template: "template";
    }
}

crate::object! {
    /// ReplicaSetStatus represents the current status of a ReplicaSet.
    ReplicaSetStatus, ReplicaSetStatusView {
        /// The number of available non-terminating pods (ready for at least minReadySeconds) for
        /// this replica set.
        int() available_replicas, with_available_replicas: "availableReplicas";
        /// Represents the latest available observations of a replica set's current state.
        objects(ReplicaSetCondition, ReplicaSetConditionView) conditions, with_conditions: "conditions";
        /// The number of non-terminating pods that have labels matching the labels of the pod
        /// template of the replicaset.
        int() fully_labeled_replicas, with_fully_labeled_replicas: "fullyLabeledReplicas";
        /// ObservedGeneration reflects the generation of the most recently observed ReplicaSet.
        long() observed_generation, with_observed_generation: "observedGeneration";
        /// The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition.
        int() ready_replicas, with_ready_replicas: "readyReplicas";
        /// Replicas is the most recently observed number of non-terminating pods.
        int() replicas, with_replicas: "replicas";
        /// The number of terminating pods for this replica set.
        int() terminating_replicas, with_terminating_replicas: "terminatingReplicas";
    }
}

crate::object! {
    /// Spec to control the desired behavior of daemon set rolling update.
    RollingUpdateDaemonSet, RollingUpdateDaemonSetView {
        /// The maximum number of nodes with an existing available DaemonSet pod that can have an
        /// updated DaemonSet pod during during an update.
        int_or_text() max_surge, with_max_surge: "maxSurge";
        /// The maximum number of DaemonSet pods that can be unavailable during the update.
        int_or_text() max_unavailable, with_max_unavailable: "maxUnavailable";
    }
}

crate::object! {
    /// Spec to control the desired behavior of rolling update.
    RollingUpdateDeployment, RollingUpdateDeploymentView {
        /// The maximum number of pods that can be scheduled above the desired number of pods.
        int_or_text() max_surge, with_max_surge: "maxSurge";
        /// The maximum number of pods that can be unavailable during the update.
        int_or_text() max_unavailable, with_max_unavailable: "maxUnavailable";
    }
}

crate::object! {
    /// RollingUpdateStatefulSetStrategy is used to communicate parameter for
    /// RollingUpdateStatefulSetStrategyType.
    RollingUpdateStatefulSetStrategy, RollingUpdateStatefulSetStrategyView {
        /// The maximum number of pods that can be unavailable during the update.
        int_or_text() max_unavailable, with_max_unavailable: "maxUnavailable";
        /// Partition indicates the ordinal at which the StatefulSet should be partitioned for
        /// updates.
        int() partition, with_partition: "partition";
    }
}

crate::object! {
    /// StatefulSetCondition describes the state of a statefulset at a certain point.
    StatefulSetCondition, StatefulSetConditionView {
        /// Last time the condition transitioned from one status to another.
        time() last_transition_time, with_last_transition_time: "lastTransitionTime";
        /// A human readable message indicating details about the transition.
        text() message, with_message: "message";
        /// The reason for the condition's last transition.
        text() reason, with_reason: "reason";
        /// Status of the condition, one of True, False, Unknown.
        text() status, with_status: "status";
        /// Type of statefulset condition.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// StatefulSetOrdinals describes the policy used for replica ordinal assignment in this
    /// StatefulSet.
    StatefulSetOrdinals, StatefulSetOrdinalsView {
        /// start is the number representing the first replica's index.
        int() start, with_start: "start";
    }
}

crate::object! {
    /// StatefulSetPersistentVolumeClaimRetentionPolicy describes the policy used for PVCs created
    /// from the StatefulSet VolumeClaimTemplates.
    StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetPersistentVolumeClaimRetentionPolicyView {
        /// WhenDeleted specifies what happens to PVCs created from StatefulSet VolumeClaimTemplates
        /// when the StatefulSet is deleted.
        text() when_deleted, with_when_deleted: "whenDeleted";
        /// WhenScaled specifies what happens to PVCs created from StatefulSet VolumeClaimTemplates
        /// when the StatefulSet is scaled down.
        text() when_scaled, with_when_scaled: "whenScaled";
    }
}

crate::object! {
    /// A StatefulSetSpec is the specification of a StatefulSet.
    StatefulSetSpec, StatefulSetSpecView {
        /// Minimum number of seconds for which a newly created pod should be ready without any of
        /// its container crashing for it to be considered available.
        int() min_ready_seconds, with_min_ready_seconds: "minReadySeconds";
        /// ordinals controls the numbering of replica indices in a StatefulSet.
        object(StatefulSetOrdinals, StatefulSetOrdinalsView) ordinals, with_ordinals: "ordinals";
        /// persistentVolumeClaimRetentionPolicy describes the lifecycle of persistent volume claims
        /// created from volumeClaimTemplates.
        object(StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetPersistentVolumeClaimRetentionPolicyView) persistent_volume_claim_retention_policy, with_persistent_volume_claim_retention_policy: "persistentVolumeClaimRetentionPolicy";
        /// podManagementPolicy controls how pods are created during initial scale up, when
        /// replacing pods on nodes, or when scaling down.
        choice(PodManagementPolicy) pod_management_policy, with_pod_management_policy: "podManagementPolicy";
        /// replicas is the desired number of replicas of the given Template.
        int() replicas, with_replicas: "replicas";
        /// revisionHistoryLimit is the maximum number of revisions that will be maintained in the
        /// StatefulSet's revision history.
        int() revision_history_limit, with_revision_history_limit: "revisionHistoryLimit";
        /// selector is a label query over pods that should match the replica count.
        object(LabelSelector, LabelSelectorView) selector, with_selector: "selector";
        /// serviceName is the name of the service that governs this StatefulSet.
        text() service_name, with_service_name: "serviceName";
        /// template is the object that describes the pod that will be created if insufficient
        /// replicas are detected.
        object(PodTemplateSpec, PodTemplateSpecView) template, with_template: "template";
        /// updateStrategy indicates the StatefulSetUpdateStrategy that will be employed to update
        /// Pods in the StatefulSet when a revision is made to Template.
        object(StatefulSetUpdateStrategy, StatefulSetUpdateStrategyView) update_strategy, with_update_strategy: "updateStrategy";
        /// volumeClaimTemplates is a list of claims that pods are allowed to reference.
        objects(PersistentVolumeClaim, PersistentVolumeClaimView) volume_claim_templates, with_volume_claim_templates: "volumeClaimTemplates";
    }
}

crate::object! {
    /// StatefulSetStatus represents the current state of a StatefulSet.
    StatefulSetStatus, StatefulSetStatusView {
        /// Total number of available pods (ready for at least minReadySeconds) targeted by this
        /// statefulset.
        int() available_replicas, with_available_replicas: "availableReplicas";
        /// collisionCount is the count of hash collisions for the StatefulSet.
        int() collision_count, with_collision_count: "collisionCount";
        /// Represents the latest available observations of a statefulset's current state.
        objects(StatefulSetCondition, StatefulSetConditionView) conditions, with_conditions: "conditions";
        /// currentReplicas is the number of Pods created by the StatefulSet controller from the
        /// StatefulSet version indicated by currentRevision.
        int() current_replicas, with_current_replicas: "currentReplicas";
        /// currentRevision, if not empty, indicates the version of the StatefulSet used to generate
        /// Pods in the sequence \[0,currentReplicas).
        text() current_revision, with_current_revision: "currentRevision";
        /// observedGeneration is the most recent generation observed for this StatefulSet.
        long() observed_generation, with_observed_generation: "observedGeneration";
        /// readyReplicas is the number of pods created for this StatefulSet with a Ready Condition.
        int() ready_replicas, with_ready_replicas: "readyReplicas";
        /// replicas is the number of Pods created by the StatefulSet controller.
        int() replicas, with_replicas: "replicas";
        /// updateRevision, if not empty, indicates the version of the StatefulSet used to generate
        /// Pods in the sequence \[replicas-updatedReplicas,replicas).
        text() update_revision, with_update_revision: "updateRevision";
        /// updatedReplicas is the number of Pods created by the StatefulSet controller from the
        /// StatefulSet version indicated by updateRevision.
        int() updated_replicas, with_updated_replicas: "updatedReplicas";
    }
}

crate::object! {
    /// StatefulSetUpdateStrategy indicates the strategy that the StatefulSet controller will use to
    /// perform updates.
    StatefulSetUpdateStrategy, StatefulSetUpdateStrategyView {
        /// RollingUpdate is used to communicate parameters when Type is
        /// RollingUpdateStatefulSetStrategyType.
        object(RollingUpdateStatefulSetStrategy, RollingUpdateStatefulSetStrategyView) rolling_update, with_rolling_update: "rollingUpdate";
        /// Type indicates the type of the StatefulSetUpdateStrategy.
        choice(StatefulSetUpdateStrategyType) type_, with_type: "type";
    }
}

crate::choice! {
    /// A value of a field.
    DaemonSetUpdateStrategyType {
        OnDelete = "OnDelete",
        RollingUpdate = "RollingUpdate",
    }
}

crate::choice! {
    /// A value of a field.
    DeploymentStrategyType {
        Recreate = "Recreate",
        RollingUpdate = "RollingUpdate",
    }
}

crate::choice! {
    /// A value of a field.
    PodManagementPolicy {
        OrderedReady = "OrderedReady",
        Parallel = "Parallel",
    }
}

crate::choice! {
    /// A value of a field.
    StatefulSetUpdateStrategyType {
        OnDelete = "OnDelete",
        RollingUpdate = "RollingUpdate",
    }
}
