// Types of `rbac`, generated from the OpenAPI documents of Kubernetes.
// Do not edit them: `npm run generate` writes them.

import { type Kind, kind } from "../object.ts";
import type {
  LabelSelector,
  ObjectMeta,
} from "./meta.ts";

/** AggregationRule describes how to locate ClusterRoles to aggregate into the ClusterRole. */
export interface AggregationRule {
  /**
   * ClusterRoleSelectors holds a list of selectors which will be used to find ClusterRoles and
   * create the rules.
   */
  clusterRoleSelectors?: LabelSelector[];
}

/**
 * ClusterRole is a cluster level, logical grouping of PolicyRules that can be referenced as a unit
 * by a RoleBinding or ClusterRoleBinding.
 */
export interface ClusterRole {
  /**
   * AggregationRule is an optional field that describes how to build the Rules for this
   * ClusterRole.
   */
  aggregationRule?: AggregationRule;
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** Rules holds all the PolicyRules for this ClusterRole. */
  rules?: PolicyRule[];
}

/** The kind ClusterRole of rbac.authorization.k8s.io/v1. */
export const ClusterRole: Kind<ClusterRole> = /* @__PURE__ */ kind<ClusterRole>("rbac.authorization.k8s.io/v1", "ClusterRole", { clusterScoped: true });

/** ClusterRoleBinding references a ClusterRole, but not contain it. */
export interface ClusterRoleBinding {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** RoleRef can only reference a ClusterRole in the global namespace. */
  roleRef?: RoleRef;
  /** Subjects holds references to the objects the role applies to. */
  subjects?: Subject[];
}

/** The kind ClusterRoleBinding of rbac.authorization.k8s.io/v1. */
export const ClusterRoleBinding: Kind<ClusterRoleBinding> = /* @__PURE__ */ kind<ClusterRoleBinding>("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", { clusterScoped: true });

/**
 * PolicyRule holds information that describes a policy rule, but does not contain information about
 * who the rule applies to or which namespace the rule applies to.
 */
export interface PolicyRule {
  /** APIGroups is the name of the APIGroup that contains the resources. */
  apiGroups?: string[];
  /** NonResourceURLs is a set of partial urls that a user should have access to. */
  nonResourceURLs?: string[];
  /** ResourceNames is an optional white list of names that the rule applies to. */
  resourceNames?: string[];
  /** Resources is a list of resources this rule applies to. */
  resources?: string[];
  /** Verbs is a list of Verbs that apply to ALL the ResourceKinds contained in this rule. */
  verbs?: string[];
}

/**
 * Role is a namespaced, logical grouping of PolicyRules that can be referenced as a unit by a
 * RoleBinding.
 */
export interface Role {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** Rules holds all the PolicyRules for this Role. */
  rules?: PolicyRule[];
}

/** The kind Role of rbac.authorization.k8s.io/v1. */
export const Role: Kind<Role> = /* @__PURE__ */ kind<Role>("rbac.authorization.k8s.io/v1", "Role");

/** RoleBinding references a role, but does not contain it. */
export interface RoleBinding {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /**
   * RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace.
   */
  roleRef?: RoleRef;
  /** Subjects holds references to the objects the role applies to. */
  subjects?: Subject[];
}

/** The kind RoleBinding of rbac.authorization.k8s.io/v1. */
export const RoleBinding: Kind<RoleBinding> = /* @__PURE__ */ kind<RoleBinding>("rbac.authorization.k8s.io/v1", "RoleBinding");

/** RoleRef contains information that points to the role being used. */
export interface RoleRef {
  /** APIGroup is the group for the resource being referenced. */
  apiGroup?: string;
  /** Kind is the type of resource being referenced. */
  kind?: string;
  /** Name is the name of resource being referenced. */
  name?: string;
}

/** Subject contains a reference to the object or user identities a role binding applies to. */
export interface Subject {
  /** APIGroup holds the API group of the referenced subject. */
  apiGroup?: string;
  /** Kind of object being referenced. */
  kind?: string;
  /** Name of the object being referenced. */
  name?: string;
  /** Namespace of the referenced object. */
  namespace?: string;
}
