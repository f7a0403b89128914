//! Types of `networking`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// IPAddress represents a single IP of a single IP Family.
    IPAddress, IPAddressView, "networking.k8s.io/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec is the desired state of the IPAddress.
        object(IPAddressSpec, IPAddressSpecView) spec, with_spec: "spec";
    }
}

crate::kind! {
    /// Ingress is a collection of rules that allow inbound connections to reach the endpoints
    /// defined by a backend.
    Ingress, IngressView, "networking.k8s.io/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec is the desired state of the Ingress.
        object(IngressSpec, IngressSpecView) spec, with_spec: "spec";
        /// status is the current state of the Ingress.
        object(IngressStatus, IngressStatusView) status, with_status: "status";
    }
}

crate::kind! {
    /// IngressClass represents the class of the Ingress, referenced by the Ingress Spec.
    IngressClass, IngressClassView, "networking.k8s.io/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec is the desired state of the IngressClass.
        object(IngressClassSpec, IngressClassSpecView) spec, with_spec: "spec";
    }
}

crate::kind! {
    /// NetworkPolicy describes what network traffic is allowed for a set of Pods.
    NetworkPolicy, NetworkPolicyView, "networking.k8s.io/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec represents the specification of the desired behavior for this NetworkPolicy.
        object(NetworkPolicySpec, NetworkPolicySpecView) spec, with_spec: "spec";
    }
}

crate::kind! {
    /// ServiceCIDR defines a range of IP addresses using CIDR format (e.g.
    ServiceCIDR, ServiceCIDRView, "networking.k8s.io/v1" {
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// spec is the desired state of the ServiceCIDR.
        object(ServiceCIDRSpec, ServiceCIDRSpecView) spec, with_spec: "spec";
        /// status represents the current state of the ServiceCIDR.
        object(ServiceCIDRStatus, ServiceCIDRStatusView) status, with_status: "status";
    }
}

crate::object! {
    /// HTTPIngressPath associates a path with a backend.
    HTTPIngressPath, HTTPIngressPathView {
        /// backend defines the referenced service endpoint to which the traffic will be forwarded
        /// to.
        object(IngressBackend, IngressBackendView) backend, with_backend: "backend";
        /// path is matched against the path of an incoming request.
        text() path, with_path: "path";
        /// pathType determines the interpretation of the path matching.
        choice(PathType) path_type, with_path_type: "pathType";
    }
}

crate::object! {
    /// HTTPIngressRuleValue is a list of http selectors pointing to backends.
    HTTPIngressRuleValue, HTTPIngressRuleValueView {
        /// paths is a collection of paths that map requests to backends.
        objects(HTTPIngressPath, HTTPIngressPathView) paths, with_paths: "paths";
    }
}

crate::object! {
    /// IPAddressSpec describe the attributes in an IP Address.
    IPAddressSpec, IPAddressSpecView {
        /// ParentRef references the resource that an IPAddress is attached to.
        object(ParentReference, ParentReferenceView) parent_ref, with_parent_ref: "parentRef";
    }
}

crate::object! {
    /// IPBlock describes a particular CIDR (Ex.
    IPBlock(with_cidr: text), IPBlockView {
        /// cidr is a string representing the IPBlock Valid examples are "192.168.1.0/24" or
        /// "2001:db8::/64".
        text() cidr, with_cidr: "cidr";
        /// except is a slice of CIDRs that should not be included within an IPBlock Valid examples
        /// are "192.168.1.0/24" or "2001:db8::/64" Except values will be rejected if they are
        /// outside the cidr range.
        texts() except, with_except: "except";
    }
}

crate::object! {
    /// IngressBackend describes all endpoints for a given service and port.
    IngressBackend, IngressBackendView {
        /// resource is an ObjectRef to another Kubernetes resource in the namespace of the Ingress
        /// object.
        object(TypedLocalObjectReference, TypedLocalObjectReferenceView) resource, with_resource: "resource";
        /// service references a service as a backend.
        object(IngressServiceBackend, IngressServiceBackendView) service, with_service: "service";
    }
}

crate::object! {
    /// IngressClassParametersReference identifies an API object.
    IngressClassParametersReference(with_name: text), IngressClassParametersReferenceView {
        /// apiGroup is the group for the resource being referenced.
        text() api_group, with_api_group: "apiGroup";
        /// kind is the type of resource being referenced.
        text() kind, with_kind: "kind";
        /// name is the name of resource being referenced.
        text() name, with_name: "name";
        /// namespace is the namespace of the resource being referenced.
        text() namespace, with_namespace: "namespace";
        /// scope represents if this refers to a cluster or namespace scoped resource.
        text() scope, with_scope: "scope";
    }
}

