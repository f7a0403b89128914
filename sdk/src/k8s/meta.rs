//! Types of `meta`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

crate::object! {
    /// Condition contains details for one aspect of the current state of this API Resource.
    Condition, ConditionView {
        /// lastTransitionTime is the last time the condition transitioned from one status to
        /// another.
        time() last_transition_time, with_last_transition_time: "lastTransitionTime";
        /// message is a human readable message indicating details about the transition.
        text() message, with_message: "message";
        /// observedGeneration represents the .metadata.generation that the condition was set based
        /// upon.
        long() observed_generation, with_observed_generation: "observedGeneration";
        /// reason contains a programmatic identifier indicating the reason for the condition's last
        /// transition.
        text() reason, with_reason: "reason";
        /// status of the condition, one of True, False, Unknown.
        text() status, with_status: "status";
        /// type of condition in CamelCase or in foo.example.com/CamelCase.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// A label selector is a label query over a set of resources.
    LabelSelector, LabelSelectorView {
        /// matchExpressions is a list of label selector requirements.
        objects(LabelSelectorRequirement, LabelSelectorRequirementView) match_expressions, with_match_expressions: "matchExpressions";
        /// matchLabels is a map of {key,value} pairs.
        text_map() match_labels, with_match_labels: "matchLabels";
    }
}

crate::object! {
    /// A label selector requirement is a selector that contains values, a key, and an operator that
    /// relates the key and values.
    LabelSelectorRequirement(with_key: text), LabelSelectorRequirementView {
        /// key is the label key that the selector applies to.
        text() key, with_key: "key";
        /// operator represents a key's relationship to a set of values.
        text() operator, with_operator: "operator";
        /// values is an array of string values.
        texts() values, with_values: "values";
    }
}

crate::object! {
    /// ObjectMeta is metadata that all persisted resources must have, which includes all objects
    /// users must create.
    ObjectMeta, ObjectMetaView {
        /// Annotations is an unstructured key value map stored with a resource that may be set by
        /// external tools to store and retrieve arbitrary metadata.
        text_map() annotations, with_annotations: "annotations";
        /// CreationTimestamp is a timestamp representing the server time when this object was
        /// created.
        time() creation_timestamp, with_creation_timestamp: "creationTimestamp";
        /// Number of seconds allowed for this object to gracefully terminate before it will be
        /// removed from the system.
        long() deletion_grace_period_seconds, with_deletion_grace_period_seconds: "deletionGracePeriodSeconds";
        /// DeletionTimestamp is RFC 3339 date and time at which this resource will be deleted.
        time() deletion_timestamp, with_deletion_timestamp: "deletionTimestamp";
        /// Must be empty before the object is deleted from the registry.
        texts() finalizers, with_finalizers: "finalizers";
        /// GenerateName is an optional prefix, used by the server, to generate a unique name ONLY
        /// IF the Name field has not been provided.
        text() generate_name, with_generate_name: "generateName";
        /// A sequence number representing a specific generation of the desired state.
        long() generation, with_generation: "generation";
        /// Map of string keys and values that can be used to organize and categorize (scope and
        /// select) objects.
        text_map() labels, with_labels: "labels";
        /// Name must be unique within a namespace.
        text() name, with_name: "name";
        /// Namespace defines the space within which each name must be unique.
        text() namespace, with_namespace: "namespace";
        /// List of objects depended by this object.
        objects(OwnerReference, OwnerReferenceView) owner_references, with_owner_references: "ownerReferences";
        /// An opaque value that represents the internal version of this object that can be used by
        /// clients to determine when objects have changed.
        text() resource_version, with_resource_version: "resourceVersion";
        /// UID is the unique in time and space value for this object.
        text() uid, with_uid: "uid";
    }
}

crate::object! {
    /// OwnerReference contains enough information to let you identify an owning object.
    OwnerReference(with_name: text), OwnerReferenceView {
        /// API version of the referent.
        text() api_version, with_api_version: "apiVersion";
        /// If true, AND if the owner has the "foregroundDeletion" finalizer, then the owner cannot
        /// be deleted from the key-value store until this reference is removed.
        flag() block_owner_deletion, with_block_owner_deletion: "blockOwnerDeletion";
        /// If true, this reference points to the managing controller.
        flag() controller, with_controller: "controller";
        /// Kind of the referent.
        text() kind, with_kind: "kind";
        /// Name of the referent.
        text() name, with_name: "name";
        /// UID of the referent.
        text() uid, with_uid: "uid";
    }
}
