//! Streams and polling that never wait.
//!
//! There are three streams and one pollable, so their handles are constants, without a table.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sync::io::{poll, streams};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable, StreamError, StreamResult};

use crate::console::Stream;
use crate::state::CallState;

pub(super) const STDIN: u32 = 0;
pub(super) const STDOUT: u32 = 1;
pub(super) const STDERR: u32 = 2;
pub(super) const READY: u32 = 0;

/// The bytes that one write may have, as reported to programs: more than a log line.
const PERMIT: u64 = 16 << 10;

impl poll::Host for CallState {
    fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        wasmtime::ensure!(!pollables.is_empty(), "polled for nothing");
        Ok((0..u32::try_from(pollables.len())?).collect())
    }
}

impl poll::HostPollable for CallState {
    fn ready(&mut self, _pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        Ok(true)
    }

    fn block(&mut self, _pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        Ok(())
    }

    fn drop(&mut self, _pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl streams::Host for CallState {
    fn convert_stream_error(&mut self, error: StreamError) -> wasmtime::Result<streams::StreamError> {
        match error {
            StreamError::Closed => Ok(streams::StreamError::Closed),
            StreamError::LastOperationFailed(error) | StreamError::Trap(error) => Err(error),
        }
    }
}

impl streams::HostInputStream for CallState {
    fn read(&mut self, _stream: Resource<DynInputStream>, _len: u64) -> StreamResult<Vec<u8>> {
        Err(StreamError::Closed)
    }

    fn blocking_read(&mut self, _stream: Resource<DynInputStream>, _len: u64) -> StreamResult<Vec<u8>> {
        Err(StreamError::Closed)
    }

    fn skip(&mut self, _stream: Resource<DynInputStream>, _len: u64) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn blocking_skip(&mut self, _stream: Resource<DynInputStream>, _len: u64) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn subscribe(&mut self, _stream: Resource<DynInputStream>) -> wasmtime::Result<Resource<DynPollable>> {
        Ok(Resource::new_own(READY))
    }

    fn drop(&mut self, _stream: Resource<DynInputStream>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl CallState {
    fn write_to(&mut self, stream: &Resource<DynOutputStream>, bytes: &[u8]) -> StreamResult<()> {
        let stream = if stream.rep() == STDERR { Stream::Stderr } else { Stream::Stdout };
        let (console, imports) = self.console();
        console.write(stream, bytes, imports).map_err(|error| StreamError::Trap(error.into()))
    }

    fn write_zeroes_to(&mut self, stream: &Resource<DynOutputStream>, len: u64) -> StreamResult<()> {
        // One byte too many is a flood already, so the rest is not allocated.
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(self.console.room().saturating_add(1));
        self.write_to(stream, &vec![0; len])
    }
}

impl streams::HostOutputStream for CallState {
    fn check_write(&mut self, _stream: Resource<DynOutputStream>) -> StreamResult<u64> {
        Ok(PERMIT)
    }

    fn write(&mut self, stream: Resource<DynOutputStream>, bytes: Vec<u8>) -> StreamResult<()> {
        self.write_to(&stream, &bytes)
    }

    fn blocking_write_and_flush(&mut self, stream: Resource<DynOutputStream>, bytes: Vec<u8>) -> StreamResult<()> {
        self.write_to(&stream, &bytes)
    }

    fn write_zeroes(&mut self, stream: Resource<DynOutputStream>, len: u64) -> StreamResult<()> {
        self.write_zeroes_to(&stream, len)
    }

    fn blocking_write_zeroes_and_flush(&mut self, stream: Resource<DynOutputStream>, len: u64) -> StreamResult<()> {
        self.write_zeroes_to(&stream, len)
    }

    fn flush(&mut self, _stream: Resource<DynOutputStream>) -> StreamResult<()> {
        Ok(())
    }

    fn blocking_flush(&mut self, _stream: Resource<DynOutputStream>) -> StreamResult<()> {
        Ok(())
    }

    fn splice(
        &mut self,
        _stream: Resource<DynOutputStream>,
        _source: Resource<DynInputStream>,
        _len: u64,
    ) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn blocking_splice(
        &mut self,
        _stream: Resource<DynOutputStream>,
        _source: Resource<DynInputStream>,
        _len: u64,
    ) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn subscribe(&mut self, _stream: Resource<DynOutputStream>) -> wasmtime::Result<Resource<DynPollable>> {
        Ok(Resource::new_own(READY))
    }

    fn drop(&mut self, _stream: Resource<DynOutputStream>) -> wasmtime::Result<()> {
        Ok(())
    }
}
