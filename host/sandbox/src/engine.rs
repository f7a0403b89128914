//! The settings of the engine, each with its reason.

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::options::{Error, Options};

/// The native stack of a plugin. Interpreters recurse natively for each call in their language.
const MAX_STACK: usize = 512 << 10;

const MOST_MEMORY: usize = 1 << 32;

/// The bytes of a released table that are zeroed instead of unmapped, which saves a fifth of a
/// fresh call. For memories, it would save as much, but keep megabytes per slot.
const TABLE_KEEP_RESIDENT: usize = 512 << 10;

/// The most memories, tables and core instances of a component: interpreters have dozens.
const MEMORIES: u32 = 8;
const TABLES: u32 = 64;
const CORE_INSTANCES: u32 = 200;

/// The frames of a backtrace: more than are reported, to recognise recursion.
const BACKTRACE_FRAMES: usize = 128;

/// Starts the engine with an instance pool, or without one if the address space is too small.
pub(crate) fn start(options: &Options) -> Result<Engine, Error> {
    match Engine::new(&pooled(options)) {
        Ok(engine) => Ok(engine),
        Err(error) => {
            tracing::warn!(error = format!("{error:#}"), "no pool for plugin instances; they are allocated one by one");
            Engine::new(&on_demand()).map_err(|error| Error::Engine(format!("{error:#}")))
        }
    }
}

fn pooled(options: &Options) -> Config {
    let mut config = base();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(options)));
    config
}

/// Without a reservation of 4 GiB of addresses for each memory, at the cost of bounds checks.
fn on_demand() -> Config {
    let mut config = base();
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    config.memory_reservation(0).memory_guard_size(64 << 10).memory_reservation_for_growth(1 << 20);
    config
}

fn base() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // Deadlines. Fuel would cost a third more.
        .epoch_interruption(true)
        // Nothing here is asynchronous, and calls are cheaper without it.
        .concurrency_support(false)
        // A call is a pure function of its inputs, on any CPU.
        .relaxed_simd_deterministic(true)
        .cranelift_nan_canonicalization(true)
        .max_wasm_stack(MAX_STACK)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(BACKTRACE_FRAMES))
        // Function names suffice; offsets into a stripped binary are useless.
        .generate_address_map(false)
        // wasmtime walks its own frames.
        .native_unwind_info(false)
        // No toolchain for plugins needs these features, and each adds risk.
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false);
    config
}

/// Sizes for the output of componentize-js and componentize-py. They reserve only addresses.
fn pool(options: &Options) -> PoolingAllocationConfig {
    let slots = slots(options);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        // Then a component that fits never lacks one kind of slot.
        .total_core_instances(slots.saturating_mul(CORE_INSTANCES))
        .total_memories(slots.saturating_mul(MEMORIES))
        .total_tables(slots.saturating_mul(TABLES))
        .max_tables_per_module(16)
        // The function tables of SpiderMonkey and CPython.
        .table_elements(100_000)
        .max_core_instance_size(16 << 20)
        .max_component_instance_size(16 << 20)
        .max_memory_size(options.max_memory_bytes.min(MOST_MEMORY))
        .linear_memory_keep_resident(0)
        .table_keep_resident(TABLE_KEEP_RESIDENT)
        // It leaves dirty pages that were swapped out to the next instance (wasmtime 48.0).
        .pagemap_scan(Enabled::No);
    pool
}

/// A slot for each running call, and as many for idle instances.
fn slots(options: &Options) -> u32 {
    options.concurrent_calls.max(1).saturating_mul(2)
}
