//! Types of `core`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// ConfigMap holds configuration data for pods to consume.
    ConfigMap, ConfigMapView, "v1" {
        /// BinaryData contains the binary data.
        byte_map() binary_data, with_binary_data: "binaryData";
        /// Data contains the configuration data.
        text_map() data, with_data: "data";
        /// Immutable, if set to true, ensures that data stored in the ConfigMap cannot be updated
        /// (only object metadata can be modified).
        flag() immutable, with_immutable: "immutable";
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
    }
}

crate::kind! {
    /// LimitRange sets resource usage limits for each kind of resource in a Namespace.
    LimitRange, LimitRangeView, "v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Spec defines the limits enforced.
        object(LimitRangeSpec, LimitRangeSpecView) spec, with_spec: "spec";
    }
}

crate::kind! {
    /// Namespace provides a scope for Names.
    Namespace, NamespaceView, "v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Spec defines the behavior of the Namespace.
        object(NamespaceSpec, NamespaceSpecView) spec, with_spec: "spec";
        /// Status describes the current status of a Namespace.
        object(NamespaceStatus, NamespaceStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// Node is a worker node in Kubernetes.
    Node, NodeView, "v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Spec defines the behavior of a node.
        object(NodeSpec, NodeSpecView) spec, with_spec: "spec";
        /// Most recently observed status of the node.
        object(NodeStatus, NodeStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// PersistentVolume (PV) is a storage resource provisioned by an administrator.
    PersistentVolume, PersistentVolumeView, "v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec defines a specification of a persistent volume owned by the cluster.
        object(PersistentVolumeSpec, PersistentVolumeSpecView) spec, with_spec: "spec";
        /// status represents the current information/status for the persistent volume.
        object(PersistentVolumeStatus, PersistentVolumeStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// PersistentVolumeClaim is a user's request for and claim to a persistent volume.
    PersistentVolumeClaim, PersistentVolumeClaimView, "v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec defines the desired characteristics of a volume requested by a pod author.
        object(PersistentVolumeClaimSpec, PersistentVolumeClaimSpecView) spec, with_spec: "spec";
        /// status represents the current information/status of a persistent volume claim.
        object(PersistentVolumeClaimStatus, PersistentVolumeClaimStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// Pod is a collection of containers that can run on a host.
    Pod, PodView, "v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Specification of the desired behavior of the pod.
        object(PodSpec, PodSpecView) spec, with_spec: "spec";
        /// Most recently observed status of the pod.
        object(PodStatus, PodStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// ResourceQuota sets aggregate quota restrictions enforced per namespace.
    ResourceQuota, ResourceQuotaView, "v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Spec defines the desired quota.
        object(ResourceQuotaSpec, ResourceQuotaSpecView) spec, with_spec: "spec";
        /// Status defines the actual enforced quota and its current usage.
        object(ResourceQuotaStatus, ResourceQuotaStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// Secret holds secret data of a certain type.
    Secret, SecretView, "v1" {
        /// Data contains the secret data.
        byte_map() data, with_data: "data";
        /// Immutable, if set to true, ensures that data stored in the Secret cannot be updated
        /// (only object metadata can be modified).
        flag() immutable, with_immutable: "immutable";
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// stringData allows specifying non-binary secret data in string form.
        text_map() string_data, with_string_data: "stringData";
        /// Used to facilitate programmatic handling of secret data.
        text() type_, with_type: "type";
    }
}

crate::kind! {
    /// Service is a named abstraction of software service (for example, mysql) consisting of local
    /// port (for example 3306) that the proxy listens on, and the selector that determines which
    /// pods will answer requests sent through the proxy.
    Service, ServiceView, "v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Spec defines the behavior of a service.
        object(ServiceSpec, ServiceSpecView) spec, with_spec: "spec";
        /// Most recently observed status of the service.
        object(ServiceStatus, ServiceStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// ServiceAccount binds together: \* a name, understood by users, and perhaps by peripheral
    /// systems, for an identity \* a principal that can be authenticated and authorized \* a set of
    /// secrets.
    ServiceAccount, ServiceAccountView, "v1" {
        /// AutomountServiceAccountToken indicates whether pods running as this service account
        /// should have an API token automatically mounted.
        flag() automount_service_account_token, with_automount_service_account_token: "automountServiceAccountToken";
        /// ImagePullSecrets is a list of references to secrets in the same namespace to use for
        /// pulling any images in pods that reference this ServiceAccount.
        objects(LocalObjectReference, LocalObjectReferenceView) image_pull_secrets, with_image_pull_secrets: "imagePullSecrets";
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Secrets is a list of the secrets in the same namespace that pods running using this
        /// ServiceAccount are allowed to use.
        objects(ObjectReference, ObjectReferenceView) secrets, with_secrets: "secrets";
    }
}

crate::object! {
    /// Represents a Persistent Disk resource in AWS.
    AWSElasticBlockStoreVolumeSource(with_volume_id: text), AWSElasticBlockStoreVolumeSourceView {
        /// fsType is the filesystem type of the volume that you want to mount.
        text() fs_type, with_fs_type: "fsType";
        /// partition is the partition in the volume that you want to mount.
        int() partition, with_partition: "partition";
        /// readOnly value true will force the readOnly setting in VolumeMounts.
        flag() read_only, with_read_only: "readOnly";
        /// volumeID is unique ID of the persistent disk resource in AWS (Amazon EBS volume).
        text() volume_id, with_volume_id: "volumeID";
    }
}

crate::object! {
    /// Affinity is a group of affinity scheduling rules.
    Affinity, AffinityView {
        /// Describes node affinity scheduling rules for the pod.
        object(NodeAffinity, NodeAffinityView) node_affinity, with_node_affinity: "nodeAffinity";
        /// Describes pod affinity scheduling rules (e.g.
        object(PodAffinity, PodAffinityView) pod_affinity, with_pod_affinity: "podAffinity";
        /// Describes pod anti-affinity scheduling rules (e.g.
        object(PodAntiAffinity, PodAntiAffinityView) pod_anti_affinity, with_pod_anti_affinity: "podAntiAffinity";
    }
}

crate::object! {
    /// AppArmorProfile defines a pod or container's AppArmor settings.
    AppArmorProfile(with_type: choice = AppArmorProfileType), AppArmorProfileView {
        /// localhostProfile indicates a profile loaded on the node that should be used.
        text() localhost_profile, with_localhost_profile: "localhostProfile";
        /// type indicates which kind of AppArmor profile will be applied.
        choice(AppArmorProfileType) type_, with_type: "type";
    }
}

crate::object! {
    /// AttachedVolume describes a volume attached to a node.
    AttachedVolume(with_name: text), AttachedVolumeView {
        /// DevicePath represents the device path where the volume should be available.
        text() device_path, with_device_path: "devicePath";
        /// Name of the attached volume.
        text() name, with_name: "name";
    }
}

crate::object! {
    /// AzureDisk represents an Azure Data Disk mount on the host and bind mount to the pod.
    AzureDiskVolumeSource, AzureDiskVolumeSourceView {
        /// cachingMode is the Host Caching mode: None, Read Only, Read Write.
        choice(CachingMode) caching_mode, with_caching_mode: "cachingMode";
        /// diskName is the Name of the data disk in the blob storage.
        text() disk_name, with_disk_name: "diskName";
        /// diskURI is the URI of data disk in the blob storage.
        text() disk_uri, with_disk_uri: "diskURI";
        /// fsType is Filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// kind expected values are Shared: multiple blob disks per storage account Dedicated:
        /// single blob disk per storage account Managed: azure managed data disk (only in managed
        /// availability set).
        choice(AzureDiskVolumeSourceKind) kind, with_kind: "kind";
        /// readOnly Defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
    }
}

crate::object! {
    /// AzureFile represents an Azure File Service mount on the host and bind mount to the pod.
    AzureFilePersistentVolumeSource, AzureFilePersistentVolumeSourceView {
        /// readOnly defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretName is the name of secret that contains Azure Storage Account Name and Key.
        text() secret_name, with_secret_name: "secretName";
        /// secretNamespace is the namespace of the secret that contains Azure Storage Account Name
        /// and Key default is the same as the Pod.
        text() secret_namespace, with_secret_namespace: "secretNamespace";
        /// shareName is the azure Share Name.
        text() share_name, with_share_name: "shareName";
    }
}

crate::object! {
    /// AzureFile represents an Azure File Service mount on the host and bind mount to the pod.
    AzureFileVolumeSource, AzureFileVolumeSourceView {
        /// readOnly defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretName is the name of secret that contains Azure Storage Account Name and Key.
        text() secret_name, with_secret_name: "secretName";
        /// shareName is the azure share Name.
        text() share_name, with_share_name: "shareName";
    }
}

crate::object! {
    /// Represents storage that is managed by an external CSI volume driver.
    CSIPersistentVolumeSource, CSIPersistentVolumeSourceView {
        /// controllerExpandSecretRef is a reference to the secret object containing sensitive
        /// information to pass to the CSI driver to complete the CSI ControllerExpandVolume call.
        object(SecretReference, SecretReferenceView) controller_expand_secret_ref, with_controller_expand_secret_ref: "controllerExpandSecretRef";
        /// controllerPublishSecretRef is a reference to the secret object containing sensitive
        /// information to pass to the CSI driver to complete the CSI ControllerPublishVolume and
        /// ControllerUnpublishVolume calls.
        object(SecretReference, SecretReferenceView) controller_publish_secret_ref, with_controller_publish_secret_ref: "controllerPublishSecretRef";
        /// driver is the name of the driver to use for this volume.
        text() driver, with_driver: "driver";
        /// fsType to mount.
        text() fs_type, with_fs_type: "fsType";
        /// nodeExpandSecretRef is a reference to the secret object containing sensitive information
        /// to pass to the CSI driver to complete the CSI NodeExpandVolume call.
        object(SecretReference, SecretReferenceView) node_expand_secret_ref, with_node_expand_secret_ref: "nodeExpandSecretRef";
        /// nodePublishSecretRef is a reference to the secret object containing sensitive
        /// information to pass to the CSI driver to complete the CSI NodePublishVolume and
        /// NodeUnpublishVolume calls.
        object(SecretReference, SecretReferenceView) node_publish_secret_ref, with_node_publish_secret_ref: "nodePublishSecretRef";
        /// nodeStageSecretRef is a reference to the secret object containing sensitive information
        /// to pass to the CSI driver to complete the CSI NodeStageVolume and NodeStageVolume and
        /// NodeUnstageVolume calls.
        object(SecretReference, SecretReferenceView) node_stage_secret_ref, with_node_stage_secret_ref: "nodeStageSecretRef";
        /// readOnly value to pass to ControllerPublishVolumeRequest.
        flag() read_only, with_read_only: "readOnly";
        /// volumeAttributes of the volume to publish.
        text_map() volume_attributes, with_volume_attributes: "volumeAttributes";
        /// volumeHandle is the unique volume name returned by the CSI volume plugin’s
        /// CreateVolume to refer to the volume on all subsequent calls.
        text() volume_handle, with_volume_handle: "volumeHandle";
    }
}

crate::object! {
    /// Represents a source location of a volume to mount, managed by an external CSI driver.
    CSIVolumeSource(with_driver: text), CSIVolumeSourceView {
        /// driver is the name of the CSI driver that handles this volume.
        text() driver, with_driver: "driver";
        /// fsType to mount.
        text() fs_type, with_fs_type: "fsType";
        /// nodePublishSecretRef is a reference to the secret object containing sensitive
        /// information to pass to the CSI driver to complete the CSI NodePublishVolume and
        /// NodeUnpublishVolume calls.
        object(LocalObjectReference, LocalObjectReferenceView) node_publish_secret_ref, with_node_publish_secret_ref: "nodePublishSecretRef";
        /// readOnly specifies a read-only configuration for the volume.
        flag() read_only, with_read_only: "readOnly";
        /// volumeAttributes stores driver-specific properties that are passed to the CSI driver.
        text_map() volume_attributes, with_volume_attributes: "volumeAttributes";
    }
}

crate::object! {
    /// Adds and removes POSIX capabilities from running containers.
    Capabilities, CapabilitiesView {
        /// Added capabilities.
        texts() add, with_add: "add";
        /// Removed capabilities.
        texts() drop, with_drop: "drop";
    }
}

crate::object! {
    /// Represents a Ceph Filesystem mount that lasts the lifetime of a pod Cephfs volumes do not
    /// support ownership management or SELinux relabeling.
    CephFSPersistentVolumeSource, CephFSPersistentVolumeSourceView {
        /// monitors is Required: Monitors is a collection of Ceph monitors More info:
        /// <https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it>.
        texts() monitors, with_monitors: "monitors";
        /// path is Optional: Used as the mounted root, rather than the full Ceph tree, default is
        /// /.
        text() path, with_path: "path";
        /// readOnly is Optional: Defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretFile is Optional: SecretFile is the path to key ring for User, default is
        /// /etc/ceph/user.secret More info:
        /// <https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it>.
        text() secret_file, with_secret_file: "secretFile";
        /// secretRef is Optional: SecretRef is reference to the authentication secret for User,
        /// default is empty.
        object(SecretReference, SecretReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// user is Optional: User is the rados user name, default is admin More info:
        /// <https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it>.
        text() user, with_user: "user";
    }
}

crate::object! {
    /// Represents a Ceph Filesystem mount that lasts the lifetime of a pod Cephfs volumes do not
    /// support ownership management or SELinux relabeling.
    CephFSVolumeSource, CephFSVolumeSourceView {
        /// monitors is Required: Monitors is a collection of Ceph monitors More info:
        /// <https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it>.
        texts() monitors, with_monitors: "monitors";
        /// path is Optional: Used as the mounted root, rather than the full Ceph tree, default is
        /// /.
        text() path, with_path: "path";
        /// readOnly is Optional: Defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretFile is Optional: SecretFile is the path to key ring for User, default is
        /// /etc/ceph/user.secret More info:
        /// <https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it>.
        text() secret_file, with_secret_file: "secretFile";
        /// secretRef is Optional: SecretRef is reference to the authentication secret for User,
        /// default is empty.
        object(LocalObjectReference, LocalObjectReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// user is optional: User is the rados user name, default is admin More info:
        /// <https://examples.k8s.io/volumes/cephfs/README.md#how-to-use-it>.
        text() user, with_user: "user";
    }
}

crate::object! {
    /// Represents a cinder volume resource in Openstack.
    CinderPersistentVolumeSource(with_volume_id: text), CinderPersistentVolumeSourceView {
        /// fsType Filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// readOnly is Optional: Defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretRef is Optional: points to a secret object containing parameters used to connect
        /// to OpenStack.
        object(SecretReference, SecretReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// volumeID used to identify the volume in cinder.
        text() volume_id, with_volume_id: "volumeID";
    }
}

crate::object! {
    /// Represents a cinder volume resource in Openstack.
    CinderVolumeSource(with_volume_id: text), CinderVolumeSourceView {
        /// fsType is the filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// readOnly defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretRef is optional: points to a secret object containing parameters used to connect
        /// to OpenStack.
        object(LocalObjectReference, LocalObjectReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// volumeID used to identify the volume in cinder.
        text() volume_id, with_volume_id: "volumeID";
    }
}

crate::object! {
    /// ClientIPConfig represents the configurations of Client IP based session affinity.
    ClientIPConfig, ClientIPConfigView {
        /// timeoutSeconds specifies the seconds of ClientIP type session sticky time.
        int() timeout_seconds, with_timeout_seconds: "timeoutSeconds";
    }
}

crate::object! {
    /// ClusterTrustBundleProjection describes how to select a set of ClusterTrustBundle objects and
    /// project their contents into the pod filesystem.
    ClusterTrustBundleProjection(with_path: text), ClusterTrustBundleProjectionView {
        /// Select all ClusterTrustBundles that match this label selector.
        object(LabelSelector, LabelSelectorView) label_selector, with_label_selector: "labelSelector";
        /// Select a single ClusterTrustBundle by object name.
        text() name, with_name: "name";
        /// If true, don't block pod startup if the referenced ClusterTrustBundle(s) aren't
        /// available.
        flag() optional, with_optional: "optional";
        /// Relative path from the volume root to write the bundle.
        text() path, with_path: "path";
        /// Select all ClusterTrustBundles that match this signer name.
        text() signer_name, with_signer_name: "signerName";
    }
}

crate::object! {
    /// ConfigMapEnvSource selects a ConfigMap to populate the environment variables with.
    ConfigMapEnvSource, ConfigMapEnvSourceView {
        /// Name of the referent.
        text() name, with_name: "name";
        /// Specify whether the ConfigMap must be defined.
        flag() optional, with_optional: "optional";
    }
}

crate::object! {
    /// Selects a key from a ConfigMap.
    ConfigMapKeySelector(with_key: text), ConfigMapKeySelectorView {
        /// The key to select.
        text() key, with_key: "key";
        /// Name of the referent.
        text() name, with_name: "name";
        /// Specify whether the ConfigMap or its key must be defined.
        flag() optional, with_optional: "optional";
    }
}

crate::object! {
    /// ConfigMapNodeConfigSource contains the information to reference a ConfigMap as a config
    /// source for the Node.
    ConfigMapNodeConfigSource(with_name: text), ConfigMapNodeConfigSourceView {
        /// KubeletConfigKey declares which key of the referenced ConfigMap corresponds to the
        /// KubeletConfiguration structure This field is required in all cases.
        text() kubelet_config_key, with_kubelet_config_key: "kubeletConfigKey";
        /// Name is the metadata.name of the referenced ConfigMap.
        text() name, with_name: "name";
        /// Namespace is the metadata.namespace of the referenced ConfigMap.
        text() namespace, with_namespace: "namespace";
        /// ResourceVersion is the metadata.ResourceVersion of the referenced ConfigMap.
        text() resource_version, with_resource_version: "resourceVersion";
        /// UID is the metadata.UID of the referenced ConfigMap.
        text() uid, with_uid: "uid";
    }
}

crate::object! {
    /// Adapts a ConfigMap into a projected volume.
    ConfigMapProjection, ConfigMapProjectionView {
        /// items if unspecified, each key-value pair in the Data field of the referenced ConfigMap
        /// will be projected into the volume as a file whose name is the key and content is the
        /// value.
        objects(KeyToPath, KeyToPathView) items, with_items: "items";
        /// Name of the referent.
        text() name, with_name: "name";
        /// optional specify whether the ConfigMap or its keys must be defined.
        flag() optional, with_optional: "optional";
    }
}

crate::object! {
    /// Adapts a ConfigMap into a volume.
    ConfigMapVolumeSource, ConfigMapVolumeSourceView {
        /// defaultMode is optional: mode bits used to set permissions on created files by default.
        int() default_mode, with_default_mode: "defaultMode";
        /// items if unspecified, each key-value pair in the Data field of the referenced ConfigMap
        /// will be projected into the volume as a file whose name is the key and content is the
        /// value.
        objects(KeyToPath, KeyToPathView) items, with_items: "items";
        /// Name of the referent.
        text() name, with_name: "name";
        /// optional specify whether the ConfigMap or its keys must be defined.
        flag() optional, with_optional: "optional";
    }
}

crate::object! {
    /// A single application container that you want to run within a pod.
    Container(with_name: text, with_image: text), ContainerView {
        /// Arguments to the entrypoint.
        texts() args, with_args: "args";
        /// Entrypoint array.
        texts() command, with_command: "command";
        /// List of environment variables to set in the container.
        objects(EnvVar, EnvVarView) env, with_env: "env";
        /// List of sources to populate environment variables in the container.
        objects(EnvFromSource, EnvFromSourceView) env_from, with_env_from: "envFrom";
        /// Container image name.
        text() image, with_image: "image";
        /// Image pull policy.
        choice(ImagePullPolicy) image_pull_policy, with_image_pull_policy: "imagePullPolicy";
        /// Actions that the management system should take in response to container lifecycle
        /// events.
        object(Lifecycle, LifecycleView) lifecycle, with_lifecycle: "lifecycle";
        /// Periodic probe of container liveness.
        object(Probe, ProbeView) liveness_probe, with_liveness_probe: "livenessProbe";
        /// Name of the container specified as a DNS\_LABEL.
        text() name, with_name: "name";
        /// List of ports to expose from the container.
        objects(ContainerPort, ContainerPortView) ports, with_ports: "ports";
        /// Periodic probe of container service readiness.
        object(Probe, ProbeView) readiness_probe, with_readiness_probe: "readinessProbe";
        /// Resources resize policy for the container.
        objects(ContainerResizePolicy, ContainerResizePolicyView) resize_policy, with_resize_policy: "resizePolicy";
        /// Compute Resources required by this container.
        object(ResourceRequirements, ResourceRequirementsView) resources, with_resources: "resources";
        /// RestartPolicy defines the restart behavior of individual containers in a pod.
        text() restart_policy, with_restart_policy: "restartPolicy";
        /// Represents a list of rules to be checked to determine if the container should be
        /// restarted on exit.
        objects(ContainerRestartRule, ContainerRestartRuleView) restart_policy_rules, with_restart_policy_rules: "restartPolicyRules";
        /// SecurityContext defines the security options the container should be run with.
        object(SecurityContext, SecurityContextView) security_context, with_security_context: "securityContext";
        /// StartupProbe indicates that the Pod has successfully initialized.
        object(Probe, ProbeView) startup_probe, with_startup_probe: "startupProbe";
        /// Whether this container should allocate a buffer for stdin in the container runtime.
        flag() stdin, with_stdin: "stdin";
        /// Whether the container runtime should close the stdin channel after it has been opened by
        /// a single attach.
        flag() stdin_once, with_stdin_once: "stdinOnce";
        /// Optional: Path at which the file to which the container's termination message will be
        /// written is mounted into the container's filesystem.
        text() termination_message_path, with_termination_message_path: "terminationMessagePath";
        /// Indicate how the termination message should be populated.
        choice(TerminationMessagePolicy) termination_message_policy, with_termination_message_policy: "terminationMessagePolicy";
        /// Whether this container should allocate a TTY for itself, also requires 'stdin' to be
        /// true.
        flag() tty, with_tty: "tty";
        /// volumeDevices is the list of block devices to be used by the container.
        objects(VolumeDevice, VolumeDeviceView) volume_devices, with_volume_devices: "volumeDevices";
        /// Pod volumes to mount into the container's filesystem.
        objects(VolumeMount, VolumeMountView) volume_mounts, with_volume_mounts: "volumeMounts";
        /// Container's working directory.
        text() working_dir, with_working_dir: "workingDir";
    }
}

crate::object! {
    /// ContainerExtendedResourceRequest has the mapping of container name, extended resource name
    /// to the device request name.
    ContainerExtendedResourceRequest, ContainerExtendedResourceRequestView {
        /// The name of the container requesting resources.
        text() container_name, with_container_name: "containerName";
        /// The name of the request in the special ResourceClaim which corresponds to the extended
        /// resource.
        text() request_name, with_request_name: "requestName";
        /// The name of the extended resource in that container which gets backed by DRA.
        text() resource_name, with_resource_name: "resourceName";
    }
}

crate::object! {
    /// Describe a container image.
    ContainerImage, ContainerImageView {
        /// Names by which this image is known.
        texts() names, with_names: "names";
        /// The size of the image in bytes.
        long() size_bytes, with_size_bytes: "sizeBytes";
    }
}

crate::object! {
    /// ContainerPort represents a network port in a single container.
    ContainerPort(with_container_port: int), ContainerPortView {
        /// Number of port to expose on the pod's IP address.
        int() container_port, with_container_port: "containerPort";
        /// The host IP to bind the external port to.
        text() host_ip, with_host_ip: "hostIP";
        /// Number of port to expose on the host.
        int() host_port, with_host_port: "hostPort";
        /// If specified, this must be an IANA\_SVC\_NAME and unique within the pod.
        text() name, with_name: "name";
        /// Protocol for port.
        choice(Protocol) protocol, with_protocol: "protocol";
    }
}

crate::object! {
    /// ContainerResizePolicy represents resource resize policy for the container.
    ContainerResizePolicy, ContainerResizePolicyView {
        /// Name of the resource to which this resource resize policy applies.
        text() resource_name, with_resource_name: "resourceName";
        /// Restart policy to apply when specified resource is resized.
        text() restart_policy, with_restart_policy: "restartPolicy";
    }
}

crate::object! {
    /// ContainerRestartRule describes how a container exit is handled.
    ContainerRestartRule(with_action: text), ContainerRestartRuleView {
        /// Specifies the action taken on a container exit if the requirements are satisfied.
        text() action, with_action: "action";
        /// Represents the exit codes to check on container exits.
        object(ContainerRestartRuleOnExitCodes, ContainerRestartRuleOnExitCodesView) exit_codes, with_exit_codes: "exitCodes";
    }
}

crate::object! {
    /// ContainerRestartRuleOnExitCodes describes the condition for handling an exited container
    /// based on its exit codes.
    ContainerRestartRuleOnExitCodes(with_operator: text), ContainerRestartRuleOnExitCodesView {
        /// Represents the relationship between the container exit code(s) and the specified values.
        text() operator, with_operator: "operator";
        /// Specifies the set of values to check for container exit codes.
        longs() values, with_values: "values";
    }
}

crate::object! {
    /// ContainerState holds a possible state of container.
    ContainerState, ContainerStateView {
        /// Details about a running container.
        object(ContainerStateRunning, ContainerStateRunningView) running, with_running: "running";
        /// Details about a terminated container.
        object(ContainerStateTerminated, ContainerStateTerminatedView) terminated, with_terminated: "terminated";
        /// Details about a waiting container.
        object(ContainerStateWaiting, ContainerStateWaitingView) waiting, with_waiting: "waiting";
    }
}

crate::object! {
    /// ContainerStateRunning is a running state of a container.
    ContainerStateRunning, ContainerStateRunningView {
        /// Time at which the container was last (re-)started.
        time() started_at, with_started_at: "startedAt";
    }
}

crate::object! {
    /// ContainerStateTerminated is a terminated state of a container.
    ContainerStateTerminated(with_exit_code: int), ContainerStateTerminatedView {
        /// Container's ID in the format '\<type\>://\<container\_id\>'.
        text() container_id, with_container_id: "containerID";
        /// Exit status from the last termination of the container.
        int() exit_code, with_exit_code: "exitCode";
        /// Time at which the container last terminated.
        time() finished_at, with_finished_at: "finishedAt";
        /// Message regarding the last termination of the container.
        text() message, with_message: "message";
        /// (brief) reason from the last termination of the container.
        text() reason, with_reason: "reason";
        /// Signal from the last termination of the container.
        int() signal, with_signal: "signal";
        /// Time at which previous execution of the container started.
        time() started_at, with_started_at: "startedAt";
    }
}

crate::object! {
    /// ContainerStateWaiting is a waiting state of a container.
    ContainerStateWaiting, ContainerStateWaitingView {
        /// Message regarding why the container is not yet running.
        text() message, with_message: "message";
        /// (brief) reason the container is not yet running.
        text() reason, with_reason: "reason";
    }
}

crate::object! {
    /// ContainerStatus contains details for the current status of this container.
    ContainerStatus(with_name: text), ContainerStatusView {
        /// AllocatedResources represents the compute resources allocated for this container by the
        /// node.
        text_map() allocated_resources, with_allocated_resources: "allocatedResources";
        /// AllocatedResourcesStatus represents the status of various resources allocated for this
        /// Pod.
        objects(ResourceStatus, ResourceStatusView) allocated_resources_status, with_allocated_resources_status: "allocatedResourcesStatus";
        /// ContainerID is the ID of the container in the format '\<type\>://\<container\_id\>'.
        text() container_id, with_container_id: "containerID";
        /// Image is the name of container image that the container is running.
        text() image, with_image: "image";
        /// ImageID is the image ID of the container's image.
        text() image_id, with_image_id: "imageID";
        /// LastTerminationState holds the last termination state of the container to help debug
        /// container crashes and restarts.
        object(ContainerState, ContainerStateView) last_state, with_last_state: "lastState";
        /// Name is a DNS\_LABEL representing the unique name of the container.
        text() name, with_name: "name";
        /// Ready specifies whether the container is currently passing its readiness check.
        flag() ready, with_ready: "ready";
        /// Resources represents the compute resource requests and limits that have been
        /// successfully enacted on the running container after it has been started or has been
        /// successfully resized.
        object(ResourceRequirements, ResourceRequirementsView) resources, with_resources: "resources";
        /// RestartCount holds the number of times the container has been restarted.
        int() restart_count, with_restart_count: "restartCount";
        /// Started indicates whether the container has finished its postStart lifecycle hook and
        /// passed its startup probe.
        flag() started, with_started: "started";
        /// State holds details about the container's current condition.
        object(ContainerState, ContainerStateView) state, with_state: "state";
        /// StopSignal reports the effective stop signal for this container.
        choice(StopSignal) stop_signal, with_stop_signal: "stopSignal";
        /// User represents user identity information initially attached to the first process of the
        /// container.
        object(ContainerUser, ContainerUserView) user, with_user: "user";
        /// Status of volume mounts.
        objects(VolumeMountStatus, VolumeMountStatusView) volume_mounts, with_volume_mounts: "volumeMounts";
    }
}

crate::object! {
    /// ContainerUser represents user identity information.
    ContainerUser, ContainerUserView {
        /// Linux holds user identity information initially attached to the first process of the
        /// containers in Linux.
        object(LinuxContainerUser, LinuxContainerUserView) linux, with_linux: "linux";
    }
}

crate::object! {
    /// DaemonEndpoint contains information about a single Daemon endpoint.
    DaemonEndpoint(with_port: int), DaemonEndpointView {
        /// Port number of the given endpoint.
        int() port, with_port: "Port";
    }
}

crate::object! {
    /// Represents downward API info for projecting into a projected volume.
    DownwardAPIProjection, DownwardAPIProjectionView {
        /// Items is a list of DownwardAPIVolume file.
        objects(DownwardAPIVolumeFile, DownwardAPIVolumeFileView) items, with_items: "items";
    }
}

crate::object! {
    /// DownwardAPIVolumeFile represents information to create the file containing the pod field.
    DownwardAPIVolumeFile(with_path: text), DownwardAPIVolumeFileView {
        /// Required: Selects a field of the pod: only annotations, labels, name, namespace and uid
        /// are supported.
        object(ObjectFieldSelector, ObjectFieldSelectorView) field_ref, with_field_ref: "fieldRef";
        /// Optional: mode bits used to set permissions on this file, must be an octal value between
        /// 0000 and 0777 or a decimal value between 0 and 511.
        int() mode, with_mode: "mode";
        /// Required: Path is the relative path name of the file to be created.
        text() path, with_path: "path";
        /// Selects a resource of the container: only resources limits and requests (limits.cpu,
        /// limits.memory, requests.cpu and requests.memory) are currently supported.
        object(ResourceFieldSelector, ResourceFieldSelectorView) resource_field_ref, with_resource_field_ref: "resourceFieldRef";
    }
}

crate::object! {
    /// DownwardAPIVolumeSource represents a volume containing downward API info.
    DownwardAPIVolumeSource, DownwardAPIVolumeSourceView {
        /// Optional: mode bits to use on created files by default.
        int() default_mode, with_default_mode: "defaultMode";
        /// Items is a list of downward API volume file.
        objects(DownwardAPIVolumeFile, DownwardAPIVolumeFileView) items, with_items: "items";
    }
}

crate::object! {
    /// Represents an empty directory for a pod.
    EmptyDirVolumeSource, EmptyDirVolumeSourceView {
        /// medium represents what type of storage medium should back this directory.
        text() medium, with_medium: "medium";
        /// sizeLimit is the total amount of local storage required for this EmptyDir volume.
        text() size_limit, with_size_limit: "sizeLimit";
    }
}

crate::object! {
    /// EnvFromSource represents the source of a set of ConfigMaps or Secrets.
    EnvFromSource, EnvFromSourceView {
        /// The ConfigMap to select from.
        object(ConfigMapEnvSource, ConfigMapEnvSourceView) config_map_ref, with_config_map_ref: "configMapRef";
        /// Optional text to prepend to the name of each environment variable.
        text() prefix, with_prefix: "prefix";
        /// The Secret to select from.
        object(SecretEnvSource, SecretEnvSourceView) secret_ref, with_secret_ref: "secretRef";
    }
}

crate::object! {
    /// EnvVar represents an environment variable present in a Container.
    EnvVar(with_name: text), EnvVarView {
        /// Name of the environment variable.
        text() name, with_name: "name";
        /// Variable references $(VAR\_NAME) are expanded using the previously defined environment
        /// variables in the container and any service environment variables.
        text() value, with_value: "value";
        /// Source for the environment variable's value.
        object(EnvVarSource, EnvVarSourceView) value_from, with_value_from: "valueFrom";
    }
}

crate::object! {
    /// EnvVarSource represents a source for the value of an EnvVar.
    EnvVarSource, EnvVarSourceView {
        /// Selects a key of a ConfigMap.
        object(ConfigMapKeySelector, ConfigMapKeySelectorView) config_map_key_ref, with_config_map_key_ref: "configMapKeyRef";
        /// Selects a field of the pod: supports metadata.name, metadata.namespace,
        /// \`metadata.labels\['\<KEY\>'\]\`, \`metadata.annotations\['\<KEY\>'\]\`, spec.nodeName,
        /// spec.serviceAccountName, status.hostIP, status.podIP, status.podIPs.
        object(ObjectFieldSelector, ObjectFieldSelectorView) field_ref, with_field_ref: "fieldRef";
        /// FileKeyRef selects a key of the env file.
        object(FileKeySelector, FileKeySelectorView) file_key_ref, with_file_key_ref: "fileKeyRef";
        /// Selects a resource of the container: only resources limits and requests (limits.cpu,
        /// limits.memory, limits.ephemeral-storage, requests.cpu, requests.memory and
        /// requests.ephemeral-storage) are currently supported.
        object(ResourceFieldSelector, ResourceFieldSelectorView) resource_field_ref, with_resource_field_ref: "resourceFieldRef";
        /// Selects a key of a secret in the pod's namespace.
        object(SecretKeySelector, SecretKeySelectorView) secret_key_ref, with_secret_key_ref: "secretKeyRef";
    }
}

crate::object! {
    /// An EphemeralContainer is a temporary container that you may add to an existing Pod for
    /// user-initiated activities such as debugging.
    EphemeralContainer(with_name: text, with_image: text), EphemeralContainerView {
        /// Arguments to the entrypoint.
        texts() args, with_args: "args";
        /// Entrypoint array.
        texts() command, with_command: "command";
        /// List of environment variables to set in the container.
        objects(EnvVar, EnvVarView) env, with_env: "env";
        /// List of sources to populate environment variables in the container.
        objects(EnvFromSource, EnvFromSourceView) env_from, with_env_from: "envFrom";
        /// Container image name.
        text() image, with_image: "image";
        /// Image pull policy.
        choice(ImagePullPolicy) image_pull_policy, with_image_pull_policy: "imagePullPolicy";
        /// Lifecycle is not allowed for ephemeral containers.
        object(Lifecycle, LifecycleView) lifecycle, with_lifecycle: "lifecycle";
        /// Probes are not allowed for ephemeral containers.
        object(Probe, ProbeView) liveness_probe, with_liveness_probe: "livenessProbe";
        /// Name of the ephemeral container specified as a DNS\_LABEL.
        text() name, with_name: "name";
        /// Ports are not allowed for ephemeral containers.
        objects(ContainerPort, ContainerPortView) ports, with_ports: "ports";
        /// Probes are not allowed for ephemeral containers.
        object(Probe, ProbeView) readiness_probe, with_readiness_probe: "readinessProbe";
        /// Resources resize policy for the container.
        objects(ContainerResizePolicy, ContainerResizePolicyView) resize_policy, with_resize_policy: "resizePolicy";
        /// Resources are not allowed for ephemeral containers.
        object(ResourceRequirements, ResourceRequirementsView) resources, with_resources: "resources";
        /// Restart policy for the container to manage the restart behavior of each container within
        /// a pod.
        text() restart_policy, with_restart_policy: "restartPolicy";
        /// Represents a list of rules to be checked to determine if the container should be
        /// restarted on exit.
        objects(ContainerRestartRule, ContainerRestartRuleView) restart_policy_rules, with_restart_policy_rules: "restartPolicyRules";
        /// Optional: SecurityContext defines the security options the ephemeral container should be
        /// run with.
        object(SecurityContext, SecurityContextView) security_context, with_security_context: "securityContext";
        /// Probes are not allowed for ephemeral containers.
        object(Probe, ProbeView) startup_probe, with_startup_probe: "startupProbe";
        /// Whether this container should allocate a buffer for stdin in the container runtime.
        flag() stdin, with_stdin: "stdin";
        /// Whether the container runtime should close the stdin channel after it has been opened by
        /// a single attach.
        flag() stdin_once, with_stdin_once: "stdinOnce";
        /// If set, the name of the container from PodSpec that this ephemeral container targets.
        text() target_container_name, with_target_container_name: "targetContainerName";
        /// Optional: Path at which the file to which the container's termination message will be
        /// written is mounted into the container's filesystem.
        text() termination_message_path, with_termination_message_path: "terminationMessagePath";
        /// Indicate how the termination message should be populated.
        choice(TerminationMessagePolicy) termination_message_policy, with_termination_message_policy: "terminationMessagePolicy";
        /// Whether this container should allocate a TTY for itself, also requires 'stdin' to be
        /// true.
        flag() tty, with_tty: "tty";
        /// volumeDevices is the list of block devices to be used by the container.
        objects(VolumeDevice, VolumeDeviceView) volume_devices, with_volume_devices: "volumeDevices";
        /// Pod volumes to mount into the container's filesystem.
        objects(VolumeMount, VolumeMountView) volume_mounts, with_volume_mounts: "volumeMounts";
        /// Container's working directory.
        text() working_dir, with_working_dir: "workingDir";
    }
}

crate::object! {
    /// Represents an ephemeral volume that is handled by a normal storage driver.
    EphemeralVolumeSource, EphemeralVolumeSourceView {
        /// Will be used to create a stand-alone PVC to provision the volume.
        object(PersistentVolumeClaimTemplate, PersistentVolumeClaimTemplateView) volume_claim_template, with_volume_claim_template: "volumeClaimTemplate";
    }
}

crate::object! {
    /// EventSource contains information for an event.
    EventSource, EventSourceView {
        /// Component from which the event is generated.
        text() component, with_component: "component";
        /// Node name on which the event is generated.
        text() host, with_host: "host";
    }
}

crate::object! {
    /// ExecAction describes a "run in container" action.
    ExecAction, ExecActionView {
        /// Command is the command line to execute inside the container, the working directory for
        /// the command is root ('/') in the container's filesystem.
        texts() command, with_command: "command";
    }
}

crate::object! {
    /// Represents a Fibre Channel volume.
    FCVolumeSource, FCVolumeSourceView {
        /// fsType is the filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// lun is Optional: FC target lun number.
        int() lun, with_lun: "lun";
        /// readOnly is Optional: Defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// targetWWNs is Optional: FC target worldwide names (WWNs).
        texts() target_wwns, with_target_wwns: "targetWWNs";
        /// wwids Optional: FC volume world wide identifiers (wwids) Either wwids or combination of
        /// targetWWNs and lun must be set, but not both simultaneously.
        texts() wwids, with_wwids: "wwids";
    }
}

crate::object! {
    /// FileKeySelector selects a key of the env file.
    FileKeySelector(with_key: text), FileKeySelectorView {
        /// The key within the env file.
        text() key, with_key: "key";
        /// Specify whether the file or its key must be defined.
        flag() optional, with_optional: "optional";
        /// The path within the volume from which to select the file.
        text() path, with_path: "path";
        /// The name of the volume mount containing the env file.
        text() volume_name, with_volume_name: "volumeName";
    }
}

crate::object! {
    /// FlexPersistentVolumeSource represents a generic persistent volume resource that is
    /// provisioned/attached using an exec based plugin.
    FlexPersistentVolumeSource(with_driver: text), FlexPersistentVolumeSourceView {
        /// driver is the name of the driver to use for this volume.
        text() driver, with_driver: "driver";
        /// fsType is the Filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// options is Optional: this field holds extra command options if any.
        text_map() options, with_options: "options";
        /// readOnly is Optional: defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretRef is Optional: SecretRef is reference to the secret object containing sensitive
        /// information to pass to the plugin scripts.
        object(SecretReference, SecretReferenceView) secret_ref, with_secret_ref: "secretRef";
    }
}

crate::object! {
    /// FlexVolume represents a generic volume resource that is provisioned/attached using an exec
    /// based plugin.
    FlexVolumeSource(with_driver: text), FlexVolumeSourceView {
        /// driver is the name of the driver to use for this volume.
        text() driver, with_driver: "driver";
        /// fsType is the filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// options is Optional: this field holds extra command options if any.
        text_map() options, with_options: "options";
        /// readOnly is Optional: defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretRef is Optional: secretRef is reference to the secret object containing sensitive
        /// information to pass to the plugin scripts.
        object(LocalObjectReference, LocalObjectReferenceView) secret_ref, with_secret_ref: "secretRef";
    }
}

crate::object! {
    /// Represents a Flocker volume mounted by the Flocker agent.
    FlockerVolumeSource, FlockerVolumeSourceView {
        /// datasetName is Name of the dataset stored as metadata -\> name on the dataset for
        /// Flocker should be considered as deprecated.
        text() dataset_name, with_dataset_name: "datasetName";
        /// datasetUUID is the UUID of the dataset.
        text() dataset_uuid, with_dataset_uuid: "datasetUUID";
    }
}

crate::object! {
    /// Represents a Persistent Disk resource in Google Compute Engine.
    GCEPersistentDiskVolumeSource(with_pd_name: text), GCEPersistentDiskVolumeSourceView {
        /// fsType is filesystem type of the volume that you want to mount.
        text() fs_type, with_fs_type: "fsType";
        /// partition is the partition in the volume that you want to mount.
        int() partition, with_partition: "partition";
        /// pdName is unique name of the PD resource in GCE.
        text() pd_name, with_pd_name: "pdName";
        /// readOnly here will force the ReadOnly setting in VolumeMounts.
        flag() read_only, with_read_only: "readOnly";
    }
}

crate::object! {
    /// GRPCAction specifies an action involving a GRPC service.
    GRPCAction(with_port: int), GRPCActionView {
        /// Port number of the gRPC service.
        int() port, with_port: "port";
        /// Service is the name of the service to place in the gRPC HealthCheckRequest (see
        /// <https://github.com/grpc/grpc/blob/master/doc/health-checking.md>).
        text() service, with_service: "service";
    }
}

crate::object! {
    /// Represents a volume that is populated with the contents of a git repository.
    GitRepoVolumeSource(with_repository: text), GitRepoVolumeSourceView {
        /// directory is the target directory name.
        text() directory, with_directory: "directory";
        /// repository is the URL.
        text() repository, with_repository: "repository";
        /// revision is the commit hash for the specified revision.
        text() revision, with_revision: "revision";
    }
}

crate::object! {
    /// Represents a Glusterfs mount that lasts the lifetime of a pod.
    GlusterfsPersistentVolumeSource, GlusterfsPersistentVolumeSourceView {
        /// endpoints is the endpoint name that details Glusterfs topology.
        text() endpoints, with_endpoints: "endpoints";
        /// endpointsNamespace is the namespace that contains Glusterfs endpoint.
        text() endpoints_namespace, with_endpoints_namespace: "endpointsNamespace";
        /// path is the Glusterfs volume path.
        text() path, with_path: "path";
        /// readOnly here will force the Glusterfs volume to be mounted with read-only permissions.
        flag() read_only, with_read_only: "readOnly";
    }
}

crate::object! {
    /// Represents a Glusterfs mount that lasts the lifetime of a pod.
    GlusterfsVolumeSource, GlusterfsVolumeSourceView {
        /// endpoints is the endpoint name that details Glusterfs topology.
        text() endpoints, with_endpoints: "endpoints";
        /// path is the Glusterfs volume path.
        text() path, with_path: "path";
        /// readOnly here will force the Glusterfs volume to be mounted with read-only permissions.
        flag() read_only, with_read_only: "readOnly";
    }
}

crate::object! {
    /// HTTPGetAction describes an action based on HTTP Get requests.
    HTTPGetAction(with_port: int_or_text), HTTPGetActionView {
        /// Host name to connect to, defaults to the pod IP.
        text() host, with_host: "host";
        /// Custom headers to set in the request.
        objects(HTTPHeader, HTTPHeaderView) http_headers, with_http_headers: "httpHeaders";
        /// Path to access on the HTTP server.
        text() path, with_path: "path";
        /// Name or number of the port to access on the container.
        int_or_text() port, with_port: "port";
        /// Scheme to use for connecting to the host.
        choice(HTTPGetActionScheme) scheme, with_scheme: "scheme";
    }
}

crate::object! {
    /// HTTPHeader describes a custom header to be used in HTTP probes.
    HTTPHeader(with_name: text), HTTPHeaderView {
        /// The header field name.
        text() name, with_name: "name";
        /// The header field value.
        text() value, with_value: "value";
    }
}

crate::object! {
    /// HostAlias holds the mapping between IP and hostnames that will be injected as an entry in
    /// the pod's hosts file.
    HostAlias(with_ip: text), HostAliasView {
        /// Hostnames for the above IP address.
        texts() hostnames, with_hostnames: "hostnames";
        /// IP address of the host file entry.
        text() ip, with_ip: "ip";
    }
}

crate::object! {
    /// HostIP represents a single IP address allocated to the host.
    HostIP(with_ip: text), HostIPView {
        /// IP is the IP address assigned to the host.
        text() ip, with_ip: "ip";
    }
}

crate::object! {
    /// Represents a host path mapped into a pod.
    HostPathVolumeSource(with_path: text), HostPathVolumeSourceView {
        /// path of the directory on the host.
        text() path, with_path: "path";
        /// type for HostPath Volume Defaults to "" More info:
        /// <https://kubernetes.io/docs/concepts/storage/volumes#hostpath>.
        choice(HostPathVolumeSourceType) type_, with_type: "type";
    }
}

crate::object! {
    /// ISCSIPersistentVolumeSource represents an ISCSI disk.
    ISCSIPersistentVolumeSource, ISCSIPersistentVolumeSourceView {
        /// chapAuthDiscovery defines whether support iSCSI Discovery CHAP authentication.
        flag() chap_auth_discovery, with_chap_auth_discovery: "chapAuthDiscovery";
        /// chapAuthSession defines whether support iSCSI Session CHAP authentication.
        flag() chap_auth_session, with_chap_auth_session: "chapAuthSession";
        /// fsType is the filesystem type of the volume that you want to mount.
        text() fs_type, with_fs_type: "fsType";
        /// initiatorName is the custom iSCSI Initiator Name.
        text() initiator_name, with_initiator_name: "initiatorName";
        /// iqn is Target iSCSI Qualified Name.
        text() iqn, with_iqn: "iqn";
        /// iscsiInterface is the interface Name that uses an iSCSI transport.
        text() iscsi_interface, with_iscsi_interface: "iscsiInterface";
        /// lun is iSCSI Target Lun number.
        int() lun, with_lun: "lun";
        /// portals is the iSCSI Target Portal List.
        texts() portals, with_portals: "portals";
        /// readOnly here will force the ReadOnly setting in VolumeMounts.
        flag() read_only, with_read_only: "readOnly";
        /// secretRef is the CHAP Secret for iSCSI target and initiator authentication.
        object(SecretReference, SecretReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// targetPortal is iSCSI Target Portal.
        text() target_portal, with_target_portal: "targetPortal";
    }
}

crate::object! {
    /// Represents an ISCSI disk.
    ISCSIVolumeSource, ISCSIVolumeSourceView {
        /// chapAuthDiscovery defines whether support iSCSI Discovery CHAP authentication.
        flag() chap_auth_discovery, with_chap_auth_discovery: "chapAuthDiscovery";
        /// chapAuthSession defines whether support iSCSI Session CHAP authentication.
        flag() chap_auth_session, with_chap_auth_session: "chapAuthSession";
        /// fsType is the filesystem type of the volume that you want to mount.
        text() fs_type, with_fs_type: "fsType";
        /// initiatorName is the custom iSCSI Initiator Name.
        text() initiator_name, with_initiator_name: "initiatorName";
        /// iqn is the target iSCSI Qualified Name.
        text() iqn, with_iqn: "iqn";
        /// iscsiInterface is the interface Name that uses an iSCSI transport.
        text() iscsi_interface, with_iscsi_interface: "iscsiInterface";
        /// lun represents iSCSI Target Lun number.
        int() lun, with_lun: "lun";
        /// portals is the iSCSI Target Portal List.
        texts() portals, with_portals: "portals";
        /// readOnly here will force the ReadOnly setting in VolumeMounts.
        flag() read_only, with_read_only: "readOnly";
        /// secretRef is the CHAP Secret for iSCSI target and initiator authentication.
        object(LocalObjectReference, LocalObjectReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// targetPortal is iSCSI Target Portal.
        text() target_portal, with_target_portal: "targetPortal";
    }
}

crate::object! {
    /// ImageVolumeSource represents a image volume resource.
    ImageVolumeSource, ImageVolumeSourceView {
        /// Policy for pulling OCI objects.
        choice(ImageVolumeSourcePullPolicy) pull_policy, with_pull_policy: "pullPolicy";
        /// Required: Image or artifact reference to be used.
        text() reference, with_reference: "reference";
    }
}

crate::object! {
    /// ImageVolumeStatus represents the image-based volume status.
    ImageVolumeStatus, ImageVolumeStatusView {
        /// ImageRef is the digest of the image used for this volume.
        text() image_ref, with_image_ref: "imageRef";
    }
}

crate::object! {
    /// Maps a string key to a path within a volume.
    KeyToPath(with_key: text), KeyToPathView {
        /// key is the key to project.
        text() key, with_key: "key";
        /// mode is Optional: mode bits used to set permissions on this file.
        int() mode, with_mode: "mode";
        /// path is the relative path of the file to map the key to.
        text() path, with_path: "path";
    }
}

crate::object! {
    /// Lifecycle describes actions that the management system should take in response to container
    /// lifecycle events.
    Lifecycle, LifecycleView {
        /// PostStart is called immediately after a container is created.
        object(LifecycleHandler, LifecycleHandlerView) post_start, with_post_start: "postStart";
        /// PreStop is called immediately before a container is terminated due to an API request or
        /// management event such as liveness/startup probe failure, preemption, resource
        /// contention, etc.
        object(LifecycleHandler, LifecycleHandlerView) pre_stop, with_pre_stop: "preStop";
        /// StopSignal defines which signal will be sent to a container when it is being stopped.
        choice(StopSignal) stop_signal, with_stop_signal: "stopSignal";
    }
}

crate::object! {
    /// LifecycleHandler defines a specific action that should be taken in a lifecycle hook.
    LifecycleHandler, LifecycleHandlerView {
        /// Exec specifies a command to execute in the container.
        object(ExecAction, ExecActionView) exec, with_exec: "exec";
        /// HTTPGet specifies an HTTP GET request to perform.
        object(HTTPGetAction, HTTPGetActionView) http_get, with_http_get: "httpGet";
        /// Sleep represents a duration that the container should sleep.
        object(SleepAction, SleepActionView) sleep, with_sleep: "sleep";
        /// Deprecated.
        object(TCPSocketAction, TCPSocketActionView) tcp_socket, with_tcp_socket: "tcpSocket";
    }
}

crate::object! {
    /// LimitRangeItem defines a min/max usage limit for any resource that matches on kind.
    LimitRangeItem(with_type: text), LimitRangeItemView {
        /// Default resource requirement limit value by resource name if resource limit is omitted.
        text_map() default, with_default: "default";
        /// DefaultRequest is the default resource requirement request value by resource name if
        /// resource request is omitted.
        text_map() default_request, with_default_request: "defaultRequest";
        /// Max usage constraints on this kind by resource name.
        text_map() max, with_max: "max";
        /// MaxLimitRequestRatio if specified, the named resource must have a request and limit that
        /// are both non-zero where limit divided by request is less than or equal to the enumerated
        /// value; this represents the max burst for the named resource.
        text_map() max_limit_request_ratio, with_max_limit_request_ratio: "maxLimitRequestRatio";
        /// Min usage constraints on this kind by resource name.
        text_map() min, with_min: "min";
        /// Type of resource that this limit applies to.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// LimitRangeSpec defines a min/max usage limit for resources that match on kind.
    LimitRangeSpec, LimitRangeSpecView {
        /// Limits is the list of LimitRangeItem objects that are enforced.
        objects(LimitRangeItem, LimitRangeItemView) limits, with_limits: "limits";
    }
}

crate::object! {
    /// LinuxContainerUser represents user identity information in Linux containers.
    LinuxContainerUser, LinuxContainerUserView {
        /// GID is the primary gid initially attached to the first process in the container.
        long() gid, with_gid: "gid";
        /// SupplementalGroups are the supplemental groups initially attached to the first process
        /// in the container.
        longs() supplemental_groups, with_supplemental_groups: "supplementalGroups";
        /// UID is the primary uid initially attached to the first process in the container.
        long() uid, with_uid: "uid";
    }
}

crate::object! {
    /// LoadBalancerIngress represents the status of a load-balancer ingress point: traffic intended
    /// for the service should be sent to an ingress point.
    LoadBalancerIngress, LoadBalancerIngressView {
        /// Hostname is set for load-balancer ingress points that are DNS based (typically AWS
        /// load-balancers).
        text() hostname, with_hostname: "hostname";
        /// IP is set for load-balancer ingress points that are IP based (typically GCE or OpenStack
        /// load-balancers).
        text() ip, with_ip: "ip";
        /// IPMode specifies how the load-balancer IP behaves, and may only be specified when the ip
        /// field is specified.
        text() ip_mode, with_ip_mode: "ipMode";
        /// Ports is a list of records of service ports If used, every port defined in the service
        /// should have an entry in it.
        objects(PortStatus, PortStatusView) ports, with_ports: "ports";
    }
}

crate::object! {
    /// LoadBalancerStatus represents the status of a load-balancer.
    LoadBalancerStatus, LoadBalancerStatusView {
        /// Ingress is a list containing ingress points for the load-balancer.
        objects(LoadBalancerIngress, LoadBalancerIngressView) ingress, with_ingress: "ingress";
    }
}

crate::object! {
    /// LocalObjectReference contains enough information to let you locate the referenced object
    /// inside the same namespace.
    LocalObjectReference, LocalObjectReferenceView {
        /// Name of the referent.
        text() name, with_name: "name";
    }
}

crate::object! {
    /// Local represents directly-attached storage with node affinity.
    LocalVolumeSource(with_path: text), LocalVolumeSourceView {
        /// fsType is the filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// path of the full path to the volume on the node.
        text() path, with_path: "path";
    }
}

crate::object! {
    /// ModifyVolumeStatus represents the status object of ControllerModifyVolume operation.
    ModifyVolumeStatus, ModifyVolumeStatusView {
        /// status is the status of the ControllerModifyVolume operation.
        choice(Statu) status, with_status: "status";
        /// targetVolumeAttributesClassName is the name of the VolumeAttributesClass the PVC
        /// currently being reconciled.
        text() target_volume_attributes_class_name, with_target_volume_attributes_class_name: "targetVolumeAttributesClassName";
    }
}

crate::object! {
    /// Represents an NFS mount that lasts the lifetime of a pod.
    NFSVolumeSource, NFSVolumeSourceView {
        /// path that is exported by the NFS server.
        text() path, with_path: "path";
        /// readOnly here will force the NFS export to be mounted with read-only permissions.
        flag() read_only, with_read_only: "readOnly";
        /// server is the hostname or IP address of the NFS server.
        text() server, with_server: "server";
    }
}

crate::object! {
    /// NamespaceCondition contains details about state of namespace.
    NamespaceCondition, NamespaceConditionView {
        /// Last time the condition transitioned from one status to another.
        time() last_transition_time, with_last_transition_time: "lastTransitionTime";
        /// Human-readable message indicating details about last transition.
        text() message, with_message: "message";
        /// Unique, one-word, CamelCase reason for the condition's last transition.
        text() reason, with_reason: "reason";
        /// Status of the condition, one of True, False, Unknown.
        text() status, with_status: "status";
        /// Type of namespace controller condition.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// NamespaceSpec describes the attributes on a Namespace.
    NamespaceSpec, NamespaceSpecView {
        /// Finalizers is an opaque list of values that must be empty to permanently remove object
        /// from storage.
        texts() finalizers, with_finalizers: "finalizers";
    }
}

crate::object! {
    /// NamespaceStatus is information about the current status of a Namespace.
    NamespaceStatus, NamespaceStatusView {
        /// Represents the latest available observations of a namespace's current state.
        objects(NamespaceCondition, NamespaceConditionView) conditions, with_conditions: "conditions";
        /// Phase is the current lifecycle phase of the namespace.
        choice(NamespacePhase) phase, with_phase: "phase";
    }
}

crate::object! {
    /// NodeAddress contains information for the node's address.
    NodeAddress, NodeAddressView {
        /// The node address.
        text() address, with_address: "address";
        /// Node address type, one of Hostname, ExternalIP or InternalIP.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// Node affinity is a group of node affinity scheduling rules.
    NodeAffinity, NodeAffinityView {
        /// The scheduler will prefer to schedule pods to nodes that satisfy the affinity
        /// expressions specified by this field, but it may choose a node that violates one or more
        /// of the expressions.
        objects(PreferredSchedulingTerm, PreferredSchedulingTermView) preferred_during_scheduling_ignored_during_execution, with_preferred_during_scheduling_ignored_during_execution: "preferredDuringSchedulingIgnoredDuringExecution";
        /// If the affinity requirements specified by this field are not met at scheduling time, the
        /// pod will not be scheduled onto the node.
        object(NodeSelector, NodeSelectorView) required_during_scheduling_ignored_during_execution, with_required_during_scheduling_ignored_during_execution: "requiredDuringSchedulingIgnoredDuringExecution";
    }
}

crate::object! {
    /// NodeAllocatableResourceClaimStatus describes the status of node allocatable resources
    /// allocated via DRA.
    NodeAllocatableResourceClaimStatus, NodeAllocatableResourceClaimStatusView {
        /// Containers lists the names of all containers in this pod that reference the claim.
        texts() containers, with_containers: "containers";
        /// ResourceClaimName is the resource claim referenced by the pod that resulted in this node
        /// allocatable resource allocation.
        text() resource_claim_name, with_resource_claim_name: "resourceClaimName";
        /// Resources is a map of the node-allocatable resource name to the aggregate quantity
        /// allocated to the claim.
        text_map() resources, with_resources: "resources";
    }
}

crate::object! {
    /// NodeCondition contains condition information for a node.
    NodeCondition, NodeConditionView {
        /// Last time we got an update on a given condition.
        time() last_heartbeat_time, with_last_heartbeat_time: "lastHeartbeatTime";
        /// Last time the condition transit from one status to another.
        time() last_transition_time, with_last_transition_time: "lastTransitionTime";
        /// Human readable message indicating details about last transition.
        text() message, with_message: "message";
        /// (brief) reason for the condition's last transition.
        text() reason, with_reason: "reason";
        /// Status of the condition, one of True, False, Unknown.
        text() status, with_status: "status";
        /// Type of node condition.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// NodeConfigSource specifies a source of node configuration.
    NodeConfigSource, NodeConfigSourceView {
        /// ConfigMap is a reference to a Node's ConfigMap.
        object(ConfigMapNodeConfigSource, ConfigMapNodeConfigSourceView) config_map, with_config_map: "configMap";
    }
}

crate::object! {
    /// NodeConfigStatus describes the status of the config assigned by Node.Spec.ConfigSource.
    NodeConfigStatus, NodeConfigStatusView {
        /// Active reports the checkpointed config the node is actively using.
        object(NodeConfigSource, NodeConfigSourceView) active, with_active: "active";
        /// Assigned reports the checkpointed config the node will try to use.
        object(NodeConfigSource, NodeConfigSourceView) assigned, with_assigned: "assigned";
        /// Error describes any problems reconciling the Spec.ConfigSource to the Active config.
        text() error, with_error: "error";
        /// LastKnownGood reports the checkpointed config the node will fall back to when it
        /// encounters an error attempting to use the Assigned config.
        object(NodeConfigSource, NodeConfigSourceView) last_known_good, with_last_known_good: "lastKnownGood";
    }
}

crate::object! {
    /// NodeDaemonEndpoints lists ports opened by daemons running on the Node.
    NodeDaemonEndpoints, NodeDaemonEndpointsView {
        /// Endpoint on which Kubelet is listening.
        object(DaemonEndpoint, DaemonEndpointView) kubelet_endpoint, with_kubelet_endpoint: "kubeletEndpoint";
    }
}

crate::object! {
    /// NodeFeatures describes the set of features implemented by the CRI implementation.
    NodeFeatures, NodeFeaturesView {
        /// SupplementalGroupsPolicy is set to true if the runtime supports SupplementalGroupsPolicy
        /// and ContainerUser.
        flag() supplemental_groups_policy, with_supplemental_groups_policy: "supplementalGroupsPolicy";
    }
}

crate::object! {
    /// NodeRuntimeHandler is a set of runtime handler information.
    NodeRuntimeHandler, NodeRuntimeHandlerView {
        /// Supported features.
        object(NodeRuntimeHandlerFeatures, NodeRuntimeHandlerFeaturesView) features, with_features: "features";
        /// Runtime handler name.
        text() name, with_name: "name";
    }
}

crate::object! {
    /// NodeRuntimeHandlerFeatures is a set of features implemented by the runtime handler.
    NodeRuntimeHandlerFeatures, NodeRuntimeHandlerFeaturesView {
        /// RecursiveReadOnlyMounts is set to true if the runtime handler supports
        /// RecursiveReadOnlyMounts.
        flag() recursive_read_only_mounts, with_recursive_read_only_mounts: "recursiveReadOnlyMounts";
        /// UserNamespaces is set to true if the runtime handler supports UserNamespaces, including
        /// for volumes.
        flag() user_namespaces, with_user_namespaces: "userNamespaces";
    }
}

crate::object! {
    /// A node selector represents the union of the results of one or more label queries over a set
    /// of nodes; that is, it represents the OR of the selectors represented by the node selector
    /// terms.
    NodeSelector, NodeSelectorView {
        /// Required.
        objects(NodeSelectorTerm, NodeSelectorTermView) node_selector_terms, with_node_selector_terms: "nodeSelectorTerms";
    }
}

crate::object! {
    /// A node selector requirement is a selector that contains values, a key, and an operator that
    /// relates the key and values.
    NodeSelectorRequirement(with_key: text), NodeSelectorRequirementView {
        /// The label key that the selector applies to.
        text() key, with_key: "key";
        /// Represents a key's relationship to a set of values.
        choice(NodeSelectorRequirementOperator) operator, with_operator: "operator";
        /// An array of string values.
        texts() values, with_values: "values";
    }
}

crate::object! {
    /// A null or empty node selector term matches no objects.
    NodeSelectorTerm, NodeSelectorTermView {
        /// A list of node selector requirements by node's labels.
        objects(NodeSelectorRequirement, NodeSelectorRequirementView) match_expressions, with_match_expressions: "matchExpressions";
        /// A list of node selector requirements by node's fields.
        objects(NodeSelectorRequirement, NodeSelectorRequirementView) match_fields, with_match_fields: "matchFields";
    }
}

crate::object! {
    /// NodeSpec describes the attributes that a node is created with.
    NodeSpec, NodeSpecView {
        /// Deprecated: Previously used to specify the source of the node's configuration for the
        /// DynamicKubeletConfig feature.
        object(NodeConfigSource, NodeConfigSourceView) config_source, with_config_source: "configSource";
        /// Deprecated.
        text() external_id, with_external_id: "externalID";
        /// PodCIDR represents the pod IP range assigned to the node.
        text() pod_cidr, with_pod_cidr: "podCIDR";
        /// podCIDRs represents the IP ranges assigned to the node for usage by Pods on that node.
        texts() pod_cidrs, with_pod_cidrs: "podCIDRs";
        /// ID of the node assigned by the cloud provider in the format:
        /// \<ProviderName\>://\<ProviderSpecificNodeID\>.
        text() provider_id, with_provider_id: "providerID";
        /// If specified, the node's taints.
        objects(Taint, TaintView) taints, with_taints: "taints";
        /// Unschedulable controls node schedulability of new pods.
        flag() unschedulable, with_unschedulable: "unschedulable";
    }
}

crate::object! {
    /// NodeStatus is information about the current status of a node.
    NodeStatus, NodeStatusView {
        /// List of addresses reachable to the node.
        objects(NodeAddress, NodeAddressView) addresses, with_addresses: "addresses";
        /// Allocatable represents the resources of a node that are available for scheduling.
        text_map() allocatable, with_allocatable: "allocatable";
        /// Capacity represents the total resources of a node.
        text_map() capacity, with_capacity: "capacity";
        /// Conditions is an array of current observed node conditions.
        objects(NodeCondition, NodeConditionView) conditions, with_conditions: "conditions";
        /// Status of the config assigned to the node via the dynamic Kubelet config feature.
        object(NodeConfigStatus, NodeConfigStatusView) config, with_config: "config";
        /// Endpoints of daemons running on the Node.
        object(NodeDaemonEndpoints, NodeDaemonEndpointsView) daemon_endpoints, with_daemon_endpoints: "daemonEndpoints";
        /// DeclaredFeatures represents the features related to feature gates that are declared by
        /// the node.
        texts() declared_features, with_declared_features: "declaredFeatures";
        /// Features describes the set of features implemented by the CRI implementation.
        object(NodeFeatures, NodeFeaturesView) features, with_features: "features";
        /// List of container images on this node.
        objects(ContainerImage, ContainerImageView) images, with_images: "images";
        /// Set of ids/uuids to uniquely identify the node.
        object(NodeSystemInfo, NodeSystemInfoView) node_info, with_node_info: "nodeInfo";
        /// NodePhase is the recently observed lifecycle phase of the node.
        choice(NodePhase) phase, with_phase: "phase";
        /// The available runtime handlers.
        objects(NodeRuntimeHandler, NodeRuntimeHandlerView) runtime_handlers, with_runtime_handlers: "runtimeHandlers";
        /// List of volumes that are attached to the node.
        objects(AttachedVolume, AttachedVolumeView) volumes_attached, with_volumes_attached: "volumesAttached";
        /// List of attachable volumes in use (mounted) by the node.
        texts() volumes_in_use, with_volumes_in_use: "volumesInUse";
    }
}

crate::object! {
    /// NodeSwapStatus represents swap memory information.
    NodeSwapStatus, NodeSwapStatusView {
        /// Total amount of swap memory in bytes.
        long() capacity, with_capacity: "capacity";
    }
}

crate::object! {
    /// NodeSystemInfo is a set of ids/uuids to uniquely identify the node.
    NodeSystemInfo, NodeSystemInfoView {
        /// The Architecture reported by the node.
        text() architecture, with_architecture: "architecture";
        /// Boot ID reported by the node.
        text() boot_id, with_boot_id: "bootID";
        /// ContainerRuntime Version reported by the node through runtime remote API (e.g.
        text() container_runtime_version, with_container_runtime_version: "containerRuntimeVersion";
        /// Kernel Version reported by the node from 'uname -r' (e.g.
        text() kernel_version, with_kernel_version: "kernelVersion";
        /// Deprecated: KubeProxy Version reported by the node.
        text() kube_proxy_version, with_kube_proxy_version: "kubeProxyVersion";
        /// Kubelet Version reported by the node.
        text() kubelet_version, with_kubelet_version: "kubeletVersion";
        /// MachineID reported by the node.
        text() machine_id, with_machine_id: "machineID";
        /// The Operating System reported by the node.
        text() operating_system, with_operating_system: "operatingSystem";
        /// OS Image reported by the node from /etc/os-release (e.g.
        text() os_image, with_os_image: "osImage";
        /// Swap Info reported by the node.
        object(NodeSwapStatus, NodeSwapStatusView) swap, with_swap: "swap";
        /// SystemUUID reported by the node.
        text() system_uuid, with_system_uuid: "systemUUID";
    }
}

crate::object! {
    /// ObjectFieldSelector selects an APIVersioned field of an object.
    ObjectFieldSelector(with_field_path: text), ObjectFieldSelectorView {
        /// Version of the schema the FieldPath is written in terms of, defaults to "v1".
        text() api_version, with_api_version: "apiVersion";
        /// Path of the field to select in the specified API version.
        text() field_path, with_field_path: "fieldPath";
    }
}

crate::object! {
    /// ObjectReference contains enough information to let you inspect or modify the referred
    /// object.
    ObjectReference, ObjectReferenceView {
        /// API version of the referent.
        text() api_version, with_api_version: "apiVersion";
        /// If referring to a piece of an object instead of an entire object, this string should
        /// contain a valid JSON/Go field access statement, such as
        /// desiredState.manifest.containers\[2\].
        text() field_path, with_field_path: "fieldPath";
        /// Kind of the referent.
        text() kind, with_kind: "kind";
        /// Name of the referent.
        text() name, with_name: "name";
        /// Namespace of the referent.
        text() namespace, with_namespace: "namespace";
        /// Specific resourceVersion to which this reference is made, if any.
        text() resource_version, with_resource_version: "resourceVersion";
        /// UID of the referent.
        text() uid, with_uid: "uid";
    }
}

crate::object! {
    /// PersistentVolumeClaimCondition contains details about state of pvc.
    PersistentVolumeClaimCondition, PersistentVolumeClaimConditionView {
        /// lastProbeTime is the time we probed the condition.
        time() last_probe_time, with_last_probe_time: "lastProbeTime";
        /// lastTransitionTime is the time the condition transitioned from one status to another.
        time() last_transition_time, with_last_transition_time: "lastTransitionTime";
        /// message is the human-readable message indicating details about last transition.
        text() message, with_message: "message";
        /// reason is a unique, this should be a short, machine understandable string that gives the
        /// reason for condition's last transition.
        text() reason, with_reason: "reason";
        /// Status is the status of the condition.
        text() status, with_status: "status";
        /// Type is the type of the condition.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// PersistentVolumeClaimSpec describes the common attributes of storage devices and allows a
    /// Source for provider-specific attributes.
    PersistentVolumeClaimSpec, PersistentVolumeClaimSpecView {
        /// accessModes contains the desired access modes the volume should have.
        choices(AccessMode) access_modes, with_access_modes: "accessModes";
        /// dataSource field can be used to specify either: \* An existing VolumeSnapshot object
        /// (snapshot.storage.k8s.io/VolumeSnapshot) \* An existing PVC (PersistentVolumeClaim) If
        /// the provisioner or an external controller can support the specified data source, it will
        /// create a new volume based on the contents of the specified data source.
        object(TypedLocalObjectReference, TypedLocalObjectReferenceView) data_source, with_data_source: "dataSource";
        /// dataSourceRef specifies the object from which to populate the volume with data, if a
        /// non-empty volume is desired.
        object(TypedObjectReference, TypedObjectReferenceView) data_source_ref, with_data_source_ref: "dataSourceRef";
        /// resources represents the minimum resources the volume should have.
        object(VolumeResourceRequirements, VolumeResourceRequirementsView) resources, with_resources: "resources";
        /// selector is a label query over volumes to consider for binding.
        object(LabelSelector, LabelSelectorView) selector, with_selector: "selector";
        /// storageClassName is the name of the StorageClass required by the claim.
        text() storage_class_name, with_storage_class_name: "storageClassName";
        /// volumeAttributesClassName may be used to set the VolumeAttributesClass used by this
        /// claim.
        text() volume_attributes_class_name, with_volume_attributes_class_name: "volumeAttributesClassName";
        /// volumeMode defines what type of volume is required by the claim.
        choice(VolumeMode) volume_mode, with_volume_mode: "volumeMode";
        /// volumeName is the binding reference to the PersistentVolume backing this claim.
        text() volume_name, with_volume_name: "volumeName";
    }
}

crate::object! {
    /// PersistentVolumeClaimStatus is the current status of a persistent volume claim.
    PersistentVolumeClaimStatus, PersistentVolumeClaimStatusView {
        /// accessModes contains the actual access modes the volume backing the PVC has.
        choices(AccessMode) access_modes, with_access_modes: "accessModes";
        /// allocatedResourceStatuses stores status of resource being resized for the given PVC.
        text_map() allocated_resource_statuses, with_allocated_resource_statuses: "allocatedResourceStatuses";
        /// allocatedResources tracks the resources allocated to a PVC including its capacity.
        text_map() allocated_resources, with_allocated_resources: "allocatedResources";
        /// capacity represents the actual resources of the underlying volume.
        text_map() capacity, with_capacity: "capacity";
        /// conditions is the current Condition of persistent volume claim.
        objects(PersistentVolumeClaimCondition, PersistentVolumeClaimConditionView) conditions, with_conditions: "conditions";
        /// currentVolumeAttributesClassName is the current name of the VolumeAttributesClass the
        /// PVC is using.
        text() current_volume_attributes_class_name, with_current_volume_attributes_class_name: "currentVolumeAttributesClassName";
        /// ModifyVolumeStatus represents the status object of ControllerModifyVolume operation.
        object(ModifyVolumeStatus, ModifyVolumeStatusView) modify_volume_status, with_modify_volume_status: "modifyVolumeStatus";
        /// phase represents the current phase of PersistentVolumeClaim.
        choice(PersistentVolumeClaimPhase) phase, with_phase: "phase";
    }
}

crate::object! {
    /// PersistentVolumeClaimTemplate is used to produce PersistentVolumeClaim objects as part of an
    /// EphemeralVolumeSource.
    PersistentVolumeClaimTemplate, PersistentVolumeClaimTemplateView {
        /// May contain labels and annotations that will be copied into the PVC when creating it.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// The specification for the PersistentVolumeClaim.
        object(PersistentVolumeClaimSpec, PersistentVolumeClaimSpecView) spec, with_spec: "spec";
    }
}

crate::object! {
    /// PersistentVolumeClaimVolumeSource references the user's PVC in the same namespace.
    PersistentVolumeClaimVolumeSource(with_claim_name: text), PersistentVolumeClaimVolumeSourceView {
        /// claimName is the name of a PersistentVolumeClaim in the same namespace as the pod using
        /// this volume.
        text() claim_name, with_claim_name: "claimName";
        /// readOnly Will force the ReadOnly setting in VolumeMounts.
        flag() read_only, with_read_only: "readOnly";
    }
}

crate::object! {
    /// PersistentVolumeSpec is the specification of a persistent volume.
    PersistentVolumeSpec, PersistentVolumeSpecView {
        /// accessModes contains all ways the volume can be mounted.
        choices(AccessMode) access_modes, with_access_modes: "accessModes";
        /// awsElasticBlockStore represents an AWS Disk resource that is attached to a kubelet's
        /// host machine and then exposed to the pod.
        object(AWSElasticBlockStoreVolumeSource, AWSElasticBlockStoreVolumeSourceView) aws_elastic_block_store, with_aws_elastic_block_store: "awsElasticBlockStore";
        /// azureDisk represents an Azure Data Disk mount on the host and bind mount to the pod.
        object(AzureDiskVolumeSource, AzureDiskVolumeSourceView) azure_disk, with_azure_disk: "azureDisk";
        /// azureFile represents an Azure File Service mount on the host and bind mount to the pod.
        object(AzureFilePersistentVolumeSource, AzureFilePersistentVolumeSourceView) azure_file, with_azure_file: "azureFile";
        /// capacity is the description of the persistent volume's resources and capacity.
        text_map() capacity, with_capacity: "capacity";
        /// cephFS represents a Ceph FS mount on the host that shares a pod's lifetime.
        object(CephFSPersistentVolumeSource, CephFSPersistentVolumeSourceView) cephfs, with_cephfs: "cephfs";
        /// cinder represents a cinder volume attached and mounted on kubelets host machine.
        object(CinderPersistentVolumeSource, CinderPersistentVolumeSourceView) cinder, with_cinder: "cinder";
        /// claimRef is part of a bi-directional binding between PersistentVolume and
        /// PersistentVolumeClaim.
        object(ObjectReference, ObjectReferenceView) claim_ref, with_claim_ref: "claimRef";
        /// csi represents storage that is handled by an external CSI driver.
        object(CSIPersistentVolumeSource, CSIPersistentVolumeSourceView) csi, with_csi: "csi";
        /// fc represents a Fibre Channel resource that is attached to a kubelet's host machine and
        /// then exposed to the pod.
        object(FCVolumeSource, FCVolumeSourceView) fc, with_fc: "fc";
        /// flexVolume represents a generic volume resource that is provisioned/attached using an
        /// exec based plugin.
        object(FlexPersistentVolumeSource, FlexPersistentVolumeSourceView) flex_volume, with_flex_volume: "flexVolume";
        /// flocker represents a Flocker volume attached to a kubelet's host machine and exposed to
        /// the pod for its usage.
        object(FlockerVolumeSource, FlockerVolumeSourceView) flocker, with_flocker: "flocker";
        /// gcePersistentDisk represents a GCE Disk resource that is attached to a kubelet's host
        /// machine and then exposed to the pod.
        object(GCEPersistentDiskVolumeSource, GCEPersistentDiskVolumeSourceView) gce_persistent_disk, with_gce_persistent_disk: "gcePersistentDisk";
        /// glusterfs represents a Glusterfs volume that is attached to a host and exposed to the
        /// pod.
        object(GlusterfsPersistentVolumeSource, GlusterfsPersistentVolumeSourceView) glusterfs, with_glusterfs: "glusterfs";
        /// hostPath represents a directory on the host.
        object(HostPathVolumeSource, HostPathVolumeSourceView) host_path, with_host_path: "hostPath";
        /// iscsi represents an ISCSI Disk resource that is attached to a kubelet's host machine and
        /// then exposed to the pod.
        object(ISCSIPersistentVolumeSource, ISCSIPersistentVolumeSourceView) iscsi, with_iscsi: "iscsi";
        /// local represents directly-attached storage with node affinity.
        object(LocalVolumeSource, LocalVolumeSourceView) local, with_local: "local";
        /// mountOptions is the list of mount options, e.g.
        texts() mount_options, with_mount_options: "mountOptions";
        /// nfs represents an NFS mount on the host.
        object(NFSVolumeSource, NFSVolumeSourceView) nfs, with_nfs: "nfs";
        /// nodeAffinity defines constraints that limit what nodes this volume can be accessed from.
        object(VolumeNodeAffinity, VolumeNodeAffinityView) node_affinity, with_node_affinity: "nodeAffinity";
        /// persistentVolumeReclaimPolicy defines what happens to a persistent volume when released
        /// from its claim.
        choice(PersistentVolumeReclaimPolicy) persistent_volume_reclaim_policy, with_persistent_volume_reclaim_policy: "persistentVolumeReclaimPolicy";
        /// photonPersistentDisk represents a PhotonController persistent disk attached and mounted
        /// on kubelets host machine.
        object(PhotonPersistentDiskVolumeSource, PhotonPersistentDiskVolumeSourceView) photon_persistent_disk, with_photon_persistent_disk: "photonPersistentDisk";
        /// portworxVolume represents a portworx volume attached and mounted on kubelets host
        /// machine.
        object(PortworxVolumeSource, PortworxVolumeSourceView) portworx_volume, with_portworx_volume: "portworxVolume";
        /// quobyte represents a Quobyte mount on the host that shares a pod's lifetime.
        object(QuobyteVolumeSource, QuobyteVolumeSourceView) quobyte, with_quobyte: "quobyte";
        /// rbd represents a Rados Block Device mount on the host that shares a pod's lifetime.
        object(RBDPersistentVolumeSource, RBDPersistentVolumeSourceView) rbd, with_rbd: "rbd";
        /// scaleIO represents a ScaleIO persistent volume attached and mounted on Kubernetes nodes.
        object(ScaleIOPersistentVolumeSource, ScaleIOPersistentVolumeSourceView) scale_io, with_scale_io: "scaleIO";
        /// storageClassName is the name of StorageClass to which this persistent volume belongs.
        text() storage_class_name, with_storage_class_name: "storageClassName";
        /// storageOS represents a StorageOS volume that is attached to the kubelet's host machine
        /// and mounted into the pod.
        object(StorageOSPersistentVolumeSource, StorageOSPersistentVolumeSourceView) storageos, with_storageos: "storageos";
        /// Name of VolumeAttributesClass to which this persistent volume belongs.
        text() volume_attributes_class_name, with_volume_attributes_class_name: "volumeAttributesClassName";
        /// volumeMode defines if a volume is intended to be used with a formatted filesystem or to
        /// remain in raw block state.
        choice(VolumeMode) volume_mode, with_volume_mode: "volumeMode";
        /// vsphereVolume represents a vSphere volume attached and mounted on kubelets host machine.
        object(VsphereVirtualDiskVolumeSource, VsphereVirtualDiskVolumeSourceView) vsphere_volume, with_vsphere_volume: "vsphereVolume";
    }
}

crate::object! {
    /// PersistentVolumeStatus is the current status of a persistent volume.
    PersistentVolumeStatus, PersistentVolumeStatusView {
        /// lastPhaseTransitionTime is the time the phase transitioned from one to another and
        /// automatically resets to current time everytime a volume phase transitions.
        time() last_phase_transition_time, with_last_phase_transition_time: "lastPhaseTransitionTime";
        /// message is a human-readable message indicating details about why the volume is in this
        /// state.
        text() message, with_message: "message";
        /// phase indicates if a volume is available, bound to a claim, or released by a claim.
        choice(PersistentVolumePhase) phase, with_phase: "phase";
        /// reason is a brief CamelCase string that describes any failure and is meant for machine
        /// parsing and tidy display in the CLI.
        text() reason, with_reason: "reason";
    }
}

crate::object! {
    /// Represents a Photon Controller persistent disk resource.
    PhotonPersistentDiskVolumeSource(with_pd_id: text), PhotonPersistentDiskVolumeSourceView {
        /// fsType is the filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// pdID is the ID that identifies Photon Controller persistent disk.
        text() pd_id, with_pd_id: "pdID";
    }
}

crate::object! {
    /// Pod affinity is a group of inter pod affinity scheduling rules.
    PodAffinity, PodAffinityView {
        /// The scheduler will prefer to schedule pods to nodes that satisfy the affinity
        /// expressions specified by this field, but it may choose a node that violates one or more
        /// of the expressions.
        objects(WeightedPodAffinityTerm, WeightedPodAffinityTermView) preferred_during_scheduling_ignored_during_execution, with_preferred_during_scheduling_ignored_during_execution: "preferredDuringSchedulingIgnoredDuringExecution";
        /// If the affinity requirements specified by this field are not met at scheduling time, the
        /// pod will not be scheduled onto the node.
        objects(PodAffinityTerm, PodAffinityTermView) required_during_scheduling_ignored_during_execution, with_required_during_scheduling_ignored_during_execution: "requiredDuringSchedulingIgnoredDuringExecution";
    }
}

crate::object! {
    /// Defines a set of pods (namely those matching the labelSelector relative to the given
    /// namespace(s)) that this pod should be co-located (affinity) or not co-located
    /// (anti-affinity) with, where co-located is defined as running on a node whose value of the
    /// label with key \<topologyKey\> matches that of any node on which a pod of the set of pods is
    /// running.
    PodAffinityTerm(with_topology_key: text), PodAffinityTermView {
        /// A label query over a set of resources, in this case pods.
        object(LabelSelector, LabelSelectorView) label_selector, with_label_selector: "labelSelector";
        /// MatchLabelKeys is a set of pod label keys to select which pods will be taken into
        /// consideration.
        texts() match_label_keys, with_match_label_keys: "matchLabelKeys";
        /// MismatchLabelKeys is a set of pod label keys to select which pods will be taken into
        /// consideration.
        texts() mismatch_label_keys, with_mismatch_label_keys: "mismatchLabelKeys";
        /// A label query over the set of namespaces that the term applies to.
        object(LabelSelector, LabelSelectorView) namespace_selector, with_namespace_selector: "namespaceSelector";
        /// namespaces specifies a static list of namespace names that the term applies to.
        texts() namespaces, with_namespaces: "namespaces";
        /// This pod should be co-located (affinity) or not co-located (anti-affinity) with the pods
        /// matching the labelSelector in the specified namespaces, where co-located is defined as
        /// running on a node whose value of the label with key topologyKey matches that of any node
        /// on which any of the selected pods is running.
        text() topology_key, with_topology_key: "topologyKey";
    }
}

crate::object! {
    /// Pod anti affinity is a group of inter pod anti affinity scheduling rules.
    PodAntiAffinity, PodAntiAffinityView {
        /// The scheduler will prefer to schedule pods to nodes that satisfy the anti-affinity
        /// expressions specified by this field, but it may choose a node that violates one or more
        /// of the expressions.
        objects(WeightedPodAffinityTerm, WeightedPodAffinityTermView) preferred_during_scheduling_ignored_during_execution, with_preferred_during_scheduling_ignored_during_execution: "preferredDuringSchedulingIgnoredDuringExecution";
        /// If the anti-affinity requirements specified by this field are not met at scheduling
        /// time, the pod will not be scheduled onto the node.
        objects(PodAffinityTerm, PodAffinityTermView) required_during_scheduling_ignored_during_execution, with_required_during_scheduling_ignored_during_execution: "requiredDuringSchedulingIgnoredDuringExecution";
    }
}

crate::object! {
    /// PodCertificateProjection provides a private key and X.509 certificate in the pod filesystem.
    PodCertificateProjection, PodCertificateProjectionView {
        /// Write the certificate chain at this path in the projected volume.
        text() certificate_chain_path, with_certificate_chain_path: "certificateChainPath";
        /// Write the credential bundle at this path in the projected volume.
        text() credential_bundle_path, with_credential_bundle_path: "credentialBundlePath";
        /// Write the key at this path in the projected volume.
        text() key_path, with_key_path: "keyPath";
        /// The type of keypair Kubelet will generate for the pod.
        text() key_type, with_key_type: "keyType";
        /// maxExpirationSeconds is the maximum lifetime permitted for the certificate.
        int() max_expiration_seconds, with_max_expiration_seconds: "maxExpirationSeconds";
        /// Kubelet's generated CSRs will be addressed to this signer.
        text() signer_name, with_signer_name: "signerName";
        /// userAnnotations allow pod authors to pass additional information to the signer
        /// implementation.
        text_map() user_annotations, with_user_annotations: "userAnnotations";
    }
}

crate::object! {
    /// PodCondition contains details for the current condition of this pod.
    PodCondition, PodConditionView {
        /// Last time we probed the condition.
        time() last_probe_time, with_last_probe_time: "lastProbeTime";
        /// Last time the condition transitioned from one status to another.
        time() last_transition_time, with_last_transition_time: "lastTransitionTime";
        /// Human-readable message indicating details about last transition.
        text() message, with_message: "message";
        /// If set, this represents the .metadata.generation that the pod condition was set based
        /// upon.
        long() observed_generation, with_observed_generation: "observedGeneration";
        /// Unique, one-word, CamelCase reason for the condition's last transition.
        text() reason, with_reason: "reason";
        /// Status is the status of the condition.
        text() status, with_status: "status";
        /// Type is the type of the condition.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// PodDNSConfig defines the DNS parameters of a pod in addition to those generated from
    /// DNSPolicy.
    PodDNSConfig, PodDNSConfigView {
        /// A list of DNS name server IP addresses.
        texts() nameservers, with_nameservers: "nameservers";
        /// A list of DNS resolver options.
        objects(PodDNSConfigOption, PodDNSConfigOptionView) options, with_options: "options";
        /// A list of DNS search domains for host-name lookup.
        texts() searches, with_searches: "searches";
    }
}

crate::object! {
    /// PodDNSConfigOption defines DNS resolver options of a pod.
    PodDNSConfigOption, PodDNSConfigOptionView {
        /// Name is this DNS resolver option's name.
        text() name, with_name: "name";
        /// Value is this DNS resolver option's value.
        text() value, with_value: "value";
    }
}

crate::object! {
    /// PodExtendedResourceClaimStatus is stored in the PodStatus for the extended resource requests
    /// backed by DRA.
    PodExtendedResourceClaimStatus, PodExtendedResourceClaimStatusView {
        /// RequestMappings identifies the mapping of \<container, extended resource backed by DRA\>
        /// to device request in the generated ResourceClaim.
        objects(ContainerExtendedResourceRequest, ContainerExtendedResourceRequestView) request_mappings, with_request_mappings: "requestMappings";
        /// ResourceClaimName is the name of the ResourceClaim that was generated for the Pod in the
        /// namespace of the Pod.
        text() resource_claim_name, with_resource_claim_name: "resourceClaimName";
    }
}

crate::object! {
    /// PodIP represents a single IP address allocated to the pod.
    PodIP(with_ip: text), PodIPView {
        /// IP is the IP address assigned to the pod.
        text() ip, with_ip: "ip";
    }
}

crate::object! {
    /// PodOS defines the OS parameters of a pod.
    PodOS(with_name: text), PodOSView {
        /// Name is the name of the operating system.
        text() name, with_name: "name";
    }
}

crate::object! {
    /// PodReadinessGate contains the reference to a pod condition.
    PodReadinessGate(with_condition_type: text), PodReadinessGateView {
        /// ConditionType refers to a condition in the pod's condition list with matching type.
        text() condition_type, with_condition_type: "conditionType";
    }
}

crate::object! {
    /// PodResourceClaim references exactly one ResourceClaim, either directly or by naming a
    /// ResourceClaimTemplate which is then turned into a ResourceClaim for the pod.
    PodResourceClaim(with_name: text), PodResourceClaimView {
        /// Name uniquely identifies this resource claim inside the pod.
        text() name, with_name: "name";
        /// ResourceClaimName is the name of a ResourceClaim object in the same namespace as this
        /// pod.
        text() resource_claim_name, with_resource_claim_name: "resourceClaimName";
        /// ResourceClaimTemplateName is the name of a ResourceClaimTemplate object in the same
        /// namespace as this pod.
        text() resource_claim_template_name, with_resource_claim_template_name: "resourceClaimTemplateName";
    }
}

crate::object! {
    /// PodResourceClaimStatus is stored in the PodStatus for each PodResourceClaim which references
    /// a ResourceClaimTemplate.
    PodResourceClaimStatus(with_name: text), PodResourceClaimStatusView {
        /// Name uniquely identifies this resource claim inside the pod.
        text() name, with_name: "name";
        /// ResourceClaimName is the name of the ResourceClaim that was generated for the Pod in the
        /// namespace of the Pod.
        text() resource_claim_name, with_resource_claim_name: "resourceClaimName";
    }
}

crate::object! {
    /// PodSchedulingGate is associated to a Pod to guard its scheduling.
    PodSchedulingGate(with_name: text), PodSchedulingGateView {
        /// Name of the scheduling gate.
        text() name, with_name: "name";
    }
}

crate::object! {
    /// PodSchedulingGroup identifies the runtime scheduling group instance that a Pod belongs to.
    PodSchedulingGroup, PodSchedulingGroupView {
        /// PodGroupName specifies the name of the standalone PodGroup object that represents the
        /// runtime instance of this group.
        text() pod_group_name, with_pod_group_name: "podGroupName";
    }
}

crate::object! {
    /// PodSecurityContext holds pod-level security attributes and common container settings.
    PodSecurityContext, PodSecurityContextView {
        /// appArmorProfile is the AppArmor options to use by the containers in this pod.
        object(AppArmorProfile, AppArmorProfileView) app_armor_profile, with_app_armor_profile: "appArmorProfile";
        /// A special supplemental group that applies to all containers in a pod.
        long() fs_group, with_fs_group: "fsGroup";
        /// fsGroupChangePolicy defines behavior of changing ownership and permission of the volume
        /// before being exposed inside Pod.
        choice(FsGroupChangePolicy) fs_group_change_policy, with_fs_group_change_policy: "fsGroupChangePolicy";
        /// The GID to run the entrypoint of the container process.
        long() run_as_group, with_run_as_group: "runAsGroup";
        /// Indicates that the container must run as a non-root user.
        flag() run_as_non_root, with_run_as_non_root: "runAsNonRoot";
        /// The UID to run the entrypoint of the container process.
        long() run_as_user, with_run_as_user: "runAsUser";
        /// seLinuxChangePolicy defines how the container's SELinux label is applied to all volumes
        /// used by the Pod.
        text() se_linux_change_policy, with_se_linux_change_policy: "seLinuxChangePolicy";
        /// The SELinux context to be applied to all containers.
        object(SELinuxOptions, SELinuxOptionsView) se_linux_options, with_se_linux_options: "seLinuxOptions";
        /// The seccomp options to use by the containers in this pod.
        object(SeccompProfile, SeccompProfileView) seccomp_profile, with_seccomp_profile: "seccompProfile";
        /// A list of groups applied to the first process run in each container, in addition to the
        /// container's primary GID and fsGroup (if specified).
        longs() supplemental_groups, with_supplemental_groups: "supplementalGroups";
        /// Defines how supplemental groups of the first container processes are calculated.
        choice(SupplementalGroupsPolicy) supplemental_groups_policy, with_supplemental_groups_policy: "supplementalGroupsPolicy";
        /// Sysctls hold a list of namespaced sysctls used for the pod.
        objects(Sysctl, SysctlView) sysctls, with_sysctls: "sysctls";
        /// The Windows specific settings applied to all containers.
        object(WindowsSecurityContextOptions, WindowsSecurityContextOptionsView) windows_options, with_windows_options: "windowsOptions";
    }
}

crate::object! {
    /// PodSpec is a description of a pod.
    PodSpec, PodSpecView {
        /// Optional duration in seconds the pod may be active on the node relative to StartTime
        /// before the system will actively try to mark it failed and kill associated containers.
        long() active_deadline_seconds, with_active_deadline_seconds: "activeDeadlineSeconds";
        /// If specified, the pod's scheduling constraints.
        object(Affinity, AffinityView) affinity, with_affinity: "affinity";
        /// AutomountServiceAccountToken indicates whether a service account token should be
        /// automatically mounted.
        flag() automount_service_account_token, with_automount_service_account_token: "automountServiceAccountToken";
        /// List of containers belonging to the pod.
        objects(Container, ContainerView) containers, with_containers: "containers";
        /// Specifies the DNS parameters of a pod.
        object(PodDNSConfig, PodDNSConfigView) dns_config, with_dns_config: "dnsConfig";
        /// Set DNS policy for the pod.
        choice(DnsPolicy) dns_policy, with_dns_policy: "dnsPolicy";
        /// EnableServiceLinks indicates whether information about services should be injected into
        /// pod's environment variables, matching the syntax of Docker links.
        flag() enable_service_links, with_enable_service_links: "enableServiceLinks";
        /// List of ephemeral containers run in this pod.
        objects(EphemeralContainer, EphemeralContainerView) ephemeral_containers, with_ephemeral_containers: "ephemeralContainers";
        /// HostAliases is an optional list of hosts and IPs that will be injected into the pod's
        /// hosts file if specified.
        objects(HostAlias, HostAliasView) host_aliases, with_host_aliases: "hostAliases";
        /// Use the host's ipc namespace.
        flag() host_ipc, with_host_ipc: "hostIPC";
        /// Host networking requested for this pod.
        flag() host_network, with_host_network: "hostNetwork";
        /// Use the host's pid namespace.
        flag() host_pid, with_host_pid: "hostPID";
        /// Use the host's user namespace.
        flag() host_users, with_host_users: "hostUsers";
        /// Specifies the hostname of the Pod If not specified, the pod's hostname will be set to a
        /// system-defined value.
        text() hostname, with_hostname: "hostname";
        /// HostnameOverride specifies an explicit override for the pod's hostname as perceived by
        /// the pod.
        text() hostname_override, with_hostname_override: "hostnameOverride";
        /// ImagePullSecrets is an optional list of references to secrets in the same namespace to
        /// use for pulling any of the images used by this PodSpec.
        objects(LocalObjectReference, LocalObjectReferenceView) image_pull_secrets, with_image_pull_secrets: "imagePullSecrets";
        /// List of initialization containers belonging to the pod.
        objects(Container, ContainerView) init_containers, with_init_containers: "initContainers";
        /// NodeName indicates in which node this pod is scheduled.
        text() node_name, with_node_name: "nodeName";
        /// NodeSelector is a selector which must be true for the pod to fit on a node.
        text_map() node_selector, with_node_selector: "nodeSelector";
        /// Specifies the OS of the containers in the pod.
        object(PodOS, PodOSView) os, with_os: "os";
        /// Overhead represents the resource overhead associated with running a pod for a given
        /// RuntimeClass.
        text_map() overhead, with_overhead: "overhead";
        /// PreemptionPolicy is the Policy for preempting pods with lower priority.
        choice(PreemptionPolicy) preemption_policy, with_preemption_policy: "preemptionPolicy";
        /// The priority value.
        int() priority, with_priority: "priority";
        /// If specified, indicates the pod's priority.
        text() priority_class_name, with_priority_class_name: "priorityClassName";
        /// If specified, all readiness gates will be evaluated for pod readiness.
        objects(PodReadinessGate, PodReadinessGateView) readiness_gates, with_readiness_gates: "readinessGates";
        /// ResourceClaims defines which ResourceClaims must be allocated and reserved before the
        /// Pod is allowed to start.
        objects(PodResourceClaim, PodResourceClaimView) resource_claims, with_resource_claims: "resourceClaims";
        /// Resources is the total amount of CPU and Memory resources required by all containers in
        /// the pod.
        object(ResourceRequirements, ResourceRequirementsView) resources, with_resources: "resources";
        /// Restart policy for all containers within the pod.
        choice(RestartPolicy) restart_policy, with_restart_policy: "restartPolicy";
        /// RuntimeClassName refers to a RuntimeClass object in the node.k8s.io group, which should
        /// be used to run this pod.
        text() runtime_class_name, with_runtime_class_name: "runtimeClassName";
        /// If specified, the pod will be dispatched by specified scheduler.
        text() scheduler_name, with_scheduler_name: "schedulerName";
        /// SchedulingGates is an opaque list of values that if specified will block scheduling the
        /// pod.
        objects(PodSchedulingGate, PodSchedulingGateView) scheduling_gates, with_scheduling_gates: "schedulingGates";
        /// SchedulingGroup provides a reference to the immediate scheduling runtime grouping object
        /// that this Pod belongs to.
        object(PodSchedulingGroup, PodSchedulingGroupView) scheduling_group, with_scheduling_group: "schedulingGroup";
        /// SecurityContext holds pod-level security attributes and common container settings.
        object(PodSecurityContext, PodSecurityContextView) security_context, with_security_context: "securityContext";
        /// DeprecatedServiceAccount is a deprecated alias for ServiceAccountName.
        text() service_account, with_service_account: "serviceAccount";
        /// ServiceAccountName is the name of the ServiceAccount to use to run this pod.
        text() service_account_name, with_service_account_name: "serviceAccountName";
        /// If true the pod's hostname will be configured as the pod's FQDN, rather than the leaf
        /// name (the default).
        flag() set_hostname_as_fqdn, with_set_hostname_as_fqdn: "setHostnameAsFQDN";
        /// Share a single process namespace between all of the containers in a pod.
        flag() share_process_namespace, with_share_process_namespace: "shareProcessNamespace";
        /// If specified, the fully qualified Pod hostname will be "\<hostname\>.\<subdomain\>.\<pod
        /// namespace\>.svc.\<cluster domain\>".
        text() subdomain, with_subdomain: "subdomain";
        /// Optional duration in seconds the pod needs to terminate gracefully.
        long() termination_grace_period_seconds, with_termination_grace_period_seconds: "terminationGracePeriodSeconds";
        /// If specified, the pod's tolerations.
        objects(Toleration, TolerationView) tolerations, with_tolerations: "tolerations";
        /// TopologySpreadConstraints describes how a group of pods ought to spread across topology
        /// domains.
        objects(TopologySpreadConstraint, TopologySpreadConstraintView) topology_spread_constraints, with_topology_spread_constraints: "topologySpreadConstraints";
        /// List of volumes that can be mounted by containers belonging to the pod.
        objects(Volume, VolumeView) volumes, with_volumes: "volumes";
    }
}

crate::object! {
    /// PodStatus represents information about the status of a pod.
    PodStatus, PodStatusView {
        /// AllocatedResources is the total requests allocated for this pod by the node.
        text_map() allocated_resources, with_allocated_resources: "allocatedResources";
        /// Current service state of pod.
        objects(PodCondition, PodConditionView) conditions, with_conditions: "conditions";
        /// Statuses of containers in this pod.
        objects(ContainerStatus, ContainerStatusView) container_statuses, with_container_statuses: "containerStatuses";
        /// Statuses for any ephemeral containers that have run in this pod.
        objects(ContainerStatus, ContainerStatusView) ephemeral_container_statuses, with_ephemeral_container_statuses: "ephemeralContainerStatuses";
        /// Status of extended resource claim backed by DRA.
        object(PodExtendedResourceClaimStatus, PodExtendedResourceClaimStatusView) extended_resource_claim_status, with_extended_resource_claim_status: "extendedResourceClaimStatus";
        /// hostIP holds the IP address of the host to which the pod is assigned.
        text() host_ip, with_host_ip: "hostIP";
        /// hostIPs holds the IP addresses allocated to the host.
        objects(HostIP, HostIPView) host_ips, with_host_ips: "hostIPs";
        /// Statuses of init containers in this pod.
        objects(ContainerStatus, ContainerStatusView) init_container_statuses, with_init_container_statuses: "initContainerStatuses";
        /// A human readable message indicating details about why the pod is in this condition.
        text() message, with_message: "message";
        /// NodeAllocatableResourceClaimStatuses contains the status of node-allocatable resources
        /// that were allocated for this pod through DRA claims.
        objects(NodeAllocatableResourceClaimStatus, NodeAllocatableResourceClaimStatusView) node_allocatable_resource_claim_statuses, with_node_allocatable_resource_claim_statuses: "nodeAllocatableResourceClaimStatuses";
        /// nominatedNodeName is set only when this pod preempts other pods on the node, but it
        /// cannot be scheduled right away as preemption victims receive their graceful termination
        /// periods.
        text() nominated_node_name, with_nominated_node_name: "nominatedNodeName";
        /// If set, this represents the .metadata.generation that the pod status was set based upon.
        long() observed_generation, with_observed_generation: "observedGeneration";
        /// The phase of a Pod is a simple, high-level summary of where the Pod is in its lifecycle.
        choice(PodPhase) phase, with_phase: "phase";
        /// podIP address allocated to the pod.
        text() pod_ip, with_pod_ip: "podIP";
        /// podIPs holds the IP addresses allocated to the pod.
        objects(PodIP, PodIPView) pod_ips, with_pod_ips: "podIPs";
        /// The Quality of Service (QOS) classification assigned to the pod based on resource
        /// requirements See PodQOSClass type for available QOS classes More info:
        /// <https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/#quality-of-service-classes>.
        choice(QosClass) qos_class, with_qos_class: "qosClass";
        /// A brief CamelCase message indicating details about why the pod is in this state.
        text() reason, with_reason: "reason";
        /// Status of resources resize desired for pod's containers.
        text() resize, with_resize: "resize";
        /// Status of resource claims.
        objects(PodResourceClaimStatus, PodResourceClaimStatusView) resource_claim_statuses, with_resource_claim_statuses: "resourceClaimStatuses";
        /// Resources represents the compute resource requests and limits that have been applied at
        /// the pod level if pod-level requests or limits are set in PodSpec.Resources.
        object(ResourceRequirements, ResourceRequirementsView) resources, with_resources: "resources";
        /// RFC 3339 date and time at which the object was acknowledged by the Kubelet.
        time() start_time, with_start_time: "startTime";
    }
}

crate::object! {
    /// PodTemplateSpec describes the data a pod should have when created from a template.
    PodTemplateSpec, PodTemplateSpecView {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Specification of the desired behavior of the pod.
        object(PodSpec, PodSpecView) spec, with_spec: "spec";
    }
}

crate::object! {
    /// PortStatus represents the error condition of a service port.
    PortStatus, PortStatusView {
        /// Error is to record the problem with the service port The format of the error shall
        /// comply with the following rules: - built-in error values shall be specified in this file
        /// and those shall use CamelCase names - cloud provider specific error values must have
        /// names that comply with the format foo.example.com/CamelCase.
        text() error, with_error: "error";
        /// Port is the port number of the service port of which status is recorded here.
        int() port, with_port: "port";
        /// Protocol is the protocol of the service port of which status is recorded here The
        /// supported values are: "TCP", "UDP", "SCTP".
        choice(Protocol) protocol, with_protocol: "protocol";
    }
}

crate::object! {
    /// PortworxVolumeSource represents a Portworx volume resource.
    PortworxVolumeSource(with_volume_id: text), PortworxVolumeSourceView {
        /// fSType represents the filesystem type to mount Must be a filesystem type supported by
        /// the host operating system.
        text() fs_type, with_fs_type: "fsType";
        /// readOnly defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// volumeID uniquely identifies a Portworx volume.
        text() volume_id, with_volume_id: "volumeID";
    }
}

crate::object! {
    /// An empty preferred scheduling term matches all objects with implicit weight 0 (i.e.
    PreferredSchedulingTerm, PreferredSchedulingTermView {
        /// A node selector term, associated with the corresponding weight.
        object(NodeSelectorTerm, NodeSelectorTermView) preference, with_preference: "preference";
        /// Weight associated with matching the corresponding nodeSelectorTerm, in the range 1-100.
        int() weight, with_weight: "weight";
    }
}

crate::object! {
    /// Probe describes a health check to be performed against a container to determine whether it
    /// is alive or ready to receive traffic.
    Probe, ProbeView {
        /// Exec specifies a command to execute in the container.
        object(ExecAction, ExecActionView) exec, with_exec: "exec";
        /// Minimum consecutive failures for the probe to be considered failed after having
        /// succeeded.
        int() failure_threshold, with_failure_threshold: "failureThreshold";
        /// GRPC specifies a GRPC HealthCheckRequest.
        object(GRPCAction, GRPCActionView) grpc, with_grpc: "grpc";
        /// HTTPGet specifies an HTTP GET request to perform.
        object(HTTPGetAction, HTTPGetActionView) http_get, with_http_get: "httpGet";
        /// Number of seconds after the container has started before liveness probes are initiated.
        int() initial_delay_seconds, with_initial_delay_seconds: "initialDelaySeconds";
        /// How often (in seconds) to perform the probe.
        int() period_seconds, with_period_seconds: "periodSeconds";
        /// Minimum consecutive successes for the probe to be considered successful after having
        /// failed.
        int() success_threshold, with_success_threshold: "successThreshold";
        /// TCPSocket specifies a connection to a TCP port.
        object(TCPSocketAction, TCPSocketActionView) tcp_socket, with_tcp_socket: "tcpSocket";
        /// Optional duration in seconds the pod needs to terminate gracefully upon probe failure.
        long() termination_grace_period_seconds, with_termination_grace_period_seconds: "terminationGracePeriodSeconds";
        /// Number of seconds after which the probe times out.
        int() timeout_seconds, with_timeout_seconds: "timeoutSeconds";
    }
}

crate::object! {
    /// Represents a projected volume source.
    ProjectedVolumeSource, ProjectedVolumeSourceView {
        /// defaultMode are the mode bits used to set permissions on created files by default.
        int() default_mode, with_default_mode: "defaultMode";
        /// sources is the list of volume projections.
        objects(VolumeProjection, VolumeProjectionView) sources, with_sources: "sources";
    }
}

crate::object! {
    /// Represents a Quobyte mount that lasts the lifetime of a pod.
    QuobyteVolumeSource, QuobyteVolumeSourceView {
        /// group to map volume access to Default is no group.
        text() group, with_group: "group";
        /// readOnly here will force the Quobyte volume to be mounted with read-only permissions.
        flag() read_only, with_read_only: "readOnly";
        /// registry represents a single or multiple Quobyte Registry services specified as a string
        /// as host:port pair (multiple entries are separated with commas) which acts as the central
        /// registry for volumes.
        text() registry, with_registry: "registry";
        /// tenant owning the given Quobyte volume in the Backend Used with dynamically provisioned
        /// Quobyte volumes, value is set by the plugin.
        text() tenant, with_tenant: "tenant";
        /// user to map volume access to Defaults to serivceaccount user.
        text() user, with_user: "user";
        /// volume is a string that references an already created Quobyte volume by name.
        text() volume, with_volume: "volume";
    }
}

crate::object! {
    /// Represents a Rados Block Device mount that lasts the lifetime of a pod.
    RBDPersistentVolumeSource, RBDPersistentVolumeSourceView {
        /// fsType is the filesystem type of the volume that you want to mount.
        text() fs_type, with_fs_type: "fsType";
        /// image is the rados image name.
        text() image, with_image: "image";
        /// keyring is the path to key ring for RBDUser.
        text() keyring, with_keyring: "keyring";
        /// monitors is a collection of Ceph monitors.
        texts() monitors, with_monitors: "monitors";
        /// pool is the rados pool name.
        text() pool, with_pool: "pool";
        /// readOnly here will force the ReadOnly setting in VolumeMounts.
        flag() read_only, with_read_only: "readOnly";
        /// secretRef is name of the authentication secret for RBDUser.
        object(SecretReference, SecretReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// user is the rados user name.
        text() user, with_user: "user";
    }
}

crate::object! {
    /// Represents a Rados Block Device mount that lasts the lifetime of a pod.
    RBDVolumeSource, RBDVolumeSourceView {
        /// fsType is the filesystem type of the volume that you want to mount.
        text() fs_type, with_fs_type: "fsType";
        /// image is the rados image name.
        text() image, with_image: "image";
        /// keyring is the path to key ring for RBDUser.
        text() keyring, with_keyring: "keyring";
        /// monitors is a collection of Ceph monitors.
        texts() monitors, with_monitors: "monitors";
        /// pool is the rados pool name.
        text() pool, with_pool: "pool";
        /// readOnly here will force the ReadOnly setting in VolumeMounts.
        flag() read_only, with_read_only: "readOnly";
        /// secretRef is name of the authentication secret for RBDUser.
        object(LocalObjectReference, LocalObjectReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// user is the rados user name.
        text() user, with_user: "user";
    }
}

crate::object! {
    /// ResourceClaim references one entry in PodSpec.ResourceClaims.
    ResourceClaim(with_name: text), ResourceClaimView {
        /// Name must match the name of one entry in pod.spec.resourceClaims of the Pod where this
        /// field is used.
        text() name, with_name: "name";
        /// Request is the name chosen for a request in the referenced claim.
        text() request, with_request: "request";
    }
}

crate::object! {
    /// ResourceFieldSelector represents container resources (cpu, memory) and their output format.
    ResourceFieldSelector(with_resource: text), ResourceFieldSelectorView {
        /// Container name: required for volumes, optional for env vars.
        text() container_name, with_container_name: "containerName";
        /// Specifies the output format of the exposed resources, defaults to "1".
        text() divisor, with_divisor: "divisor";
        /// Required: resource to select.
        text() resource, with_resource: "resource";
    }
}

crate::object! {
    /// ResourceHealth represents the health of a resource.
    ResourceHealth(with_resource_id: text), ResourceHealthView {
        /// Health of the resource.
        text() health, with_health: "health";
        /// Message provides human-readable context for Health (e.g.
        text() message, with_message: "message";
        /// ResourceID is the unique identifier of the resource.
        text() resource_id, with_resource_id: "resourceID";
    }
}

crate::object! {
    /// ResourceQuotaSpec defines the desired hard limits to enforce for Quota.
    ResourceQuotaSpec, ResourceQuotaSpecView {
        /// hard is the set of desired hard limits for each named resource.
        text_map() hard, with_hard: "hard";
        /// scopeSelector is also a collection of filters like scopes that must match each object
        /// tracked by a quota but expressed using ScopeSelectorOperator in combination with
        /// possible values.
        object(ScopeSelector, ScopeSelectorView) scope_selector, with_scope_selector: "scopeSelector";
        /// A collection of filters that must match each object tracked by a quota.
        choices(Scope) scopes, with_scopes: "scopes";
    }
}

crate::object! {
    /// ResourceQuotaStatus defines the enforced hard limits and observed use.
    ResourceQuotaStatus, ResourceQuotaStatusView {
        /// Hard is the set of enforced hard limits for each named resource.
        text_map() hard, with_hard: "hard";
        /// Used is the current observed total usage of the resource in the namespace.
        text_map() used, with_used: "used";
    }
}

crate::object! {
    /// ResourceRequirements describes the compute resource requirements.
    ResourceRequirements, ResourceRequirementsView {
        /// Claims lists the names of resources, defined in spec.resourceClaims, that are used by
        /// this container.
        objects(ResourceClaim, ResourceClaimView) claims, with_claims: "claims";
        /// Limits describes the maximum amount of compute resources allowed.
        text_map() limits, with_limits: "limits";
        /// Requests describes the minimum amount of compute resources required.
        text_map() requests, with_requests: "requests";
    }
}

crate::object! {
    /// ResourceStatus represents the status of a single resource allocated to a Pod.
    ResourceStatus(with_name: text), ResourceStatusView {
        /// Name of the resource.
        text() name, with_name: "name";
        /// List of unique resources health.
        objects(ResourceHealth, ResourceHealthView) resources, with_resources: "resources";
    }
}

crate::object! {
    /// SELinuxOptions are the labels to be applied to the container.
    SELinuxOptions, SELinuxOptionsView {
        /// Level is SELinux level label that applies to the container.
        text() level, with_level: "level";
        /// Role is a SELinux role label that applies to the container.
        text() role, with_role: "role";
        /// Type is a SELinux type label that applies to the container.
        text() type_, with_type: "type";
        /// User is a SELinux user label that applies to the container.
        text() user, with_user: "user";
    }
}

crate::object! {
    /// ScaleIOPersistentVolumeSource represents a persistent ScaleIO volume.
    ScaleIOPersistentVolumeSource, ScaleIOPersistentVolumeSourceView {
        /// fsType is the filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// gateway is the host address of the ScaleIO API Gateway.
        text() gateway, with_gateway: "gateway";
        /// protectionDomain is the name of the ScaleIO Protection Domain for the configured
        /// storage.
        text() protection_domain, with_protection_domain: "protectionDomain";
        /// readOnly defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretRef references to the secret for ScaleIO user and other sensitive information.
        object(SecretReference, SecretReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// sslEnabled is the flag to enable/disable SSL communication with Gateway, default false.
        flag() ssl_enabled, with_ssl_enabled: "sslEnabled";
        /// storageMode indicates whether the storage for a volume should be ThickProvisioned or
        /// ThinProvisioned.
        text() storage_mode, with_storage_mode: "storageMode";
        /// storagePool is the ScaleIO Storage Pool associated with the protection domain.
        text() storage_pool, with_storage_pool: "storagePool";
        /// system is the name of the storage system as configured in ScaleIO.
        text() system, with_system: "system";
        /// volumeName is the name of a volume already created in the ScaleIO system that is
        /// associated with this volume source.
        text() volume_name, with_volume_name: "volumeName";
    }
}

crate::object! {
    /// ScaleIOVolumeSource represents a persistent ScaleIO volume.
    ScaleIOVolumeSource, ScaleIOVolumeSourceView {
        /// fsType is the filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// gateway is the host address of the ScaleIO API Gateway.
        text() gateway, with_gateway: "gateway";
        /// protectionDomain is the name of the ScaleIO Protection Domain for the configured
        /// storage.
        text() protection_domain, with_protection_domain: "protectionDomain";
        /// readOnly Defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretRef references to the secret for ScaleIO user and other sensitive information.
        object(LocalObjectReference, LocalObjectReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// sslEnabled Flag enable/disable SSL communication with Gateway, default false.
        flag() ssl_enabled, with_ssl_enabled: "sslEnabled";
        /// storageMode indicates whether the storage for a volume should be ThickProvisioned or
        /// ThinProvisioned.
        text() storage_mode, with_storage_mode: "storageMode";
        /// storagePool is the ScaleIO Storage Pool associated with the protection domain.
        text() storage_pool, with_storage_pool: "storagePool";
        /// system is the name of the storage system as configured in ScaleIO.
        text() system, with_system: "system";
        /// volumeName is the name of a volume already created in the ScaleIO system that is
        /// associated with this volume source.
        text() volume_name, with_volume_name: "volumeName";
    }
}

crate::object! {
    /// A scope selector represents the AND of the selectors represented by the scoped-resource
    /// selector requirements.
    ScopeSelector, ScopeSelectorView {
        /// A list of scope selector requirements by scope of the resources.
        objects(ScopedResourceSelectorRequirement, ScopedResourceSelectorRequirementView) match_expressions, with_match_expressions: "matchExpressions";
    }
}

crate::object! {
    /// A scoped-resource selector requirement is a selector that contains values, a scope name, and
    /// an operator that relates the scope name and values.
    ScopedResourceSelectorRequirement, ScopedResourceSelectorRequirementView {
        /// Represents a scope's relationship to a set of values.
        choice(ScopedResourceSelectorRequirementOperator) operator, with_operator: "operator";
        /// The name of the scope that the selector applies to.
        choice(ScopeName) scope_name, with_scope_name: "scopeName";
        /// An array of string values.
        texts() values, with_values: "values";
    }
}

crate::object! {
    /// SeccompProfile defines a pod/container's seccomp profile settings.
    SeccompProfile(with_type: choice = SeccompProfileType), SeccompProfileView {
        /// localhostProfile indicates a profile defined in a file on the node should be used.
        text() localhost_profile, with_localhost_profile: "localhostProfile";
        /// type indicates which kind of seccomp profile will be applied.
        choice(SeccompProfileType) type_, with_type: "type";
    }
}

crate::object! {
    /// SecretEnvSource selects a Secret to populate the environment variables with.
    SecretEnvSource, SecretEnvSourceView {
        /// Name of the referent.
        text() name, with_name: "name";
        /// Specify whether the Secret must be defined.
        flag() optional, with_optional: "optional";
    }
}

crate::object! {
    /// SecretKeySelector selects a key of a Secret.
    SecretKeySelector(with_key: text), SecretKeySelectorView {
        /// The key of the secret to select from.
        text() key, with_key: "key";
        /// Name of the referent.
        text() name, with_name: "name";
        /// Specify whether the Secret or its key must be defined.
        flag() optional, with_optional: "optional";
    }
}

crate::object! {
    /// Adapts a secret into a projected volume.
    SecretProjection, SecretProjectionView {
        /// items if unspecified, each key-value pair in the Data field of the referenced Secret
        /// will be projected into the volume as a file whose name is the key and content is the
        /// value.
        objects(KeyToPath, KeyToPathView) items, with_items: "items";
        /// Name of the referent.
        text() name, with_name: "name";
        /// optional field specify whether the Secret or its key must be defined.
        flag() optional, with_optional: "optional";
    }
}

crate::object! {
    /// SecretReference represents a Secret Reference.
    SecretReference, SecretReferenceView {
        /// name is unique within a namespace to reference a secret resource.
        text() name, with_name: "name";
        /// namespace defines the space within which the secret name must be unique.
        text() namespace, with_namespace: "namespace";
    }
}

crate::object! {
    /// Adapts a Secret into a volume.
    SecretVolumeSource, SecretVolumeSourceView {
        /// defaultMode is Optional: mode bits used to set permissions on created files by default.
        int() default_mode, with_default_mode: "defaultMode";
        /// items If unspecified, each key-value pair in the Data field of the referenced Secret
        /// will be projected into the volume as a file whose name is the key and content is the
        /// value.
        objects(KeyToPath, KeyToPathView) items, with_items: "items";
        /// optional field specify whether the Secret or its keys must be defined.
        flag() optional, with_optional: "optional";
        /// secretName is the name of the secret in the pod's namespace to use.
        text() secret_name, with_secret_name: "secretName";
    }
}

crate::object! {
    /// SecurityContext holds security configuration that will be applied to a container.
    SecurityContext, SecurityContextView {
        /// AllowPrivilegeEscalation controls whether a process can gain more privileges than its
        /// parent process.
        flag() allow_privilege_escalation, with_allow_privilege_escalation: "allowPrivilegeEscalation";
        /// appArmorProfile is the AppArmor options to use by this container.
        object(AppArmorProfile, AppArmorProfileView) app_armor_profile, with_app_armor_profile: "appArmorProfile";
        /// The capabilities to add/drop when running containers.
        object(Capabilities, CapabilitiesView) capabilities, with_capabilities: "capabilities";
        /// Run container in privileged mode.
        flag() privileged, with_privileged: "privileged";
        /// procMount denotes the type of proc mount to use for the containers.
        choice(ProcMount) proc_mount, with_proc_mount: "procMount";
        /// Whether this container has a read-only root filesystem.
        flag() read_only_root_filesystem, with_read_only_root_filesystem: "readOnlyRootFilesystem";
        /// The GID to run the entrypoint of the container process.
        long() run_as_group, with_run_as_group: "runAsGroup";
        /// Indicates that the container must run as a non-root user.
        flag() run_as_non_root, with_run_as_non_root: "runAsNonRoot";
        /// The UID to run the entrypoint of the container process.
        long() run_as_user, with_run_as_user: "runAsUser";
        /// The SELinux context to be applied to the container.
        object(SELinuxOptions, SELinuxOptionsView) se_linux_options, with_se_linux_options: "seLinuxOptions";
        /// The seccomp options to use by this container.
        object(SeccompProfile, SeccompProfileView) seccomp_profile, with_seccomp_profile: "seccompProfile";
        /// The Windows specific settings applied to all containers.
        object(WindowsSecurityContextOptions, WindowsSecurityContextOptionsView) windows_options, with_windows_options: "windowsOptions";
    }
}

crate::object! {
    /// ServiceAccountTokenProjection represents a projected service account token volume.
    ServiceAccountTokenProjection(with_path: text), ServiceAccountTokenProjectionView {
        /// audience is the intended audience of the token.
        text() audience, with_audience: "audience";
        /// expirationSeconds is the requested duration of validity of the service account token.
        long() expiration_seconds, with_expiration_seconds: "expirationSeconds";
        /// path is the path relative to the mount point of the file to project the token into.
        text() path, with_path: "path";
    }
}

crate::object! {
    /// ServicePort contains information on service's port.
    ServicePort(with_port: int), ServicePortView {
        /// The application protocol for this port.
        text() app_protocol, with_app_protocol: "appProtocol";
        /// The name of this port within the service.
        text() name, with_name: "name";
        /// The port on each node on which this service is exposed when type is NodePort or
        /// LoadBalancer.
        int() node_port, with_node_port: "nodePort";
        /// The port that will be exposed by this service.
        int() port, with_port: "port";
        /// The IP protocol for this port.
        choice(Protocol) protocol, with_protocol: "protocol";
        /// Number or name of the port to access on the pods targeted by the service.
        int_or_text() target_port, with_target_port: "targetPort";
    }
}

crate::object! {
    /// ServiceSpec describes the attributes that a user creates on a service.
    ServiceSpec, ServiceSpecView {
        /// allocateLoadBalancerNodePorts defines if NodePorts will be automatically allocated for
        /// services with type LoadBalancer.
        flag() allocate_load_balancer_node_ports, with_allocate_load_balancer_node_ports: "allocateLoadBalancerNodePorts";
        /// clusterIP is the IP address of the service and is usually assigned randomly.
        text() cluster_ip, with_cluster_ip: "clusterIP";
        /// ClusterIPs is a list of IP addresses assigned to this service, and are usually assigned
        /// randomly.
        texts() cluster_ips, with_cluster_ips: "clusterIPs";
        /// externalIPs is a list of IP addresses for which nodes in the cluster will also accept
        /// traffic for this service.
        texts() external_ips, with_external_ips: "externalIPs";
        /// externalName is the external reference that discovery mechanisms will return as an alias
        /// for this service (e.g.
        text() external_name, with_external_name: "externalName";
        /// externalTrafficPolicy describes how nodes distribute service traffic they receive on one
        /// of the Service's "externally-facing" addresses (NodePorts, ExternalIPs, and LoadBalancer
        /// IPs).
        choice(ExternalTrafficPolicy) external_traffic_policy, with_external_traffic_policy: "externalTrafficPolicy";
        /// healthCheckNodePort specifies the healthcheck nodePort for the service.
        int() health_check_node_port, with_health_check_node_port: "healthCheckNodePort";
        /// InternalTrafficPolicy describes how nodes distribute service traffic they receive on the
        /// ClusterIP.
        choice(InternalTrafficPolicy) internal_traffic_policy, with_internal_traffic_policy: "internalTrafficPolicy";
        /// IPFamilies is a list of IP families (e.g.
        choices(IpFamily) ip_families, with_ip_families: "ipFamilies";
        /// IPFamilyPolicy represents the dual-stack-ness requested or required by this Service.
        choice(IpFamilyPolicy) ip_family_policy, with_ip_family_policy: "ipFamilyPolicy";
        /// loadBalancerClass is the class of the load balancer implementation this Service belongs
        /// to.
        text() load_balancer_class, with_load_balancer_class: "loadBalancerClass";
        /// Only applies to Service Type: LoadBalancer.
        text() load_balancer_ip, with_load_balancer_ip: "loadBalancerIP";
        /// If specified and supported by the platform, this will restrict traffic through the
        /// cloud-provider load-balancer will be restricted to the specified client IPs.
        texts() load_balancer_source_ranges, with_load_balancer_source_ranges: "loadBalancerSourceRanges";
        /// The list of ports that are exposed by this service.
        objects(ServicePort, ServicePortView) ports, with_ports: "ports";
        /// publishNotReadyAddresses indicates that any agent which deals with endpoints for this
        /// Service should disregard any indications of ready/not-ready.
        flag() publish_not_ready_addresses, with_publish_not_ready_addresses: "publishNotReadyAddresses";
        /// Route service traffic to pods with label keys and values matching this selector.
        text_map() selector, with_selector: "selector";
        /// Supports "ClientIP" and "None".
        choice(SessionAffinity) session_affinity, with_session_affinity: "sessionAffinity";
        /// sessionAffinityConfig contains the configurations of session affinity.
        object(SessionAffinityConfig, SessionAffinityConfigView) session_affinity_config, with_session_affinity_config: "sessionAffinityConfig";
        /// TrafficDistribution offers a way to express preferences for how traffic is distributed
        /// to Service endpoints.
        text() traffic_distribution, with_traffic_distribution: "trafficDistribution";
        /// type determines how the Service is exposed.
        choice(ServiceType) type_, with_type: "type";
    }
}

crate::object! {
    /// ServiceStatus represents the current status of a service.
    ServiceStatus, ServiceStatusView {
        /// Current service state.
        objects(Condition, ConditionView) conditions, with_conditions: "conditions";
        /// LoadBalancer contains the current status of the load-balancer, if one is present.
        object(LoadBalancerStatus, LoadBalancerStatusView) load_balancer, with_load_balancer: "loadBalancer";
    }
}

crate::object! {
    /// SessionAffinityConfig represents the configurations of session affinity.
    SessionAffinityConfig, SessionAffinityConfigView {
        /// clientIP contains the configurations of Client IP based session affinity.
        object(ClientIPConfig, ClientIPConfigView) client_ip, with_client_ip: "clientIP";
    }
}

crate::object! {
    /// SleepAction describes a "sleep" action.
    SleepAction, SleepActionView {
        /// Seconds is the number of seconds to sleep.
        long() seconds, with_seconds: "seconds";
    }
}

crate::object! {
    /// Represents a StorageOS persistent volume resource.
    StorageOSPersistentVolumeSource, StorageOSPersistentVolumeSourceView {
        /// fsType is the filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// readOnly defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretRef specifies the secret to use for obtaining the StorageOS API credentials.
        object(ObjectReference, ObjectReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// volumeName is the human-readable name of the StorageOS volume.
        text() volume_name, with_volume_name: "volumeName";
        /// volumeNamespace specifies the scope of the volume within StorageOS.
        text() volume_namespace, with_volume_namespace: "volumeNamespace";
    }
}

crate::object! {
    /// Represents a StorageOS persistent volume resource.
    StorageOSVolumeSource, StorageOSVolumeSourceView {
        /// fsType is the filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// readOnly defaults to false (read/write).
        flag() read_only, with_read_only: "readOnly";
        /// secretRef specifies the secret to use for obtaining the StorageOS API credentials.
        object(LocalObjectReference, LocalObjectReferenceView) secret_ref, with_secret_ref: "secretRef";
        /// volumeName is the human-readable name of the StorageOS volume.
        text() volume_name, with_volume_name: "volumeName";
        /// volumeNamespace specifies the scope of the volume within StorageOS.
        text() volume_namespace, with_volume_namespace: "volumeNamespace";
    }
}

crate::object! {
    /// Sysctl defines a kernel parameter to be set.
    Sysctl(with_name: text), SysctlView {
        /// Name of a property to set.
        text() name, with_name: "name";
        /// Value of a property to set.
        text() value, with_value: "value";
    }
}

crate::object! {
    /// TCPSocketAction describes an action based on opening a socket.
    TCPSocketAction(with_port: int_or_text), TCPSocketActionView {
        /// Optional: Host name to connect to, defaults to the pod IP.
        text() host, with_host: "host";
        /// Number or name of the port to access on the container.
        int_or_text() port, with_port: "port";
    }
}

crate::object! {
    /// The node this Taint is attached to has the "effect" on any pod that does not tolerate the
    /// Taint.
    Taint(with_key: text), TaintView {
        /// Required.
        choice(TaintEffect) effect, with_effect: "effect";
        /// Required.
        text() key, with_key: "key";
        /// TimeAdded represents the time at which the taint was added.
        time() time_added, with_time_added: "timeAdded";
        /// The taint value corresponding to the taint key.
        text() value, with_value: "value";
    }
}

crate::object! {
    /// The pod this Toleration is attached to tolerates any taint that matches the triple
    /// \<key,value,effect\> using the matching operator \<operator\>.
    Toleration, TolerationView {
        /// Effect indicates the taint effect to match.
        choice(TolerationEffect) effect, with_effect: "effect";
        /// Key is the taint key that the toleration applies to.
        text() key, with_key: "key";
        /// Operator represents a key's relationship to the value.
        choice(TolerationOperator) operator, with_operator: "operator";
        /// TolerationSeconds represents the period of time the toleration (which must be of effect
        /// NoExecute, otherwise this field is ignored) tolerates the taint.
        long() toleration_seconds, with_toleration_seconds: "tolerationSeconds";
        /// Value is the taint value the toleration matches to.
        text() value, with_value: "value";
    }
}

crate::object! {
    /// A topology selector requirement is a selector that matches given label.
    TopologySelectorLabelRequirement(with_key: text), TopologySelectorLabelRequirementView {
        /// The label key that the selector applies to.
        text() key, with_key: "key";
        /// An array of string values.
        texts() values, with_values: "values";
    }
}

crate::object! {
    /// A topology selector term represents the result of label queries.
    TopologySelectorTerm, TopologySelectorTermView {
        /// A list of topology selector requirements by labels.
        objects(TopologySelectorLabelRequirement, TopologySelectorLabelRequirementView) match_label_expressions, with_match_label_expressions: "matchLabelExpressions";
    }
}

crate::object! {
    /// TopologySpreadConstraint specifies how to spread matching pods among the given topology.
    TopologySpreadConstraint, TopologySpreadConstraintView {
        /// LabelSelector is used to find matching pods.
        object(LabelSelector, LabelSelectorView) label_selector, with_label_selector: "labelSelector";
        /// MatchLabelKeys is a set of pod label keys to select the pods over which spreading will
        /// be calculated.
        texts() match_label_keys, with_match_label_keys: "matchLabelKeys";
        /// MaxSkew describes the degree to which pods may be unevenly distributed.
        int() max_skew, with_max_skew: "maxSkew";
        /// MinDomains indicates a minimum number of eligible domains.
        int() min_domains, with_min_domains: "minDomains";
        /// NodeAffinityPolicy indicates how we will treat Pod's nodeAffinity/nodeSelector when
        /// calculating pod topology spread skew.
        choice(NodeAffinityPolicy) node_affinity_policy, with_node_affinity_policy: "nodeAffinityPolicy";
        /// NodeTaintsPolicy indicates how we will treat node taints when calculating pod topology
        /// spread skew.
        choice(NodeTaintsPolicy) node_taints_policy, with_node_taints_policy: "nodeTaintsPolicy";
        /// TopologyKey is the key of node labels.
        text() topology_key, with_topology_key: "topologyKey";
        /// WhenUnsatisfiable indicates how to deal with a pod if it doesn't satisfy the spread
        /// constraint.
        choice(WhenUnsatisfiable) when_unsatisfiable, with_when_unsatisfiable: "whenUnsatisfiable";
    }
}

crate::object! {
    /// TypedLocalObjectReference contains enough information to let you locate the typed referenced
    /// object inside the same namespace.
    TypedLocalObjectReference(with_name: text), TypedLocalObjectReferenceView {
        /// APIGroup is the group for the resource being referenced.
        text() api_group, with_api_group: "apiGroup";
        /// Kind is the type of resource being referenced.
        text() kind, with_kind: "kind";
        /// Name is the name of resource being referenced.
        text() name, with_name: "name";
    }
}

crate::object! {
    /// TypedObjectReference contains enough information to let you locate the typed referenced
    /// object.
    TypedObjectReference(with_name: text), TypedObjectReferenceView {
        /// APIGroup is the group for the resource being referenced.
        text() api_group, with_api_group: "apiGroup";
        /// Kind is the type of resource being referenced.
        text() kind, with_kind: "kind";
        /// Name is the name of resource being referenced.
        text() name, with_name: "name";
        /// Namespace is the namespace of resource being referenced Note that when a namespace is
        /// specified, a gateway.networking.k8s.io/ReferenceGrant object is required in the referent
        /// namespace to allow that namespace's owner to accept the reference.
        text() namespace, with_namespace: "namespace";
    }
}

crate::object! {
    /// Volume represents a named volume in a pod that may be accessed by any container in the pod.
    Volume(with_name: text), VolumeView {
        /// awsElasticBlockStore represents an AWS Disk resource that is attached to a kubelet's
        /// host machine and then exposed to the pod.
        object(AWSElasticBlockStoreVolumeSource, AWSElasticBlockStoreVolumeSourceView) aws_elastic_block_store, with_aws_elastic_block_store: "awsElasticBlockStore";
        /// azureDisk represents an Azure Data Disk mount on the host and bind mount to the pod.
        object(AzureDiskVolumeSource, AzureDiskVolumeSourceView) azure_disk, with_azure_disk: "azureDisk";
        /// azureFile represents an Azure File Service mount on the host and bind mount to the pod.
        object(AzureFileVolumeSource, AzureFileVolumeSourceView) azure_file, with_azure_file: "azureFile";
        /// cephFS represents a Ceph FS mount on the host that shares a pod's lifetime.
        object(CephFSVolumeSource, CephFSVolumeSourceView) cephfs, with_cephfs: "cephfs";
        /// cinder represents a cinder volume attached and mounted on kubelets host machine.
        object(CinderVolumeSource, CinderVolumeSourceView) cinder, with_cinder: "cinder";
        /// configMap represents a configMap that should populate this volume.
        object(ConfigMapVolumeSource, ConfigMapVolumeSourceView) config_map, with_config_map: "configMap";
        /// csi (Container Storage Interface) represents ephemeral storage that is handled by
        /// certain external CSI drivers.
        object(CSIVolumeSource, CSIVolumeSourceView) csi, with_csi: "csi";
        /// downwardAPI represents downward API about the pod that should populate this volume.
        object(DownwardAPIVolumeSource, DownwardAPIVolumeSourceView) downward_api, with_downward_api: "downwardAPI";
        /// emptyDir represents a temporary directory that shares a pod's lifetime.
        object(EmptyDirVolumeSource, EmptyDirVolumeSourceView) empty_dir, with_empty_dir: "emptyDir";
        /// ephemeral represents a volume that is handled by a cluster storage driver.
        object(EphemeralVolumeSource, EphemeralVolumeSourceView) ephemeral, with_ephemeral: "ephemeral";
        /// fc represents a Fibre Channel resource that is attached to a kubelet's host machine and
        /// then exposed to the pod.
        object(FCVolumeSource, FCVolumeSourceView) fc, with_fc: "fc";
        /// flexVolume represents a generic volume resource that is provisioned/attached using an
        /// exec based plugin.
        object(FlexVolumeSource, FlexVolumeSourceView) flex_volume, with_flex_volume: "flexVolume";
        /// flocker represents a Flocker volume attached to a kubelet's host machine.
        object(FlockerVolumeSource, FlockerVolumeSourceView) flocker, with_flocker: "flocker";
        /// gcePersistentDisk represents a GCE Disk resource that is attached to a kubelet's host
        /// machine and then exposed to the pod.
        object(GCEPersistentDiskVolumeSource, GCEPersistentDiskVolumeSourceView) gce_persistent_disk, with_gce_persistent_disk: "gcePersistentDisk";
        /// gitRepo represents a git repository at a particular revision.
        object(GitRepoVolumeSource, GitRepoVolumeSourceView) git_repo, with_git_repo: "gitRepo";
        /// glusterfs represents a Glusterfs mount on the host that shares a pod's lifetime.
        object(GlusterfsVolumeSource, GlusterfsVolumeSourceView) glusterfs, with_glusterfs: "glusterfs";
        /// hostPath represents a pre-existing file or directory on the host machine that is
        /// directly exposed to the container.
        object(HostPathVolumeSource, HostPathVolumeSourceView) host_path, with_host_path: "hostPath";
        /// image represents an OCI object (a container image or artifact) pulled and mounted on the
        /// kubelet's host machine.
        object(ImageVolumeSource, ImageVolumeSourceView) image, with_image: "image";
        /// iscsi represents an ISCSI Disk resource that is attached to a kubelet's host machine and
        /// then exposed to the pod.
        object(ISCSIVolumeSource, ISCSIVolumeSourceView) iscsi, with_iscsi: "iscsi";
        /// name of the volume.
        text() name, with_name: "name";
        /// nfs represents an NFS mount on the host that shares a pod's lifetime More info:
        /// <https://kubernetes.io/docs/concepts/storage/volumes#nfs>.
        object(NFSVolumeSource, NFSVolumeSourceView) nfs, with_nfs: "nfs";
        /// persistentVolumeClaimVolumeSource represents a reference to a PersistentVolumeClaim in
        /// the same namespace.
        object(PersistentVolumeClaimVolumeSource, PersistentVolumeClaimVolumeSourceView) persistent_volume_claim, with_persistent_volume_claim: "persistentVolumeClaim";
        /// photonPersistentDisk represents a PhotonController persistent disk attached and mounted
        /// on kubelets host machine.
        object(PhotonPersistentDiskVolumeSource, PhotonPersistentDiskVolumeSourceView) photon_persistent_disk, with_photon_persistent_disk: "photonPersistentDisk";
        /// portworxVolume represents a portworx volume attached and mounted on kubelets host
        /// machine.
        object(PortworxVolumeSource, PortworxVolumeSourceView) portworx_volume, with_portworx_volume: "portworxVolume";
        /// projected items for all in one resources secrets, configmaps, and downward API.
        object(ProjectedVolumeSource, ProjectedVolumeSourceView) projected, with_projected: "projected";
        /// quobyte represents a Quobyte mount on the host that shares a pod's lifetime.
        object(QuobyteVolumeSource, QuobyteVolumeSourceView) quobyte, with_quobyte: "quobyte";
        /// rbd represents a Rados Block Device mount on the host that shares a pod's lifetime.
        object(RBDVolumeSource, RBDVolumeSourceView) rbd, with_rbd: "rbd";
        /// scaleIO represents a ScaleIO persistent volume attached and mounted on Kubernetes nodes.
        object(ScaleIOVolumeSource, ScaleIOVolumeSourceView) scale_io, with_scale_io: "scaleIO";
        /// secret represents a secret that should populate this volume.
        object(SecretVolumeSource, SecretVolumeSourceView) secret, with_secret: "secret";
        /// storageOS represents a StorageOS volume attached and mounted on Kubernetes nodes.
        object(StorageOSVolumeSource, StorageOSVolumeSourceView) storageos, with_storageos: "storageos";
        /// vsphereVolume represents a vSphere volume attached and mounted on kubelets host machine.
        object(VsphereVirtualDiskVolumeSource, VsphereVirtualDiskVolumeSourceView) vsphere_volume, with_vsphere_volume: "vsphereVolume";
    }
}

crate::object! {
    /// volumeDevice describes a mapping of a raw block device within a container.
    VolumeDevice(with_name: text), VolumeDeviceView {
        /// devicePath is the path inside of the container that the device will be mapped to.
        text() device_path, with_device_path: "devicePath";
        /// name must match the name of a persistentVolumeClaim in the pod.
        text() name, with_name: "name";
    }
}

crate::object! {
    /// VolumeMount describes a mounting of a Volume within a container.
    VolumeMount(with_name: text), VolumeMountView {
        /// Path within the container at which the volume should be mounted.
        text() mount_path, with_mount_path: "mountPath";
        /// mountPropagation determines how mounts are propagated from the host to container and the
        /// other way around.
        choice(MountPropagation) mount_propagation, with_mount_propagation: "mountPropagation";
        /// This must match the Name of a Volume.
        text() name, with_name: "name";
        /// Mounted read-only if true, read-write otherwise (false or unspecified).
        flag() read_only, with_read_only: "readOnly";
        /// RecursiveReadOnly specifies whether read-only mounts should be handled recursively.
        text() recursive_read_only, with_recursive_read_only: "recursiveReadOnly";
        /// Path within the volume from which the container's volume should be mounted.
        text() sub_path, with_sub_path: "subPath";
        /// Expanded path within the volume from which the container's volume should be mounted.
        text() sub_path_expr, with_sub_path_expr: "subPathExpr";
    }
}

crate::object! {
    /// VolumeMountStatus shows status of volume mounts.
    VolumeMountStatus(with_name: text), VolumeMountStatusView {
        /// MountPath corresponds to the original VolumeMount.
        text() mount_path, with_mount_path: "mountPath";
        /// Name corresponds to the name of the original VolumeMount.
        text() name, with_name: "name";
        /// ReadOnly corresponds to the original VolumeMount.
        flag() read_only, with_read_only: "readOnly";
        /// RecursiveReadOnly must be set to Disabled, Enabled, or unspecified (for non-readonly
        /// mounts).
        text() recursive_read_only, with_recursive_read_only: "recursiveReadOnly";
        /// volumeStatus represents volume-type-specific status about the mounted volume.
        object(VolumeStatus, VolumeStatusView) volume_status, with_volume_status: "volumeStatus";
    }
}

crate::object! {
    /// VolumeNodeAffinity defines constraints that limit what nodes this volume can be accessed
    /// from.
    VolumeNodeAffinity, VolumeNodeAffinityView {
        /// required specifies hard node constraints that must be met.
        object(NodeSelector, NodeSelectorView) required, with_required: "required";
    }
}

crate::object! {
    /// Projection that may be projected along with other supported volume types.
    VolumeProjection, VolumeProjectionView {
        /// ClusterTrustBundle allows a pod to access the \`.spec.trustBundle\` field of
        /// ClusterTrustBundle objects in an auto-updating file.
        object(ClusterTrustBundleProjection, ClusterTrustBundleProjectionView) cluster_trust_bundle, with_cluster_trust_bundle: "clusterTrustBundle";
        /// configMap information about the configMap data to project.
        object(ConfigMapProjection, ConfigMapProjectionView) config_map, with_config_map: "configMap";
        /// downwardAPI information about the downwardAPI data to project.
        object(DownwardAPIProjection, DownwardAPIProjectionView) downward_api, with_downward_api: "downwardAPI";
        /// Projects an auto-rotating credential bundle (private key and certificate chain) that the
        /// pod can use either as a TLS client or server.
        object(PodCertificateProjection, PodCertificateProjectionView) pod_certificate, with_pod_certificate: "podCertificate";
        /// secret information about the secret data to project.
        object(SecretProjection, SecretProjectionView) secret, with_secret: "secret";
        /// serviceAccountToken is information about the serviceAccountToken data to project.
        object(ServiceAccountTokenProjection, ServiceAccountTokenProjectionView) service_account_token, with_service_account_token: "serviceAccountToken";
    }
}

crate::object! {
    /// VolumeResourceRequirements describes the storage resource requirements for a volume.
    VolumeResourceRequirements, VolumeResourceRequirementsView {
        /// Limits describes the maximum amount of compute resources allowed.
        text_map() limits, with_limits: "limits";
        /// Requests describes the minimum amount of compute resources required.
        text_map() requests, with_requests: "requests";
    }
}

crate::object! {
    /// VolumeStatus represents the status of a mounted volume.
    VolumeStatus, VolumeStatusView {
        /// image represents an OCI object (a container image or artifact) pulled and mounted on the
        /// kubelet's host machine.
        object(ImageVolumeStatus, ImageVolumeStatusView) image, with_image: "image";
    }
}

crate::object! {
    /// Represents a vSphere volume resource.
    VsphereVirtualDiskVolumeSource(with_volume_path: text), VsphereVirtualDiskVolumeSourceView {
        /// fsType is filesystem type to mount.
        text() fs_type, with_fs_type: "fsType";
        /// storagePolicyID is the storage Policy Based Management (SPBM) profile ID associated with
        /// the StoragePolicyName.
        text() storage_policy_id, with_storage_policy_id: "storagePolicyID";
        /// storagePolicyName is the storage Policy Based Management (SPBM) profile name.
        text() storage_policy_name, with_storage_policy_name: "storagePolicyName";
        /// volumePath is the path that identifies vSphere volume vmdk.
        text() volume_path, with_volume_path: "volumePath";
    }
}

crate::object! {
    /// The weights of all of the matched WeightedPodAffinityTerm fields are added per-node to find
    /// the most preferred node(s).
    WeightedPodAffinityTerm, WeightedPodAffinityTermView {
        /// Required.
        object(PodAffinityTerm, PodAffinityTermView) pod_affinity_term, with_pod_affinity_term: "podAffinityTerm";
        /// weight associated with matching the corresponding podAffinityTerm, in the range 1-100.
        int() weight, with_weight: "weight";
    }
}

crate::object! {
    /// WindowsSecurityContextOptions contain Windows-specific options and credentials.
    WindowsSecurityContextOptions, WindowsSecurityContextOptionsView {
        /// GMSACredentialSpec is where the GMSA admission webhook
        /// (<https://github.com/kubernetes-sigs/windows-gmsa>) inlines the contents of the GMSA
        /// credential spec named by the GMSACredentialSpecName field.
        text() gmsa_credential_spec, with_gmsa_credential_spec: "gmsaCredentialSpec";
        /// GMSACredentialSpecName is the name of the GMSA credential spec to use.
        text() gmsa_credential_spec_name, with_gmsa_credential_spec_name: "gmsaCredentialSpecName";
        /// HostProcess determines if a container should be run as a 'Host Process' container.
        flag() host_process, with_host_process: "hostProcess";
        /// The UserName in Windows to run the entrypoint of the container process.
        text() run_as_user_name, with_run_as_user_name: "runAsUserName";
    }
}

crate::choice! {
    /// A value of a field.
    AccessMode {
        ReadOnlyMany = "ReadOnlyMany",
        ReadWriteMany = "ReadWriteMany",
        ReadWriteOnce = "ReadWriteOnce",
        ReadWriteOncePod = "ReadWriteOncePod",
    }
}

crate::choice! {
    /// A value of a field.
    AppArmorProfileType {
        Localhost = "Localhost",
        RuntimeDefault = "RuntimeDefault",
        Unconfined = "Unconfined",
    }
}

crate::choice! {
    /// A value of a field.
    AzureDiskVolumeSourceKind {
        Dedicated = "Dedicated",
        Managed = "Managed",
        Shared = "Shared",
    }
}

crate::choice! {
    /// A value of a field.
    CachingMode {
        None = "None",
        ReadOnly = "ReadOnly",
        ReadWrite = "ReadWrite",
    }
}

crate::choice! {
    /// A value of a field.
    DnsPolicy {
        ClusterFirst = "ClusterFirst",
        ClusterFirstWithHostNet = "ClusterFirstWithHostNet",
        Default = "Default",
        None = "None",
    }
}

crate::choice! {
    /// A value of a field.
    ExternalTrafficPolicy {
        Cluster = "Cluster",
        Local = "Local",
    }
}

crate::choice! {
    /// A value of a field.
    FsGroupChangePolicy {
        Always = "Always",
        OnRootMismatch = "OnRootMismatch",
    }
}

crate::choice! {
    /// A value of a field.
    HTTPGetActionScheme {
        HTTP = "HTTP",
        HTTPS = "HTTPS",
    }
}

crate::choice! {
    /// A value of a field.
    HostPathVolumeSourceType {
        BlockDevice = "BlockDevice",
        CharDevice = "CharDevice",
        Directory = "Directory",
        DirectoryOrCreate = "DirectoryOrCreate",
        File = "File",
        FileOrCreate = "FileOrCreate",
        Socket = "Socket",
    }
}

crate::choice! {
    /// A value of a field.
    ImagePullPolicy {
        Always = "Always",
        IfNotPresent = "IfNotPresent",
        Never = "Never",
    }
}

crate::choice! {
    /// A value of a field.
    ImageVolumeSourcePullPolicy {
        Always = "Always",
        IfNotPresent = "IfNotPresent",
        Never = "Never",
    }
}

crate::choice! {
    /// A value of a field.
    InternalTrafficPolicy {
        Cluster = "Cluster",
        Local = "Local",
    }
}

crate::choice! {
    /// A value of a field.
    IpFamily {
        IPv4 = "IPv4",
        IPv6 = "IPv6",
    }
}

crate::choice! {
    /// A value of a field.
    IpFamilyPolicy {
        PreferDualStack = "PreferDualStack",
        RequireDualStack = "RequireDualStack",
        SingleStack = "SingleStack",
    }
}

crate::choice! {
    /// A value of a field.
    MountPropagation {
        Bidirectional = "Bidirectional",
        HostToContainer = "HostToContainer",
        None = "None",
    }
}

crate::choice! {
    /// A value of a field.
    NamespacePhase {
        Active = "Active",
        Terminating = "Terminating",
    }
}

crate::choice! {
    /// A value of a field.
    NodeAffinityPolicy {
        Honor = "Honor",
        Ignore = "Ignore",
    }
}

crate::choice! {
    /// A value of a field.
    NodePhase {
        Pending = "Pending",
        Running = "Running",
        Terminated = "Terminated",
    }
}

crate::choice! {
    /// A value of a field.
    NodeSelectorRequirementOperator {
        DoesNotExist = "DoesNotExist",
        Exists = "Exists",
        Gt = "Gt",
        In = "In",
        Lt = "Lt",
        NotIn = "NotIn",
    }
}

crate::choice! {
    /// A value of a field.
    NodeTaintsPolicy {
        Honor = "Honor",
        Ignore = "Ignore",
    }
}

crate::choice! {
    /// A value of a field.
    PersistentVolumeClaimPhase {
        Bound = "Bound",
        Lost = "Lost",
        Pending = "Pending",
    }
}

crate::choice! {
    /// A value of a field.
    PersistentVolumePhase {
        Available = "Available",
        Bound = "Bound",
        Failed = "Failed",
        Pending = "Pending",
        Released = "Released",
    }
}

crate::choice! {
    /// A value of a field.
    PersistentVolumeReclaimPolicy {
        Delete = "Delete",
        Recycle = "Recycle",
        Retain = "Retain",
    }
}

crate::choice! {
    /// A value of a field.
    PodPhase {
        Failed = "Failed",
        Pending = "Pending",
        Running = "Running",
        Succeeded = "Succeeded",
        Unknown = "Unknown",
    }
}

crate::choice! {
    /// A value of a field.
    PreemptionPolicy {
        Never = "Never",
        PreemptLowerPriority = "PreemptLowerPriority",
    }
}

crate::choice! {
    /// A value of a field.
    ProcMount {
        Default = "Default",
        Unmasked = "Unmasked",
    }
}

crate::choice! {
    /// A value of a field.
    Protocol {
        SCTP = "SCTP",
        TCP = "TCP",
        UDP = "UDP",
    }
}

crate::choice! {
    /// A value of a field.
    QosClass {
        BestEffort = "BestEffort",
        Burstable = "Burstable",
        Guaranteed = "Guaranteed",
    }
}

crate::choice! {
    /// A value of a field.
    RestartPolicy {
        Always = "Always",
        Never = "Never",
        OnFailure = "OnFailure",
    }
}

crate::choice! {
    /// A value of a field.
    Scope {
        BestEffort = "BestEffort",
        CrossNamespacePodAffinity = "CrossNamespacePodAffinity",
        NotBestEffort = "NotBestEffort",
        NotTerminating = "NotTerminating",
        PriorityClass = "PriorityClass",
        Terminating = "Terminating",
        VolumeAttributesClass = "VolumeAttributesClass",
    }
}

crate::choice! {
    /// A value of a field.
    ScopeName {
        BestEffort = "BestEffort",
        CrossNamespacePodAffinity = "CrossNamespacePodAffinity",
        NotBestEffort = "NotBestEffort",
        NotTerminating = "NotTerminating",
        PriorityClass = "PriorityClass",
        Terminating = "Terminating",
        VolumeAttributesClass = "VolumeAttributesClass",
    }
}

crate::choice! {
    /// A value of a field.
    ScopedResourceSelectorRequirementOperator {
        DoesNotExist = "DoesNotExist",
        Exists = "Exists",
        In = "In",
        NotIn = "NotIn",
    }
}

crate::choice! {
    /// A value of a field.
    SeccompProfileType {
        Localhost = "Localhost",
        RuntimeDefault = "RuntimeDefault",
        Unconfined = "Unconfined",
    }
}

crate::choice! {
    /// A value of a field.
    ServiceType {
        ClusterIP = "ClusterIP",
        ExternalName = "ExternalName",
        LoadBalancer = "LoadBalancer",
        NodePort = "NodePort",
    }
}

crate::choice! {
    /// A value of a field.
    SessionAffinity {
        ClientIP = "ClientIP",
        None = "None",
    }
}

crate::choice! {
    /// A value of a field.
    Statu {
        InProgress = "InProgress",
        Infeasible = "Infeasible",
        Pending = "Pending",
    }
}

crate::choice! {
    /// A value of a field.
    StopSignal {
        SIGABRT = "SIGABRT",
        SIGALRM = "SIGALRM",
        SIGBUS = "SIGBUS",
        SIGCHLD = "SIGCHLD",
        SIGCLD = "SIGCLD",
        SIGCONT = "SIGCONT",
        SIGFPE = "SIGFPE",
        SIGHUP = "SIGHUP",
        SIGILL = "SIGILL",
        SIGINT = "SIGINT",
        SIGIO = "SIGIO",
        SIGIOT = "SIGIOT",
        SIGKILL = "SIGKILL",
        SIGPIPE = "SIGPIPE",
        SIGPOLL = "SIGPOLL",
        SIGPROF = "SIGPROF",
        SIGPWR = "SIGPWR",
        SIGQUIT = "SIGQUIT",
        SIGRTMAX = "SIGRTMAX",
        SIGRTMAX1 = "SIGRTMAX-1",
        SIGRTMAX10 = "SIGRTMAX-10",
        SIGRTMAX11 = "SIGRTMAX-11",
        SIGRTMAX12 = "SIGRTMAX-12",
        SIGRTMAX13 = "SIGRTMAX-13",
        SIGRTMAX14 = "SIGRTMAX-14",
        SIGRTMAX2 = "SIGRTMAX-2",
        SIGRTMAX3 = "SIGRTMAX-3",
        SIGRTMAX4 = "SIGRTMAX-4",
        SIGRTMAX5 = "SIGRTMAX-5",
        SIGRTMAX6 = "SIGRTMAX-6",
        SIGRTMAX7 = "SIGRTMAX-7",
        SIGRTMAX8 = "SIGRTMAX-8",
        SIGRTMAX9 = "SIGRTMAX-9",
        SIGRTMIN = "SIGRTMIN",
        SIGRTMINPlus1 = "SIGRTMIN+1",
        SIGRTMINPlus10 = "SIGRTMIN+10",
        SIGRTMINPlus11 = "SIGRTMIN+11",
        SIGRTMINPlus12 = "SIGRTMIN+12",
        SIGRTMINPlus13 = "SIGRTMIN+13",
        SIGRTMINPlus14 = "SIGRTMIN+14",
        SIGRTMINPlus15 = "SIGRTMIN+15",
        SIGRTMINPlus2 = "SIGRTMIN+2",
        SIGRTMINPlus3 = "SIGRTMIN+3",
        SIGRTMINPlus4 = "SIGRTMIN+4",
        SIGRTMINPlus5 = "SIGRTMIN+5",
        SIGRTMINPlus6 = "SIGRTMIN+6",
        SIGRTMINPlus7 = "SIGRTMIN+7",
        SIGRTMINPlus8 = "SIGRTMIN+8",
        SIGRTMINPlus9 = "SIGRTMIN+9",
        SIGSEGV = "SIGSEGV",
        SIGSTKFLT = "SIGSTKFLT",
        SIGSTOP = "SIGSTOP",
        SIGSYS = "SIGSYS",
        SIGTERM = "SIGTERM",
        SIGTRAP = "SIGTRAP",
        SIGTSTP = "SIGTSTP",
        SIGTTIN = "SIGTTIN",
        SIGTTOU = "SIGTTOU",
        SIGURG = "SIGURG",
        SIGUSR1 = "SIGUSR1",
        SIGUSR2 = "SIGUSR2",
        SIGVTALRM = "SIGVTALRM",
        SIGWINCH = "SIGWINCH",
        SIGXCPU = "SIGXCPU",
        SIGXFSZ = "SIGXFSZ",
    }
}

crate::choice! {
    /// A value of a field.
    SupplementalGroupsPolicy {
        Merge = "Merge",
        Strict = "Strict",
    }
}

crate::choice! {
    /// A value of a field.
    TaintEffect {
        NoExecute = "NoExecute",
        NoSchedule = "NoSchedule",
        PreferNoSchedule = "PreferNoSchedule",
    }
}

crate::choice! {
    /// A value of a field.
    TerminationMessagePolicy {
        FallbackToLogsOnError = "FallbackToLogsOnError",
        File = "File",
    }
}

crate::choice! {
    /// A value of a field.
    TolerationEffect {
        NoExecute = "NoExecute",
        NoSchedule = "NoSchedule",
        PreferNoSchedule = "PreferNoSchedule",
    }
}

crate::choice! {
    /// A value of a field.
    TolerationOperator {
        Equal = "Equal",
        Exists = "Exists",
        Gt = "Gt",
        Lt = "Lt",
    }
}

crate::choice! {
    /// A value of a field.
    VolumeMode {
        Block = "Block",
        Filesystem = "Filesystem",
    }
}

crate::choice! {
    /// A value of a field.
    WhenUnsatisfiable {
        DoNotSchedule = "DoNotSchedule",
        ScheduleAnyway = "ScheduleAnyway",
    }
}
