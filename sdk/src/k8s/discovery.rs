//! Types of `discovery`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// EndpointSlice represents a set of service endpoints.
    EndpointSlice, EndpointSliceView, "discovery.k8s.io/v1" {
        /// addressType specifies the type of address carried by this EndpointSlice.
        choice(AddressType) address_type, with_address_type: "addressType";
        /// endpoints is a list of unique endpoints in this slice.
        objects(Endpoint, EndpointView) endpoints, with_endpoints: "endpoints";
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// ports specifies the list of network ports exposed by each endpoint in this slice.
        objects(EndpointPort, EndpointPortView) ports, with_ports: "ports";
    }
}

crate::object! {
    /// Endpoint represents a single logical "backend" implementing a service.
    Endpoint, EndpointView {
        /// addresses of this endpoint.
        texts() addresses, with_addresses: "addresses";
        /// conditions contains information about the current status of the endpoint.
        object(EndpointConditions, EndpointConditionsView) conditions, with_conditions: "conditions";
        /// deprecatedTopology contains topology information part of the v1beta1 API.
        text_map() deprecated_topology, with_deprecated_topology: "deprecatedTopology";
        /// hints contains information associated with how an endpoint should be consumed.
        object(EndpointHints, EndpointHintsView) hints, with_hints: "hints";
        /// hostname of this endpoint.
        text() hostname, with_hostname: "hostname";
        /// nodeName represents the name of the Node hosting this endpoint.
        text() node_name, with_node_name: "nodeName";
        /// targetRef is a reference to a Kubernetes object that represents this endpoint.
        object(ObjectReference, ObjectReferenceView) target_ref, with_target_ref: "targetRef";
        /// zone is the name of the Zone this endpoint exists in.
        text() zone, with_zone: "zone";
    }
}

crate::object! {
    /// EndpointConditions represents the current condition of an endpoint.
    EndpointConditions, EndpointConditionsView {
        /// ready indicates that this endpoint is ready to receive traffic, according to whatever
        /// system is managing the endpoint.
        flag() ready, with_ready: "ready";
        /// serving indicates that this endpoint is able to receive traffic, according to whatever
        /// system is managing the endpoint.
        flag() serving, with_serving: "serving";
        /// terminating indicates that this endpoint is terminating.
        flag() terminating, with_terminating: "terminating";
    }
}

crate::object! {
    /// EndpointHints provides hints describing how an endpoint should be consumed.
    EndpointHints, EndpointHintsView {
        /// forNodes indicates the node(s) this endpoint should be consumed by when using topology
        /// aware routing.
        objects(ForNode, ForNodeView) for_nodes, with_for_nodes: "forNodes";
        /// forZones indicates the zone(s) this endpoint should be consumed by when using topology
        /// aware routing.
        objects(ForZone, ForZoneView) for_zones, with_for_zones: "forZones";
    }
}

crate::object! {
    /// EndpointPort represents a Port used by an EndpointSlice.
    EndpointPort, EndpointPortView {
        /// The application protocol for this port.
        text() app_protocol, with_app_protocol: "appProtocol";
        /// name represents the name of this port.
        text() name, with_name: "name";
        /// port represents the port number of the endpoint.
        int() port, with_port: "port";
        /// protocol represents the IP protocol for this port.
        choice(Protocol) protocol, with_protocol: "protocol";
    }
}

crate::object! {
    /// ForNode provides information about which nodes should consume this endpoint.
    ForNode(with_name: text), ForNodeView {
        /// name represents the name of the node.
        text() name, with_name: "name";
    }
}

crate::object! {
    /// ForZone provides information about which zones should consume this endpoint.
    ForZone(with_name: text), ForZoneView {
        /// name represents the name of the zone.
        text() name, with_name: "name";
    }
}

crate::choice! {
    /// A value of a field.
    AddressType {
        FQDN = "FQDN",
        IPv4 = "IPv4",
        IPv6 = "IPv6",
    }
}
