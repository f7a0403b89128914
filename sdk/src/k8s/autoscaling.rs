//! Types of `autoscaling`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// HorizontalPodAutoscaler is the configuration for a horizontal pod autoscaler, which
    /// automatically manages the replica count of any resource implementing the scale subresource
    /// based on the metrics specified.
    HorizontalPodAutoscaler, HorizontalPodAutoscalerView, "autoscaling/v2" {
        /// metadata is the standard object metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec is the specification for the behaviour of the autoscaler.
        object(HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerSpecView) spec, with_spec: "spec";
        /// status is the current information about the autoscaler.
        object(HorizontalPodAutoscalerStatus, HorizontalPodAutoscalerStatusView) status, with_status: "status";
    }
}

crate::object! {
    /// ContainerResourceMetricSource indicates how to scale on a resource metric known to
    /// Kubernetes, as specified in requests and limits, describing each pod in the current scale
    /// target (e.g.
    ContainerResourceMetricSource(with_name: text), ContainerResourceMetricSourceView {
        /// container is the name of the container in the pods of the scaling target.
        text() container, with_container: "container";
        /// name is the name of the resource in question.
        text() name, with_name: "name";
        /// target specifies the target value for the given metric.
        object(MetricTarget, MetricTargetView) target, with_target: "target";
    }
}

crate::object! {
    /// ContainerResourceMetricStatus indicates the current value of a resource metric known to
    /// Kubernetes, as specified in requests and limits, describing a single container in each pod
    /// in the current scale target (e.g.
    ContainerResourceMetricStatus(with_name: text), ContainerResourceMetricStatusView {
        /// container is the name of the container in the pods of the scaling target.
        text() container, with_container: "container";
        /// current contains the current value for the given metric.
        object(MetricValueStatus, MetricValueStatusView) current, with_current: "current";
        /// name is the name of the resource in question.
        text() name, with_name: "name";
    }
}

crate::object! {
    /// CrossVersionObjectReference contains enough information to let you identify the referred
    /// resource.
    CrossVersionObjectReference(with_name: text), CrossVersionObjectReferenceView {
        /// apiVersion is the API version of the referent.
        text() api_version, with_api_version: "apiVersion";
        /// kind is the kind of the referent; More info:
        /// <https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds>.
        text() kind, with_kind: "kind";
        /// name is the name of the referent; More info:
        /// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names>.
        text() name, with_name: "name";
    }
}

crate::object! {
    /// ExternalMetricSource indicates how to scale on a metric not associated with any Kubernetes
    /// object (for example length of queue in cloud messaging service, or QPS from loadbalancer
    /// running outside of cluster).
    ExternalMetricSource, ExternalMetricSourceView {
        /// metric identifies the target metric by name and selector.
        object(MetricIdentifier, MetricIdentifierView) metric, with_metric: "metric";
        /// target specifies the target value for the given metric.
        object(MetricTarget, MetricTargetView) target, with_target: "target";
    }
}

crate::object! {
    /// ExternalMetricStatus indicates the current value of a global metric not associated with any
    /// Kubernetes object.
    ExternalMetricStatus, ExternalMetricStatusView {
        /// current contains the current value for the given metric.
        object(MetricValueStatus, MetricValueStatusView) current, with_current: "current";
        /// metric identifies the target metric by name and selector.
        object(MetricIdentifier, MetricIdentifierView) metric, with_metric: "metric";
    }
}

crate::object! {
    /// HPAScalingPolicy is a single policy which must hold true for a specified past interval.
    HPAScalingPolicy, HPAScalingPolicyView {
        /// periodSeconds specifies the window of time for which the policy should hold true.
        int() period_seconds, with_period_seconds: "periodSeconds";
        /// type is used to specify the scaling policy.
        text() type_, with_type: "type";
        /// value contains the amount of change which is permitted by the policy.
        int() value, with_value: "value";
    }
}

