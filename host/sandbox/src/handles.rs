//! The handles that wasmtime's own implementation of WASI keeps for a store.

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView};

/// How many handles a store's tables may hold: a program holds a dozen, and each costs the host some 100 bytes.
pub(crate) const MAX_HANDLES: usize = 1_024;

/// The context and the table of handles, made when they are first asked for: most plugins never do.
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
