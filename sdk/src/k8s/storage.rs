//! Types of `storage`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// CSIDriver captures information about a Container Storage Interface (CSI) volume driver
    /// deployed on the cluster.
    CSIDriver, CSIDriverView, "storage.k8s.io/v1" {
        /// Standard object metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec represents the specification of the CSI Driver.
        object(CSIDriverSpec, CSIDriverSpecView) spec, with_spec: "spec";
    }
}

crate::kind! {
    /// CSINode holds information about all CSI drivers installed on a node.
    CSINode, CSINodeView, "storage.k8s.io/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec is the specification of CSINode.
        object(CSINodeSpec, CSINodeSpecView) spec, with_spec: "spec";
    }
}

crate::kind! {
    /// CSIStorageCapacity stores the result of one CSI GetCapacity call.
    CSIStorageCapacity, CSIStorageCapacityView, "storage.k8s.io/v1" {
        /// capacity is the value reported by the CSI driver in its GetCapacityResponse for a
        /// GetCapacityRequest with topology and parameters that match the previous fields.
        text() capacity, with_capacity: "capacity";
        /// maximumVolumeSize is the value reported by the CSI driver in its GetCapacityResponse for
        /// a GetCapacityRequest with topology and parameters that match the previous fields.
        text() maximum_volume_size, with_maximum_volume_size: "maximumVolumeSize";
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// nodeTopology defines which nodes have access to the storage for which capacity was
        /// reported.
        object(LabelSelector, LabelSelectorView) node_topology, with_node_topology: "nodeTopology";
        /// storageClassName represents the name of the StorageClass that the reported capacity
        /// applies to.
        text() storage_class_name, with_storage_class_name: "storageClassName";
    }
}

crate::kind! {
    /// StorageClass describes the parameters for a class of storage for which PersistentVolumes can
    /// be dynamically provisioned.
    StorageClass, StorageClassView, "storage.k8s.io/v1" {
        /// allowVolumeExpansion shows whether the storage class allow volume expand.
        flag() allow_volume_expansion, with_allow_volume_expansion: "allowVolumeExpansion";
        /// allowedTopologies restrict the node topologies where volumes can be dynamically
        /// provisioned.
        objects(TopologySelectorTerm, TopologySelectorTermView) allowed_topologies, with_allowed_topologies: "allowedTopologies";
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// mountOptions controls the mountOptions for dynamically provisioned PersistentVolumes of
        /// this storage class.
        texts() mount_options, with_mount_options: "mountOptions";
        /// parameters holds the parameters for the provisioner that should create volumes of this
        /// storage class.
        text_map() parameters, with_parameters: "parameters";
        /// provisioner indicates the type of the provisioner.
        text() provisioner, with_provisioner: "provisioner";
        /// reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes
        /// of this storage class.
        choice(ReclaimPolicy) reclaim_policy, with_reclaim_policy: "reclaimPolicy";
        /// volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound.
        choice(VolumeBindingMode) volume_binding_mode, with_volume_binding_mode: "volumeBindingMode";
    }
}

