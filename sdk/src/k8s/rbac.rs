//! Types of `rbac`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// ClusterRole is a cluster level, logical grouping of PolicyRules that can be referenced as a
    /// unit by a RoleBinding or ClusterRoleBinding.
    ClusterRole, ClusterRoleView, "rbac.authorization.k8s.io/v1" {
        /// AggregationRule is an optional field that describes how to build the Rules for this
        /// ClusterRole.
        object(AggregationRule, AggregationRuleView) aggregation_rule, with_aggregation_rule: "aggregationRule";
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Rules holds all the PolicyRules for this ClusterRole.
        objects(PolicyRule, PolicyRuleView) rules, with_rules: "rules";
    }
}

crate::kind! {
    /// ClusterRoleBinding references a ClusterRole, but not contain it.
    ClusterRoleBinding, ClusterRoleBindingView, "rbac.authorization.k8s.io/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// RoleRef can only reference a ClusterRole in the global namespace.
        object(RoleRef, RoleRefView) role_ref, with_role_ref: "roleRef";
        /// Subjects holds references to the objects the role applies to.
        objects(Subject, SubjectView) subjects, with_subjects: "subjects";
    }
}

crate::kind! {
    /// Role is a namespaced, logical grouping of PolicyRules that can be referenced as a unit by a
    /// RoleBinding.
    Role, RoleView, "rbac.authorization.k8s.io/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// Rules holds all the PolicyRules for this Role.
        objects(PolicyRule, PolicyRuleView) rules, with_rules: "rules";
    }
}

crate::kind! {
    /// RoleBinding references a role, but does not contain it.
    RoleBinding, RoleBindingView, "rbac.authorization.k8s.io/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// RoleRef can reference a Role in the current namespace or a ClusterRole in the global
        /// namespace.
        object(RoleRef, RoleRefView) role_ref, with_role_ref: "roleRef";
        /// Subjects holds references to the objects the role applies to.
        objects(Subject, SubjectView) subjects, with_subjects: "subjects";
    }
}

crate::object! {
    /// AggregationRule describes how to locate ClusterRoles to aggregate into the ClusterRole.
    AggregationRule, AggregationRuleView {
        /// ClusterRoleSelectors holds a list of selectors which will be used to find ClusterRoles
        /// and create the rules.
        objects(LabelSelector, LabelSelectorView) cluster_role_selectors, with_cluster_role_selectors: "clusterRoleSelectors";
    }
}

crate::object! {
    /// PolicyRule holds information that describes a policy rule, but does not contain information
    /// about who the rule applies to or which namespace the rule applies to.
    PolicyRule, PolicyRuleView {
        /// APIGroups is the name of the APIGroup that contains the resources.
        texts() api_groups, with_api_groups: "apiGroups";
        /// NonResourceURLs is a set of partial urls that a user should have access to.
        texts() non_resource_urls, with_non_resource_urls: "nonResourceURLs";
        /// ResourceNames is an optional white list of names that the rule applies to.
        texts() resource_names, with_resource_names: "resourceNames";
        /// Resources is a list of resources this rule applies to.
        texts() resources, with_resources: "resources";
        /// Verbs is a list of Verbs that apply to ALL the ResourceKinds contained in this rule.
        texts() verbs, with_verbs: "verbs";
    }
}

crate::object! {
    /// RoleRef contains information that points to the role being used.
    RoleRef(with_name: text), RoleRefView {
        /// APIGroup is the group for the resource being referenced.
        text() api_group, with_api_group: "apiGroup";
        /// Kind is the type of resource being referenced.
        text() kind, with_kind: "kind";
        /// Name is the name of resource being referenced.
        text() name, with_name: "name";
    }
}

crate::object! {
    /// Subject contains a reference to the object or user identities a role binding applies to.
    Subject(with_name: text), SubjectView {
        /// APIGroup holds the API group of the referenced subject.
        text() api_group, with_api_group: "apiGroup";
        /// Kind of object being referenced.
        text() kind, with_kind: "kind";
        /// Name of the object being referenced.
        text() name, with_name: "name";
        /// Namespace of the referenced object.
        text() namespace, with_namespace: "namespace";
    }
}
