// Types of `networking`, generated from the OpenAPI documents of Kubernetes.
// Do not edit them: `npm run generate` writes them.

import { type Kind, kind } from "../object.ts";
import type {
  TypedLocalObjectReference,
} from "./core.ts";
import type {
  Condition,
  LabelSelector,
  ObjectMeta,
} from "./meta.ts";

/** HTTPIngressPath associates a path with a backend. */
export interface HTTPIngressPath {
  /** backend defines the referenced service endpoint to which the traffic will be forwarded to. */
  backend?: IngressBackend;
  /** path is matched against the path of an incoming request. */
  path?: string;
  /** pathType determines the interpretation of the path matching. */
  pathType?: "Exact" | "ImplementationSpecific" | "Prefix";
}

/** HTTPIngressRuleValue is a list of http selectors pointing to backends. */
export interface HTTPIngressRuleValue {
  /** paths is a collection of paths that map requests to backends. */
  paths?: HTTPIngressPath[];
}

/** IPAddress represents a single IP of a single IP Family. */
export interface IPAddress {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** spec is the desired state of the IPAddress. */
  spec?: IPAddressSpec;
}

/** The kind IPAddress of networking.k8s.io/v1. */
export const IPAddress: Kind<IPAddress> = /* @__PURE__ */ kind<IPAddress>("networking.k8s.io/v1", "IPAddress", { clusterScoped: true });

/** IPAddressSpec describe the attributes in an IP Address. */
export interface IPAddressSpec {
  /** ParentRef references the resource that an IPAddress is attached to. */
  parentRef?: ParentReference;
}

/** IPBlock describes a particular CIDR (Ex. */
export interface IPBlock {
  /**
   * cidr is a string representing the IPBlock Valid examples are "192.168.1.0/24" or
   * "2001:db8::/64".
   */
  cidr?: string;
  /**
   * except is a slice of CIDRs that should not be included within an IPBlock Valid examples are
   * "192.168.1.0/24" or "2001:db8::/64" Except values will be rejected if they are outside the cidr
   * range.
   */
  except?: string[];
}

/**
 * Ingress is a collection of rules that allow inbound connections to reach the endpoints defined by
 * a backend.
 */
export interface Ingress {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** spec is the desired state of the Ingress. */
  spec?: IngressSpec;
  /** status is the current state of the Ingress. */
  status?: IngressStatus;
}

/** The kind Ingress of networking.k8s.io/v1. */
export const Ingress: Kind<Ingress> = /* @__PURE__ */ kind<Ingress>("networking.k8s.io/v1", "Ingress");

/** IngressBackend describes all endpoints for a given service and port. */
export interface IngressBackend {
  /**
   * resource is an ObjectRef to another Kubernetes resource in the namespace of the Ingress object.
   */
  resource?: TypedLocalObjectReference;
  /** service references a service as a backend. */
  service?: IngressServiceBackend;
}

/** IngressClass represents the class of the Ingress, referenced by the Ingress Spec. */
export interface IngressClass {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** spec is the desired state of the IngressClass. */
  spec?: IngressClassSpec;
}

/** The kind IngressClass of networking.k8s.io/v1. */
export const IngressClass: Kind<IngressClass> = /* @__PURE__ */ kind<IngressClass>("networking.k8s.io/v1", "IngressClass", { clusterScoped: true });

/** IngressClassParametersReference identifies an API object. */
export interface IngressClassParametersReference {
  /** apiGroup is the group for the resource being referenced. */
  apiGroup?: string;
  /** kind is the type of resource being referenced. */
  kind?: string;
  /** name is the name of resource being referenced. */
  name?: string;
  /** namespace is the namespace of the resource being referenced. */
  namespace?: string;
  /** scope represents if this refers to a cluster or namespace scoped resource. */
  scope?: string;
}

/** IngressClassSpec provides information about the class of an Ingress. */
export interface IngressClassSpec {
  /** controller refers to the name of the controller that should handle this class. */
  controller?: string;
  /**
   * parameters is a link to a custom resource containing additional configuration for the
   * controller.
   */
  parameters?: IngressClassParametersReference;
}

/** IngressLoadBalancerIngress represents the status of a load-balancer ingress point. */
export interface IngressLoadBalancerIngress {
  /** hostname is set for load-balancer ingress points that are DNS based. */
  hostname?: string;
  /** ip is set for load-balancer ingress points that are IP based. */
  ip?: string;
  /** ports provides information about the ports exposed by this LoadBalancer. */
  ports?: IngressPortStatus[];
}

/** IngressLoadBalancerStatus represents the status of a load-balancer. */
export interface IngressLoadBalancerStatus {
  /** ingress is a list containing ingress points for the load-balancer. */
  ingress?: IngressLoadBalancerIngress[];
}

/** IngressPortStatus represents the error condition of a service port. */
export interface IngressPortStatus {
  /**
   * error is to record the problem with the service port The format of the error shall comply with
   * the following rules: - built-in error values shall be specified in this file and those shall
   * use CamelCase names - cloud provider specific error values must have names that comply with the
   * format foo.example.com/CamelCase.
   */
  error?: string;
  /** port is the port number of the ingress port. */
  port?: number;
  /** protocol is the protocol of the ingress port. */
  protocol?: "SCTP" | "TCP" | "UDP";
}

/**
 * IngressRule represents the rules mapping the paths under a specified host to the related backend
 * services.
 */
export interface IngressRule {
  /** host is the fully qualified domain name of a network host, as defined by RFC 3986. */
  host?: string;
  http?: HTTPIngressRuleValue;
}