crate::object! {
    /// IngressClassSpec provides information about the class of an Ingress.
    IngressClassSpec, IngressClassSpecView {
        /// controller refers to the name of the controller that should handle this class.
        text() controller, with_controller: "controller";
        /// parameters is a link to a custom resource containing additional configuration for the
        /// controller.
        object(IngressClassParametersReference, IngressClassParametersReferenceView) parameters, with_parameters: "parameters";
    }
}

crate::object! {
    /// IngressLoadBalancerIngress represents the status of a load-balancer ingress point.
    IngressLoadBalancerIngress, IngressLoadBalancerIngressView {
        /// hostname is set for load-balancer ingress points that are DNS based.
        text() hostname, with_hostname: "hostname";
        /// ip is set for load-balancer ingress points that are IP based.
        text() ip, with_ip: "ip";
        /// ports provides information about the ports exposed by this LoadBalancer.
        objects(IngressPortStatus, IngressPortStatusView) ports, with_ports: "ports";
    }
}

crate::object! {
    /// IngressLoadBalancerStatus represents the status of a load-balancer.
    IngressLoadBalancerStatus, IngressLoadBalancerStatusView {
        /// ingress is a list containing ingress points for the load-balancer.
        objects(IngressLoadBalancerIngress, IngressLoadBalancerIngressView) ingress, with_ingress: "ingress";
    }
}

crate::object! {
    /// IngressPortStatus represents the error condition of a service port.
    IngressPortStatus, IngressPortStatusView {
        /// error is to record the problem with the service port The format of the error shall
        /// comply with the following rules: - built-in error values shall be specified in this file
        /// and those shall use CamelCase names - cloud provider specific error values must have
        /// names that comply with the format foo.example.com/CamelCase.
        text() error, with_error: "error";
        /// port is the port number of the ingress port.
        int() port, with_port: "port";
        /// protocol is the protocol of the ingress port.
        choice(Protocol) protocol, with_protocol: "protocol";
    }
}

crate::object! {
    /// IngressRule represents the rules mapping the paths under a specified host to the related
    /// backend services.
    IngressRule, IngressRuleView {
        /// host is the fully qualified domain name of a network host, as defined by RFC 3986.
        text() host, with_host: "host";
        /// The field http.
        object(HTTPIngressRuleValue, HTTPIngressRuleValueView) http, with_http: "http";
    }
}

crate::object! {
    /// IngressServiceBackend references a Kubernetes Service as a Backend.
    IngressServiceBackend(with_name: text), IngressServiceBackendView {
        /// name is the referenced service.
        text() name, with_name: "name";
        /// port of the referenced service.
        object(ServiceBackendPort, ServiceBackendPortView) port, with_port: "port";
    }
}

crate::object! {
    /// IngressSpec describes the Ingress the user wishes to exist.
    IngressSpec, IngressSpecView {
        /// defaultBackend is the backend that should handle requests that don't match any rule.
        object(IngressBackend, IngressBackendView) default_backend, with_default_backend: "defaultBackend";
        /// ingressClassName is the name of an IngressClass cluster resource.
        text() ingress_class_name, with_ingress_class_name: "ingressClassName";
        /// rules is a list of host rules used to configure the Ingress.
        objects(IngressRule, IngressRuleView) rules, with_rules: "rules";
        /// tls represents the TLS configuration.
        objects(IngressTLS, IngressTLSView) tls, with_tls: "tls";
    }
}

crate::object! {
    /// IngressStatus describe the current state of the Ingress.
    IngressStatus, IngressStatusView {
        /// loadBalancer contains the current status of the load-balancer.
        object(IngressLoadBalancerStatus, IngressLoadBalancerStatusView) load_balancer, with_load_balancer: "loadBalancer";
    }
}

crate::object! {
    /// IngressTLS describes the transport layer security associated with an ingress.
    IngressTLS, IngressTLSView {
        /// hosts is a list of hosts included in the TLS certificate.
        texts() hosts, with_hosts: "hosts";
        /// secretName is the name of the secret used to terminate TLS traffic on port 443.
        text() secret_name, with_secret_name: "secretName";
    }
}

crate::object! {
    /// NetworkPolicyEgressRule describes a particular set of traffic that is allowed out of pods
    /// matched by a NetworkPolicySpec's podSelector.
    NetworkPolicyEgressRule, NetworkPolicyEgressRuleView {
        /// ports is a list of destination ports for outgoing traffic.
        objects(NetworkPolicyPort, NetworkPolicyPortView) ports, with_ports: "ports";
        /// to is a list of destinations for outgoing traffic of pods selected for this rule.
        objects(NetworkPolicyPeer, NetworkPolicyPeerView) to, with_to: "to";
    }
}

