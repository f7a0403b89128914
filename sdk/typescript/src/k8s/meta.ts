// Types of `meta`, generated from the OpenAPI documents of Kubernetes.
// Do not edit them: `npm run generate` writes them.


/** Condition contains details for one aspect of the current state of this API Resource. */
export interface Condition {
  /** lastTransitionTime is the last time the condition transitioned from one status to another. */
  lastTransitionTime?: string;
  /** message is a human readable message indicating details about the transition. */
  message?: string;
  /**
   * observedGeneration represents the .metadata.generation that the condition was set based upon.
   */
  observedGeneration?: number;
  /**
   * reason contains a programmatic identifier indicating the reason for the condition's last
   * transition.
   */
  reason?: string;
  /** status of the condition, one of True, False, Unknown. */
  status?: string;
  /** type of condition in CamelCase or in foo.example.com/CamelCase. */
  type?: string;
}

/** A label selector is a label query over a set of resources. */
export interface LabelSelector {
  /** matchExpressions is a list of label selector requirements. */
  matchExpressions?: LabelSelectorRequirement[];
  /** matchLabels is a map of {key,value} pairs. */
  matchLabels?: Record<string, string>;
}

/**
 * A label selector requirement is a selector that contains values, a key, and an operator that
 * relates the key and values.
 */
export interface LabelSelectorRequirement {
  /** key is the label key that the selector applies to. */
  key?: string;
  /** operator represents a key's relationship to a set of values. */
  operator?: string;
  /** values is an array of string values. */
  values?: string[];
}

/**
 * ObjectMeta is metadata that all persisted resources must have, which includes all objects users
 * must create.
 */
export interface ObjectMeta {
  /**
   * Annotations is an unstructured key value map stored with a resource that may be set by external
   * tools to store and retrieve arbitrary metadata.
   */
  annotations?: Record<string, string>;
  /** CreationTimestamp is a timestamp representing the server time when this object was created. */
  creationTimestamp?: string;
  /**
   * Number of seconds allowed for this object to gracefully terminate before it will be removed
   * from the system.
   */
  deletionGracePeriodSeconds?: number;
  /** DeletionTimestamp is RFC 3339 date and time at which this resource will be deleted. */
  deletionTimestamp?: string;
  /** Must be empty before the object is deleted from the registry. */
  finalizers?: string[];
  /**
   * GenerateName is an optional prefix, used by the server, to generate a unique name ONLY IF the
   * Name field has not been provided.
   */
  generateName?: string;
  /** A sequence number representing a specific generation of the desired state. */
  generation?: number;
  /**
   * Map of string keys and values that can be used to organize and categorize (scope and select)
   * objects.
   */
  labels?: Record<string, string>;
  /** Name must be unique within a namespace. */
  name?: string;
  /** Namespace defines the space within which each name must be unique. */
  namespace?: string;
  /** List of objects depended by this object. */
  ownerReferences?: OwnerReference[];
  /**
   * An opaque value that represents the internal version of this object that can be used by clients
   * to determine when objects have changed.
   */
  resourceVersion?: string;
  /** UID is the unique in time and space value for this object. */
  uid?: string;
}

/** OwnerReference contains enough information to let you identify an owning object. */
export interface OwnerReference {
  /** API version of the referent. */
  apiVersion?: string;
  /**
   * If true, AND if the owner has the "foregroundDeletion" finalizer, then the owner cannot be
   * deleted from the key-value store until this reference is removed.
   */
  blockOwnerDeletion?: boolean;
  /** If true, this reference points to the managing controller. */
  controller?: boolean;
  /** Kind of the referent. */
  kind?: string;
  /** Name of the referent. */
  name?: string;
  /** UID of the referent. */
  uid?: string;
}
