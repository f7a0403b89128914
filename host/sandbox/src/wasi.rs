//! WASI for programs without any rights, so that ordinary toolchains work.
//!
//! Each interface is linked by name below, and no others. No function blocks, because only running
//! plugins notice the deadline: pollables are ready, sleep returns at once, stdin is at its end,
//! and sockets cannot be created. Files and sockets use wasmtime's implementation, but without a
//! preopened directory or a socket, its methods cannot be called.

mod clocks;
mod command;
mod sockets;
mod streams;

pub(crate) use self::command::Exit;

use wasmtime::component::{HasData, HasSelf, Linker, ResourceTable};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::sockets::{instance_network, ip_name_lookup, network, tcp_create_socket};
use wasmtime_wasi::p2::bindings::sync::sockets::{tcp, udp, udp_create_socket};
use wasmtime_wasi::p2::bindings::sync::{cli, clocks as wasi_clocks, filesystem, io, random};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};
use wasmtime_wasi::{WasiCtxView, WasiView};

use crate::state::CallState;

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.handles.view()
    }
}

struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

pub(crate) fn add_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    type Own = HasSelf<CallState>;
    fn own(state: &mut CallState) -> &mut CallState {
        state
    }

    io::error::add_to_linker::<CallState, Table>(linker, |state| state.ctx().table)?;
    io::poll::add_to_linker::<CallState, Own>(linker, own)?;
    io::streams::add_to_linker::<CallState, Own>(linker, own)?;
    wasi_clocks::wall_clock::add_to_linker::<CallState, Own>(linker, own)?;
    wasi_clocks::monotonic_clock::add_to_linker::<CallState, Own>(linker, own)?;
    random::random::add_to_linker::<CallState, Own>(linker, own)?;
    random::insecure::add_to_linker::<CallState, Own>(linker, own)?;
    random::insecure_seed::add_to_linker::<CallState, Own>(linker, own)?;
    cli::environment::add_to_linker::<CallState, Own>(linker, own)?;
    cli::exit::add_to_linker::<CallState, Own>(linker, own)?;
    cli::stdin::add_to_linker::<CallState, Own>(linker, own)?;
    cli::stdout::add_to_linker::<CallState, Own>(linker, own)?;
    cli::stderr::add_to_linker::<CallState, Own>(linker, own)?;
    cli::terminal_input::add_to_linker::<CallState, Own>(linker, own)?;
    cli::terminal_output::add_to_linker::<CallState, Own>(linker, own)?;
    cli::terminal_stdin::add_to_linker::<CallState, Own>(linker, own)?;
    cli::terminal_stdout::add_to_linker::<CallState, Own>(linker, own)?;
    cli::terminal_stderr::add_to_linker::<CallState, Own>(linker, own)?;

    filesystem::preopens::add_to_linker::<CallState, Own>(linker, own)?;
    filesystem::types::add_to_linker::<CallState, WasiFilesystem>(linker, CallState::filesystem)?;
    let options = network::LinkOptions::default();
    network::add_to_linker::<CallState, Own>(linker, &options, own)?;
    instance_network::add_to_linker::<CallState, Own>(linker, own)?;
    ip_name_lookup::add_to_linker::<CallState, Own>(linker, own)?;
    tcp_create_socket::add_to_linker::<CallState, Own>(linker, own)?;
    udp_create_socket::add_to_linker::<CallState, Own>(linker, own)?;
    tcp::add_to_linker::<CallState, WasiSockets>(linker, CallState::sockets)?;
    udp::add_to_linker::<CallState, WasiSockets>(linker, CallState::sockets)?;
    Ok(())
}