/** IngressServiceBackend references a Kubernetes Service as a Backend. */
export interface IngressServiceBackend {
  /** name is the referenced service. */
  name?: string;
  /** port of the referenced service. */
  port?: ServiceBackendPort;
}

/** IngressSpec describes the Ingress the user wishes to exist. */
export interface IngressSpec {
  /** defaultBackend is the backend that should handle requests that don't match any rule. */
  defaultBackend?: IngressBackend;
  /** ingressClassName is the name of an IngressClass cluster resource. */
  ingressClassName?: string;
  /** rules is a list of host rules used to configure the Ingress. */
  rules?: IngressRule[];
  /** tls represents the TLS configuration. */
  tls?: IngressTLS[];
}

/** IngressStatus describe the current state of the Ingress. */
export interface IngressStatus {
  /** loadBalancer contains the current status of the load-balancer. */
  loadBalancer?: IngressLoadBalancerStatus;
}

/** IngressTLS describes the transport layer security associated with an ingress. */
export interface IngressTLS {
  /** hosts is a list of hosts included in the TLS certificate. */
  hosts?: string[];
  /** secretName is the name of the secret used to terminate TLS traffic on port 443. */
  secretName?: string;
}

/** NetworkPolicy describes what network traffic is allowed for a set of Pods. */
export interface NetworkPolicy {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** spec represents the specification of the desired behavior for this NetworkPolicy. */
  spec?: NetworkPolicySpec;
}

/** The kind NetworkPolicy of networking.k8s.io/v1. */
export const NetworkPolicy: Kind<NetworkPolicy> = /* @__PURE__ */ kind<NetworkPolicy>("networking.k8s.io/v1", "NetworkPolicy");

/**
 * NetworkPolicyEgressRule describes a particular set of traffic that is allowed out of pods matched
 * by a NetworkPolicySpec's podSelector.
 */
export interface NetworkPolicyEgressRule {
  /** ports is a list of destination ports for outgoing traffic. */
  ports?: NetworkPolicyPort[];
  /** to is a list of destinations for outgoing traffic of pods selected for this rule. */
  to?: NetworkPolicyPeer[];
}

/**
 * NetworkPolicyIngressRule describes a particular set of traffic that is allowed to the pods
 * matched by a NetworkPolicySpec's podSelector.
 */
export interface NetworkPolicyIngressRule {
  /** from is a list of sources which should be able to access the pods selected for this rule. */
  from?: NetworkPolicyPeer[];
  /**
   * ports is a list of ports which should be made accessible on the pods selected for this rule.
   */
  ports?: NetworkPolicyPort[];
}

/** NetworkPolicyPeer describes a peer to allow traffic to/from. */
export interface NetworkPolicyPeer {
  /** ipBlock defines policy on a particular IPBlock. */
  ipBlock?: IPBlock;
  /** namespaceSelector selects namespaces using cluster-scoped labels. */
  namespaceSelector?: LabelSelector;
  /** podSelector is a label selector which selects pods. */
  podSelector?: LabelSelector;
}

/** NetworkPolicyPort describes a port to allow traffic on. */
export interface NetworkPolicyPort {
  /**
   * endPort indicates that the range of ports from port to endPort if set, inclusive, should be
   * allowed by the policy.
   */
  endPort?: number;
  /** port represents the port on the given protocol. */
  port?: number | string;
  /** protocol represents the protocol (TCP, UDP, or SCTP) which traffic must match. */
  protocol?: "SCTP" | "TCP" | "UDP";
}

/** NetworkPolicySpec provides the specification of a NetworkPolicy. */
export interface NetworkPolicySpec {
  /** egress is a list of egress rules to be applied to the selected pods. */
  egress?: NetworkPolicyEgressRule[];
  /** ingress is a list of ingress rules to be applied to the selected pods. */
  ingress?: NetworkPolicyIngressRule[];
  /** podSelector selects the pods to which this NetworkPolicy object applies. */
  podSelector?: LabelSelector;
  /** policyTypes is a list of rule types that the NetworkPolicy relates to. */
  policyTypes?: ("Egress" | "Ingress")[];
}

/** ParentReference describes a reference to a parent object. */
export interface ParentReference {
  /** Group is the group of the object being referenced. */
  group?: string;
  /** Name is the name of the object being referenced. */
  name?: string;
  /** Namespace is the namespace of the object being referenced. */
  namespace?: string;
  /** Resource is the resource of the object being referenced. */
  resource?: string;
}

/** ServiceBackendPort is the service port being referenced. */
export interface ServiceBackendPort {
  /** name is the name of the port on the Service. */
  name?: string;
  /** number is the numerical port number (e.g. */
  number?: number;
}

/** ServiceCIDR defines a range of IP addresses using CIDR format (e.g. */
export interface ServiceCIDR {
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** spec is the desired state of the ServiceCIDR. */
  spec?: ServiceCIDRSpec;
  /** status represents the current state of the ServiceCIDR. */
  status?: ServiceCIDRStatus;
}

/** The kind ServiceCIDR of networking.k8s.io/v1. */
export const ServiceCIDR: Kind<ServiceCIDR> = /* @__PURE__ */ kind<ServiceCIDR>("networking.k8s.io/v1", "ServiceCIDR", { clusterScoped: true });

/**
 * ServiceCIDRSpec define the CIDRs the user wants to use for allocating ClusterIPs for Services.
 */
export interface ServiceCIDRSpec {
  /** CIDRs defines the IP blocks in CIDR notation (e.g. */
  cidrs?: string[];
}

/** ServiceCIDRStatus describes the current state of the ServiceCIDR. */
export interface ServiceCIDRStatus {
  /** conditions holds an array of metav1.Condition that describe the state of the ServiceCIDR. */
  conditions?: Condition[];
}
