//! An empty environment, without arguments, terminal and directories; exits end the call.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sync::cli::{
    environment, exit, stderr, stdin, stdout, terminal_input, terminal_output, terminal_stderr, terminal_stdin, terminal_stdout,
};
use wasmtime_wasi::p2::bindings::sync::filesystem::{preopens, types::Descriptor};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use super::streams::{STDERR, STDIN, STDOUT};
use crate::state::CallState;

#[derive(Debug, thiserror::Error)]
#[error("the plugin exited with status {0}")]
pub(crate) struct Exit(u8);

impl environment::Host for CallState {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(Vec::new())
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
}

impl exit::Host for CallState {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        Err(Exit(u8::from(status.is_err())).into())
    }

    fn exit_with_code(&mut self, status: u8) -> wasmtime::Result<()> {
        Err(Exit(status).into())
    }
}

impl stdin::Host for CallState {
    fn get_stdin(&mut self) -> wasmtime::Result<Resource<DynInputStream>> {
        Ok(Resource::new_own(STDIN))
    }
}

impl stdout::Host for CallState {
    fn get_stdout(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        Ok(Resource::new_own(STDOUT))
    }
}

impl stderr::Host for CallState {
    fn get_stderr(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        Ok(Resource::new_own(STDERR))
    }
}

impl terminal_input::Host for CallState {}

impl terminal_input::HostTerminalInput for CallState {
    fn drop(&mut self, _terminal: Resource<terminal_input::TerminalInput>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl terminal_output::Host for CallState {}

impl terminal_output::HostTerminalOutput for CallState {
    fn drop(&mut self, _terminal: Resource<terminal_output::TerminalOutput>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl terminal_stdin::Host for CallState {
    fn get_terminal_stdin(&mut self) -> wasmtime::Result<Option<Resource<terminal_stdin::TerminalInput>>> {
        Ok(None)
    }
}

impl terminal_stdout::Host for CallState {
    fn get_terminal_stdout(&mut self) -> wasmtime::Result<Option<Resource<terminal_stdout::TerminalOutput>>> {
        Ok(None)
    }
}

impl terminal_stderr::Host for CallState {
    fn get_terminal_stderr(&mut self) -> wasmtime::Result<Option<Resource<terminal_stderr::TerminalOutput>>> {
        Ok(None)
    }
}

impl preopens::Host for CallState {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        Ok(Vec::new())
    }
}
