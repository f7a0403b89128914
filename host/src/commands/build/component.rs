//! Turns a core module for `wasip1` into a component of the contract.
//!
//! The adapter is text (`go/adapter.wat`), and is assembled here: no binary is checked in.

use anyhow::Context as _;
use gyre_sandbox::CONTRACT;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

const ADAPTER: &str = include_str!("go/adapter.wat");
const ADAPTER_WORLD: &str = include_str!("go/adapter.wit");

/// The module that the adapter implements.
pub(super) const PREVIEW1: &str = "wasi_snapshot_preview1";

/// Returns the component of a core module that implements the world `plugin`.
///
/// # Errors
/// If an import is unknown, or an export of the contract is missing.
pub(super) fn componentize(mut module: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    embed(&mut module, "plugin.wit", CONTRACT, "plugin")?;
    let mut adapter = wat::parse_str(ADAPTER).context("cannot assemble the adapter")?;
    embed(&mut adapter, "adapter.wit", ADAPTER_WORLD, "adapter")?;
    ComponentEncoder::default().validate(true).module(&module)?.adapter(PREVIEW1, &adapter)?.encode()
}

/// Adds the types of a world to a module.
fn embed(module: &mut Vec<u8>, file: &str, text: &str, world: &str) -> anyhow::Result<()> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str(file, text)?;
    let world = resolve.select_world(&[package], Some(world))?;
    embed_component_metadata(module, &resolve, world, StringEncoding::UTF8)
}