crate::object! {
    /// HPAScalingRules configures the scaling behavior for one direction via scaling Policy Rules
    /// and a configurable metric tolerance.
    HPAScalingRules, HPAScalingRulesView {
        /// policies is a list of potential scaling polices which can be used during scaling.
        objects(HPAScalingPolicy, HPAScalingPolicyView) policies, with_policies: "policies";
        /// selectPolicy is used to specify which policy should be used.
        text() select_policy, with_select_policy: "selectPolicy";
        /// stabilizationWindowSeconds is the number of seconds for which past recommendations
        /// should be considered while scaling up or scaling down.
        int() stabilization_window_seconds, with_stabilization_window_seconds: "stabilizationWindowSeconds";
        /// tolerance is the tolerance on the ratio between the current and desired metric value
        /// under which no updates are made to the desired number of replicas (e.g.
        text() tolerance, with_tolerance: "tolerance";
    }
}

crate::object! {
    /// HorizontalPodAutoscalerBehavior configures the scaling behavior of the target in both Up and
    /// Down directions (scaleUp and scaleDown fields respectively).
    HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerBehaviorView {
        /// scaleDown is scaling policy for scaling Down.
        object(HPAScalingRules, HPAScalingRulesView) scale_down, with_scale_down: "scaleDown";
        /// scaleUp is scaling policy for scaling Up.
        object(HPAScalingRules, HPAScalingRulesView) scale_up, with_scale_up: "scaleUp";
    }
}