crate::kind! {
    /// VolumeAttachment captures the intent to attach or detach the specified volume to/from the
    /// specified node.
    VolumeAttachment, VolumeAttachmentView, "storage.k8s.io/v1" {
        /// Standard object metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec represents specification of the desired attach/detach volume behavior.
        object(VolumeAttachmentSpec, VolumeAttachmentSpecView) spec, with_spec: "spec";
        /// status represents status of the VolumeAttachment request.
        object(VolumeAttachmentStatus, VolumeAttachmentStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// VolumeAttributesClass represents a specification of mutable volume attributes defined by the
    /// CSI driver.
    VolumeAttributesClass, VolumeAttributesClassView, "storage.k8s.io/v1" {
        /// Name of the CSI driver This field is immutable.
        text() driver_name, with_driver_name: "driverName";
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// parameters hold volume attributes defined by the CSI driver.
        text_map() parameters, with_parameters: "parameters";
    }
}

crate::object! {
    /// CSIDriverSpec is the specification of a CSIDriver.
    CSIDriverSpec, CSIDriverSpecView {
        /// attachRequired indicates this CSI volume driver requires an attach operation (because it
        /// implements the CSI ControllerPublishVolume() method), and that the Kubernetes attach
        /// detach controller should call the attach volume interface which checks the
        /// volumeattachment status and waits until the volume is attached before proceeding to
        /// mounting.
        flag() attach_required, with_attach_required: "attachRequired";
        /// fsGroupPolicy defines if the underlying volume supports changing ownership and
        /// permission of the volume before being mounted.
        text() fs_group_policy, with_fs_group_policy: "fsGroupPolicy";
        /// nodeAllocatableUpdatePeriodSeconds specifies the interval between periodic updates of
        /// the CSINode allocatable capacity for this driver.
        long() node_allocatable_update_period_seconds, with_node_allocatable_update_period_seconds: "nodeAllocatableUpdatePeriodSeconds";
        /// podInfoOnMount indicates this CSI volume driver requires additional pod information
        /// (like podName, podUID, etc.) during mount operations, if set to true.
        flag() pod_info_on_mount, with_pod_info_on_mount: "podInfoOnMount";
        /// PreventPodSchedulingIfMissing indicates that the CSI driver wants to prevent pod
        /// scheduling if the CSI driver on the node is missing.
        flag() prevent_pod_scheduling_if_missing, with_prevent_pod_scheduling_if_missing: "preventPodSchedulingIfMissing";
        /// requiresRepublish indicates the CSI driver wants \`NodePublishVolume\` being
        /// periodically called to reflect any possible change in the mounted volume.
        flag() requires_republish, with_requires_republish: "requiresRepublish";
        /// seLinuxMount specifies if the CSI driver supports "-o context" mount option.
        flag() se_linux_mount, with_se_linux_mount: "seLinuxMount";
        /// serviceAccountTokenInSecrets is an opt-in for CSI drivers to indicate that service
        /// account tokens should be passed via the Secrets field in NodePublishVolumeRequest
        /// instead of the VolumeContext field.
        flag() service_account_token_in_secrets, with_service_account_token_in_secrets: "serviceAccountTokenInSecrets";
        /// storageCapacity indicates that the CSI volume driver wants pod scheduling to consider
        /// the storage capacity that the driver deployment will report by creating
        /// CSIStorageCapacity objects with capacity information, if set to true.
        flag() storage_capacity, with_storage_capacity: "storageCapacity";
        /// tokenRequests indicates the CSI driver needs pods' service account tokens it is mounting
        /// volume for to do necessary authentication.
        objects(TokenRequest, TokenRequestView) token_requests, with_token_requests: "tokenRequests";
        /// volumeLifecycleModes defines what kind of volumes this CSI volume driver supports.
        texts() volume_lifecycle_modes, with_volume_lifecycle_modes: "volumeLifecycleModes";
    }
}

crate::object! {
    /// CSINodeDriver holds information about the specification of one CSI driver installed on a
    /// node.
    CSINodeDriver(with_name: text), CSINodeDriverView {
        /// allocatable represents the volume resources of a node that are available for scheduling.
        object(VolumeNodeResources, VolumeNodeResourcesView) allocatable, with_allocatable: "allocatable";
        /// name represents the name of the CSI driver that this object refers to.
        text() name, with_name: "name";
        /// nodeID of the node from the driver point of view.
        text() node_id, with_node_id: "nodeID";
        /// topologyKeys is the list of keys supported by the driver.
        texts() topology_keys, with_topology_keys: "topologyKeys";
    }
}

crate::object! {
    /// CSINodeSpec holds information about the specification of all CSI drivers installed on a
    /// node.
    CSINodeSpec, CSINodeSpecView {
        /// drivers is a list of information of all CSI Drivers existing on a node.
        objects(CSINodeDriver, CSINodeDriverView) drivers, with_drivers: "drivers";
    }
}

crate::object! {
    /// TokenRequest contains parameters of a service account token.
    TokenRequest(with_audience: text), TokenRequestView {
        /// audience is the intended audience of the token in "TokenRequestSpec".
        text() audience, with_audience: "audience";
        /// expirationSeconds is the duration of validity of the token in "TokenRequestSpec".
        long() expiration_seconds, with_expiration_seconds: "expirationSeconds";
    }
}

crate::object! {
    /// VolumeAttachmentSource represents a volume that should be attached.
    VolumeAttachmentSource, VolumeAttachmentSourceView {
        /// inlineVolumeSpec contains all the information necessary to attach a persistent volume
        /// defined by a pod's inline VolumeSource.
        object(PersistentVolumeSpec, PersistentVolumeSpecView) inline_volume_spec, with_inline_volume_spec: "inlineVolumeSpec";
        /// persistentVolumeName represents the name of the persistent volume to attach.
        text() persistent_volume_name, with_persistent_volume_name: "persistentVolumeName";
    }
}

crate::object! {
    /// VolumeAttachmentSpec is the specification of a VolumeAttachment request.
    VolumeAttachmentSpec, VolumeAttachmentSpecView {
        /// attacher indicates the name of the volume driver that MUST handle this request.
        text() attacher, with_attacher: "attacher";
        /// nodeName represents the node that the volume should be attached to.
        text() node_name, with_node_name: "nodeName";
        /// source represents the volume that should be attached.
        object(VolumeAttachmentSource, VolumeAttachmentSourceView) source, with_source: "source";
    }
}

crate::object! {
    /// VolumeAttachmentStatus is the status of a VolumeAttachment request.
    VolumeAttachmentStatus, VolumeAttachmentStatusView {
        /// attachError represents the last error encountered during attach operation, if any.
        object(VolumeError, VolumeErrorView) attach_error, with_attach_error: "attachError";
        /// attached indicates the volume is successfully attached.
        flag() attached, with_attached: "attached";
        /// attachmentMetadata is populated with any information returned by the attach operation,
        /// upon successful attach, that must be passed into subsequent WaitForAttach or Mount
        /// calls.
        text_map() attachment_metadata, with_attachment_metadata: "attachmentMetadata";
        /// detachError represents the last error encountered during detach operation, if any.
        object(VolumeError, VolumeErrorView) detach_error, with_detach_error: "detachError";
    }
}

crate::object! {
    /// VolumeError captures an error encountered during a volume operation.
    VolumeError, VolumeErrorView {
        /// errorCode is a numeric gRPC code representing the error encountered during Attach or
        /// Detach operations.
        int() error_code, with_error_code: "errorCode";
        /// message represents the error encountered during Attach or Detach operation.
        text() message, with_message: "message";
        /// time represents the time the error was encountered.
        time() time, with_time: "time";
    }
}

crate::object! {
    /// VolumeNodeResources is a set of resource limits for scheduling of volumes.
    VolumeNodeResources, VolumeNodeResourcesView {
        /// count indicates the maximum number of unique volumes managed by the CSI driver that can
        /// be used on a node.
        int() count, with_count: "count";
    }
}

crate::choice! {
    /// A value of a field.
    ReclaimPolicy {
        Delete = "Delete",
        Recycle = "Recycle",
        Retain = "Retain",
    }
}

crate::choice! {
    /// A value of a field.
    VolumeBindingMode {
        Immediate = "Immediate",
        WaitForFirstConsumer = "WaitForFirstConsumer",
    }
}
