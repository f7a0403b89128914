//! The handles of wasmtime's WASI implementation.

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView};

/// The most handles of a store: a program needs a dozen, and each takes about 100 bytes.
pub(crate) const MAX_HANDLES: usize = 1_024;

/// The context and the table, made when first used: most plugins never do.
#[derive(Default)]
pub(crate) struct Handles(Option<Box<(WasiCtx, ResourceTable)>>);

impl Handles {
    pub(crate) fn view(&mut self) -> WasiCtxView<'_> {
        let (ctx, table) = &mut **self.0.get_or_insert_with(|| {
            let ctx = WasiCtx::builder().allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false).build();
            let mut table = ResourceTable::new();
            table.set_max_capacity(MAX_HANDLES);
            Box::new((ctx, table))
        });
        WasiCtxView { ctx, table }
    }
}