crate::object! {
    /// HorizontalPodAutoscalerCondition describes the state of a HorizontalPodAutoscaler at a
    /// certain point.
    HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerConditionView {
        /// lastTransitionTime is the last time the condition transitioned from one status to
        /// another.
        time() last_transition_time, with_last_transition_time: "lastTransitionTime";
        /// message is a human-readable explanation containing details about the transition.
        text() message, with_message: "message";
        /// reason is the reason for the condition's last transition.
        text() reason, with_reason: "reason";
        /// status is the status of the condition (True, False, Unknown).
        text() status, with_status: "status";
        /// type describes the current condition.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// HorizontalPodAutoscalerSpec describes the desired functionality of the
    /// HorizontalPodAutoscaler.
    HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerSpecView {
        /// behavior configures the scaling behavior of the target in both Up and Down directions
        /// (scaleUp and scaleDown fields respectively).
        object(HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerBehaviorView) behavior, with_behavior: "behavior";
        /// maxReplicas is the upper limit for the number of replicas to which the autoscaler can
        /// scale up.
        int() max_replicas, with_max_replicas: "maxReplicas";
        /// metrics contains the specifications for which to use to calculate the desired replica
        /// count (the maximum replica count across all metrics will be used).
        objects(MetricSpec, MetricSpecView) metrics, with_metrics: "metrics";
        /// minReplicas is the lower limit for the number of replicas to which the autoscaler can
        /// scale down.
        int() min_replicas, with_min_replicas: "minReplicas";
        /// scaleTargetRef points to the target resource to scale, and is used to the pods for which
        /// metrics should be collected, as well as to actually change the replica count.
        object(CrossVersionObjectReference, CrossVersionObjectReferenceView) scale_target_ref, with_scale_target_ref: "scaleTargetRef";
    }
}

crate::object! {
    /// HorizontalPodAutoscalerStatus describes the current status of a horizontal pod autoscaler.
    HorizontalPodAutoscalerStatus, HorizontalPodAutoscalerStatusView {
        /// conditions is the set of conditions required for this autoscaler to scale its target,
        /// and indicates whether or not those conditions are met.
        objects(HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerConditionView) conditions, with_conditions: "conditions";
        /// currentMetrics is the last read state of the metrics used by this autoscaler.
        objects(MetricStatus, MetricStatusView) current_metrics, with_current_metrics: "currentMetrics";
        /// currentReplicas is current number of replicas of pods managed by this autoscaler, as
        /// last seen by the autoscaler.
        int() current_replicas, with_current_replicas: "currentReplicas";
        /// desiredReplicas is the desired number of replicas of pods managed by this autoscaler, as
        /// last calculated by the autoscaler.
        int() desired_replicas, with_desired_replicas: "desiredReplicas";
        /// lastScaleTime is the last time the HorizontalPodAutoscaler scaled the number of pods,
        /// used by the autoscaler to control how often the number of pods is changed.
        time() last_scale_time, with_last_scale_time: "lastScaleTime";
        /// observedGeneration is the most recent generation observed by this autoscaler.
        long() observed_generation, with_observed_generation: "observedGeneration";
    }
}

crate::object! {
    /// MetricIdentifier defines the name and optionally selector for a metric.
    MetricIdentifier(with_name: text), MetricIdentifierView {
        /// name is the name of the given metric.
        text() name, with_name: "name";
        /// selector is the string-encoded form of a standard kubernetes label selector for the
        /// given metric When set, it is passed as an additional parameter to the metrics server for
        /// more specific metrics scoping.
        object(LabelSelector, LabelSelectorView) selector, with_selector: "selector";
    }
}

crate::object! {
    /// MetricSpec specifies how to scale based on a single metric (only \`type\` and one other
    /// matching field should be set at once).
    MetricSpec(with_type: text), MetricSpecView {
        /// containerResource refers to a resource metric (such as those specified in requests and
        /// limits) known to Kubernetes describing a single container in each pod of the current
        /// scale target (e.g.
        object(ContainerResourceMetricSource, ContainerResourceMetricSourceView) container_resource, with_container_resource: "containerResource";
        /// external refers to a global metric that is not associated with any Kubernetes object.
        object(ExternalMetricSource, ExternalMetricSourceView) external, with_external: "external";
        /// object refers to a metric describing a single kubernetes object (for example,
        /// hits-per-second on an Ingress object).
        object(ObjectMetricSource, ObjectMetricSourceView) object, with_object: "object";
        /// pods refers to a metric describing each pod in the current scale target (for example,
        /// transactions-processed-per-second).
        object(PodsMetricSource, PodsMetricSourceView) pods, with_pods: "pods";
        /// resource refers to a resource metric (such as those specified in requests and limits)
        /// known to Kubernetes describing each pod in the current scale target (e.g.
        object(ResourceMetricSource, ResourceMetricSourceView) resource, with_resource: "resource";
        /// type is the type of metric source.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// MetricStatus describes the last-read state of a single metric.
    MetricStatus, MetricStatusView {
        /// container resource refers to a resource metric (such as those specified in requests and
        /// limits) known to Kubernetes describing a single container in each pod in the current
        /// scale target (e.g.
        object(ContainerResourceMetricStatus, ContainerResourceMetricStatusView) container_resource, with_container_resource: "containerResource";
        /// external refers to a global metric that is not associated with any Kubernetes object.
        object(ExternalMetricStatus, ExternalMetricStatusView) external, with_external: "external";
        /// object refers to a metric describing a single kubernetes object (for example,
        /// hits-per-second on an Ingress object).
        object(ObjectMetricStatus, ObjectMetricStatusView) object, with_object: "object";
        /// pods refers to a metric describing each pod in the current scale target (for example,
        /// transactions-processed-per-second).
        object(PodsMetricStatus, PodsMetricStatusView) pods, with_pods: "pods";
        /// resource refers to a resource metric (such as those specified in requests and limits)
        /// known to Kubernetes describing each pod in the current scale target (e.g.
        object(ResourceMetricStatus, ResourceMetricStatusView) resource, with_resource: "resource";
        /// type is the type of metric source.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// MetricTarget defines the target value, average value, or average utilization of a specific
    /// metric.
    MetricTarget(with_type: text), MetricTargetView {
        /// averageUtilization is the target value of the average of the resource metric across all
        /// relevant pods, represented as a percentage of the requested value of the resource for
        /// the pods.
        int() average_utilization, with_average_utilization: "averageUtilization";
        /// averageValue is the target value of the average of the metric across all relevant pods
        /// (as a quantity).
        text() average_value, with_average_value: "averageValue";
        /// type represents whether the metric type is Utilization, Value, or AverageValue.
        text() type_, with_type: "type";
        /// value is the target value of the metric (as a quantity).
        text() value, with_value: "value";
    }
}

crate::object! {
    /// MetricValueStatus holds the current value for a metric.
    MetricValueStatus, MetricValueStatusView {
        /// currentAverageUtilization is the current value of the average of the resource metric
        /// across all relevant pods, represented as a percentage of the requested value of the
        /// resource for the pods.
        int() average_utilization, with_average_utilization: "averageUtilization";
        /// averageValue is the current value of the average of the metric across all relevant pods
        /// (as a quantity).
        text() average_value, with_average_value: "averageValue";
        /// value is the current value of the metric (as a quantity).
        text() value, with_value: "value";
    }
}

crate::object! {
    /// ObjectMetricSource indicates how to scale on a metric describing a kubernetes object (for
    /// example, hits-per-second on an Ingress object).
    ObjectMetricSource, ObjectMetricSourceView {
        /// describedObject specifies the descriptions of a object,such as kind,name apiVersion.
        object(CrossVersionObjectReference, CrossVersionObjectReferenceView) described_object, with_described_object: "describedObject";
        /// metric identifies the target metric by name and selector.
        object(MetricIdentifier, MetricIdentifierView) metric, with_metric: "metric";
        /// target specifies the target value for the given metric.
        object(MetricTarget, MetricTargetView) target, with_target: "target";
    }
}

crate::object! {
    /// ObjectMetricStatus indicates the current value of a metric describing a kubernetes object
    /// (for example, hits-per-second on an Ingress object).
    ObjectMetricStatus, ObjectMetricStatusView {
        /// current contains the current value for the given metric.
        object(MetricValueStatus, MetricValueStatusView) current, with_current: "current";
        /// DescribedObject specifies the descriptions of a object,such as kind,name apiVersion.
        object(CrossVersionObjectReference, CrossVersionObjectReferenceView) described_object, with_described_object: "describedObject";
        /// metric identifies the target metric by name and selector.
        object(MetricIdentifier, MetricIdentifierView) metric, with_metric: "metric";
    }
}

crate::object! {
    /// PodsMetricSource indicates how to scale on a metric describing each pod in the current scale
    /// target (for example, transactions-processed-per-second).
    PodsMetricSource, PodsMetricSourceView {
        /// metric identifies the target metric by name and selector.
        object(MetricIdentifier, MetricIdentifierView) metric, with_metric: "metric";
        /// target specifies the target value for the given metric.
        object(MetricTarget, MetricTargetView) target, with_target: "target";
    }
}

crate::object! {
    /// PodsMetricStatus indicates the current value of a metric describing each pod in the current
    /// scale target (for example, transactions-processed-per-second).
    PodsMetricStatus, PodsMetricStatusView {
        /// current contains the current value for the given metric.
        object(MetricValueStatus, MetricValueStatusView) current, with_current: "current";
        /// metric identifies the target metric by name and selector.
        object(MetricIdentifier, MetricIdentifierView) metric, with_metric: "metric";
    }
}

crate::object! {
    /// ResourceMetricSource indicates how to scale on a resource metric known to Kubernetes, as
    /// specified in requests and limits, describing each pod in the current scale target (e.g.
    ResourceMetricSource(with_name: text), ResourceMetricSourceView {
        /// name is the name of the resource in question.
        text() name, with_name: "name";
        /// target specifies the target value for the given metric.
        object(MetricTarget, MetricTargetView) target, with_target: "target";
    }
}

crate::object! {
    /// ResourceMetricStatus indicates the current value of a resource metric known to Kubernetes,
    /// as specified in requests and limits, describing each pod in the current scale target (e.g.
    ResourceMetricStatus(with_name: text), ResourceMetricStatusView {
        /// current contains the current value for the given metric.
        object(MetricValueStatus, MetricValueStatusView) current, with_current: "current";
        /// name is the name of the resource in question.
        text() name, with_name: "name";
    }
}
