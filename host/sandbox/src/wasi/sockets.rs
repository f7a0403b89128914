//! A network without sockets.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sockets::{instance_network, ip_name_lookup, network, tcp_create_socket};
use wasmtime_wasi::p2::bindings::sync::sockets::udp_create_socket;
use wasmtime_wasi::p2::{DynPollable, SocketError, SocketResult, TcpSocket, UdpSocket};

use super::streams::READY;
use crate::state::CallState;

const NETWORK: u32 = 0;

impl network::Host for CallState {
    fn convert_error_code(&mut self, error: SocketError) -> wasmtime::Result<network::ErrorCode> {
        error.downcast()
    }

    fn network_error_code(&mut self, _error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<network::ErrorCode>> {
        Ok(None)
    }
}

impl network::HostNetwork for CallState {
    fn drop(&mut self, _network: Resource<network::Network>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl instance_network::Host for CallState {
    fn instance_network(&mut self) -> wasmtime::Result<Resource<network::Network>> {
        Ok(Resource::new_own(NETWORK))
    }
}

impl tcp_create_socket::Host for CallState {
    fn create_tcp_socket(&mut self, _family: network::IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        Err(network::ErrorCode::AccessDenied.into())
    }
}

impl udp_create_socket::Host for CallState {
    fn create_udp_socket(&mut self, _family: network::IpAddressFamily) -> SocketResult<Resource<UdpSocket>> {
        Err(network::ErrorCode::AccessDenied.into())
    }
}

impl ip_name_lookup::Host for CallState {
    fn resolve_addresses(
        &mut self,
        _network: Resource<network::Network>,
        _name: String,
    ) -> SocketResult<Resource<ip_name_lookup::ResolveAddressStream>> {
        Err(network::ErrorCode::AccessDenied.into())
    }
}

impl ip_name_lookup::HostResolveAddressStream for CallState {
    fn resolve_next_address(
        &mut self,
        _stream: Resource<ip_name_lookup::ResolveAddressStream>,
    ) -> SocketResult<Option<network::IpAddress>> {
        Err(network::ErrorCode::AccessDenied.into())
    }

    fn subscribe(
        &mut self,
        _stream: Resource<ip_name_lookup::ResolveAddressStream>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        Ok(Resource::new_own(READY))
    }

    fn drop(&mut self, _stream: Resource<ip_name_lookup::ResolveAddressStream>) -> wasmtime::Result<()> {
        Ok(())
    }
}