crate::object! {
    /// NetworkPolicyIngressRule describes a particular set of traffic that is allowed to the pods
    /// matched by a NetworkPolicySpec's podSelector.
    NetworkPolicyIngressRule, NetworkPolicyIngressRuleView {
        /// from is a list of sources which should be able to access the pods selected for this
        /// rule.
        objects(NetworkPolicyPeer, NetworkPolicyPeerView) from, with_from: "from";
        /// ports is a list of ports which should be made accessible on the pods selected for this
        /// rule.
        objects(NetworkPolicyPort, NetworkPolicyPortView) ports, with_ports: "ports";
    }
}

crate::object! {
    /// NetworkPolicyPeer describes a peer to allow traffic to/from.
    NetworkPolicyPeer, NetworkPolicyPeerView {
        /// ipBlock defines policy on a particular IPBlock.
        object(IPBlock, IPBlockView) ip_block, with_ip_block: "ipBlock";
        /// namespaceSelector selects namespaces using cluster-scoped labels.
        object(LabelSelector, LabelSelectorView) namespace_selector, with_namespace_selector: "namespaceSelector";
        /// podSelector is a label selector which selects pods.
        object(LabelSelector, LabelSelectorView) pod_selector, with_pod_selector: "podSelector";
    }
}

crate::object! {
    /// NetworkPolicyPort describes a port to allow traffic on.
    NetworkPolicyPort, NetworkPolicyPortView {
        /// endPort indicates that the range of ports from port to endPort if set, inclusive, should
        /// be allowed by the policy.
        int() end_port, with_end_port: "endPort";
        /// port represents the port on the given protocol.
        int_or_text() port, with_port: "port";
        /// protocol represents the protocol (TCP, UDP, or SCTP) which traffic must match.
        choice(Protocol) protocol, with_protocol: "protocol";
    }
}

crate::object! {
    /// NetworkPolicySpec provides the specification of a NetworkPolicy.
    NetworkPolicySpec, NetworkPolicySpecView {
        /// egress is a list of egress rules to be applied to the selected pods.
        objects(NetworkPolicyEgressRule, NetworkPolicyEgressRuleView) egress, with_egress: "egress";
        /// ingress is a list of ingress rules to be applied to the selected pods.
        objects(NetworkPolicyIngressRule, NetworkPolicyIngressRuleView) ingress, with_ingress: "ingress";
        /// podSelector selects the pods to which this NetworkPolicy object applies.
        object(LabelSelector, LabelSelectorView) pod_selector, with_pod_selector: "podSelector";
        /// policyTypes is a list of rule types that the NetworkPolicy relates to.
        choices(PolicyType) policy_types, with_policy_types: "policyTypes";
    }
}

crate::object! {
    /// ParentReference describes a reference to a parent object.
    ParentReference(with_name: text), ParentReferenceView {
        /// Group is the group of the object being referenced.
        text() group, with_group: "group";
        /// Name is the name of the object being referenced.
        text() name, with_name: "name";
        /// Namespace is the namespace of the object being referenced.
        text() namespace, with_namespace: "namespace";
        /// Resource is the resource of the object being referenced.
        text() resource, with_resource: "resource";
    }
}

crate::object! {
    /// ServiceBackendPort is the service port being referenced.
    ServiceBackendPort, ServiceBackendPortView {
        /// name is the name of the port on the Service.
        text() name, with_name: "name";
        /// number is the numerical port number (e.g.
        int() number, with_number: "number";
    }
}

crate::object! {
    /// ServiceCIDRSpec define the CIDRs the user wants to use for allocating ClusterIPs for
    /// Services.
    ServiceCIDRSpec, ServiceCIDRSpecView {
        /// CIDRs defines the IP blocks in CIDR notation (e.g.
        texts() cidrs, with_cidrs: "cidrs";
    }
}

crate::object! {
    /// ServiceCIDRStatus describes the current state of the ServiceCIDR.
    ServiceCIDRStatus, ServiceCIDRStatusView {
        /// conditions holds an array of metav1.Condition that describe the state of the
        /// ServiceCIDR.
        objects(Condition, ConditionView) conditions, with_conditions: "conditions";
    }
}

crate::choice! {
    /// A value of a field.
    PathType {
        Exact = "Exact",
        ImplementationSpecific = "ImplementationSpecific",
        Prefix = "Prefix",
    }
}

crate::choice! {
    /// A value of a field.
    PolicyType {
        Egress = "Egress",
        Ingress = "Ingress",
    }
}
