//! Components that are written as text: a core module for the canonical ABI, with imports.

use std::fmt::Write as _;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

const WORLD: &str = r"
package test:probe;

world probe {
  import gyre:plugin/cluster@0.1.0;
  import gyre:plugin/log@0.1.0;
  import wasi:random/random@0.2.0;
  import wasi:random/insecure-seed@0.2.0;
  import wasi:clocks/wall-clock@0.2.0;
  import wasi:clocks/monotonic-clock@0.2.0;
  import wasi:io/poll@0.2.0;
  import wasi:cli/exit@0.2.0;
  import wasi:http/types@0.2.0;
  import gyre:plugin/cluster@0.9.0;
  export gyre:plugin/reconciler@0.1.0;
}

world stranger {
  export greet: func() -> u32;
}

package gyre:plugin@0.9.0 {
  interface cluster { write: func() -> u32; }
}
package wasi:random@0.2.0 {
  interface random { get-random-u64: func() -> u64; get-random-bytes: func(len: u64) -> list<u8>; }
  interface insecure-seed { insecure-seed: func() -> tuple<u64, u64>; }
}
package wasi:io@0.2.0 {
  interface poll { resource pollable { block: func(); ready: func() -> bool; } }
}
package wasi:clocks@0.2.0 {
  interface wall-clock { record datetime { seconds: u64, nanoseconds: u32 } now: func() -> datetime; }
  interface monotonic-clock {
    use wasi:io/poll@0.2.0.{pollable};
    now: func() -> u64;
    subscribe-duration: func(when: u64) -> pollable;
  }
}
package wasi:cli@0.2.0 {
  interface exit { exit: func(status: result); }
}
package wasi:http@0.2.0 {
  interface types { answer: func() -> u32; }
}
";

const CONSTANTS: u32 = 1_024;
const RESULT: u32 = 32_768;
const OUTPUT: u32 = 40_960;

/// A probe. Its texts are WebAssembly, and may use:
/// - `$hex (param i64)`: appends 16 digits to the output
/// - `$say (result i32)`: a terminal failure with the output
/// - `$mirror (param i32 i32) (result i32)`: a response with this text as status
/// - `$endless (param i32) (result i32)`: recurses
/// - `$down (param i32)`: recurses on a stack of its own, from this address down
/// - `$parent`, `$parent_len`
/// - `$manifests`, the address of the result of `describe`
/// - the constants `scratch` at 49152, and `kind` (the strings "", "v1", "ConfigMap") at 1024
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    pub(crate) imports: &'static str,
    pub(crate) describe: &'static str,
    pub(crate) reconcile: &'static str,
}

pub(crate) const MIRROR: Probe =
    Probe { imports: "", describe: "", reconcile: "(call $mirror (local.get $parent) (local.get $parent_len))" };

impl Probe {
    pub(crate) fn component(&self) -> Vec<u8> {
        encode(&self.module(), "probe")
    }

    fn module(&self) -> String {
        let mut image = Image::default();
        let manifest = image.manifest();
        // A list of one.
        let manifests = image.put(&[manifest.to_le_bytes(), 1_u32.to_le_bytes()].concat());
        let Self { imports, describe, reconcile } = self;
        format!(
            r#"(module
  {imports}
  (memory (export "memory") 64)
  (data (i32.const {CONSTANTS}) "{constants}")
  (global $heap (mut i32) (i32.const 65536))
  (global $out (mut i32) (i32.const {OUTPUT}))
  (global $manifests i32 (i32.const {manifests}))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (global.set $heap (i32.add (local.get $at) (local.get 3)))
    (if (i32.gt_u (global.get $heap) (i32.mul (memory.size) (i32.const 65536)))
      (then (if (i32.eq (memory.grow (i32.const 64)) (i32.const -1)) (then unreachable))))
    (local.get $at))
  (func $digit (param $value i32)
    (i32.store8 (global.get $out) (i32.add (local.get $value)
      (select (i32.const 48) (i32.const 87) (i32.lt_u (local.get $value) (i32.const 10)))))
    (global.set $out (i32.add (global.get $out) (i32.const 1))))
  (func $hex (param $value i64) (local $index i32)
    (loop $again
      (call $digit (i32.wrap_i64 (i64.shr_u (local.get $value) (i64.const 60))))
      (local.set $value (i64.shl (local.get $value) (i64.const 4)))
      (local.set $index (i32.add (local.get $index) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $index) (i32.const 16)))))
  (func $endless (param i32) (result i32)
    (i32.add (call $endless (local.get 0)) (i32.const 1)))
  (func $down (param $stack i32)
    (local.set $stack (i32.sub (local.get $stack) (i32.const 1024)))
    (memory.fill (local.get $stack) (i32.const 0) (i32.const 8))
    (call $down (local.get $stack))
    (i32.store (i32.const 49152) (i32.const 1)))
  (func $say (result i32)
    (memory.fill (i32.const {RESULT}) (i32.const 0) (i32.const 128))
    (i32.store8 (i32.const {RESULT}) (i32.const 1))
    (i32.store8 offset=8 (i32.const {RESULT}) (i32.const 2))
    (i32.store offset=16 (i32.const {RESULT}) (i32.const {OUTPUT}))
    (i32.store offset=20 (i32.const {RESULT}) (i32.sub (global.get $out) (i32.const {OUTPUT})))
    (global.set $out (i32.const {OUTPUT}))
    (i32.const {RESULT}))
  (func $mirror (param $text i32) (param $len i32) (result i32)
    (memory.fill (i32.const {RESULT}) (i32.const 0) (i32.const 128))
    (i32.store8 offset=20 (i32.const {RESULT}) (i32.const 1))
    (i32.store offset=24 (i32.const {RESULT}) (local.get $text))
    (i32.store offset=28 (i32.const {RESULT}) (local.get $len))
    (i32.const {RESULT}))
  (func (export "gyre:plugin/reconciler@0.1.0#describe") (result i32) {describe} (i32.const {manifests}))
  (func (export "gyre:plugin/reconciler@0.1.0#validate-settings") (param i32 i32) (param $settings i32) (param $len i32) (result i32)
    (memory.fill (i32.const {RESULT}) (i32.const 0) (i32.const 128))
    (if (i32.gt_u (local.get $len) (i32.const 2)) (then
      (i32.store8 (i32.const {RESULT}) (i32.const 1))
      (i32.store offset=4 (i32.const {RESULT}) (local.get $settings))
      (i32.store offset=8 (i32.const {RESULT}) (local.get $len))))
    (i32.const {RESULT}))
  (func (export "gyre:plugin/reconciler@0.1.0#reconcile")
    (param $reconciler i32) (param $reconciler_len i32)
    (param $parent i32) (param $parent_len i32) (param $members i32) (param $members_len i32)
    (param $settings i32) (param $settings_len i32) (result i32)
    {reconcile})
  (func (export "gyre:plugin/reconciler@0.1.0#finalize") (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#,
            constants = image.escaped(),
        )
    }
}

pub(crate) fn stranger() -> Vec<u8> {
    encode(r#"(module (func (export "greet") (result i32) (i32.const 7)))"#, "stranger")
}

fn encode(module: &str, world: &str) -> Vec<u8> {
    let mut module = wat::parse_str(module).unwrap();
    let mut resolve = Resolve::default();
    resolve.push_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit/v0.1.0")).unwrap();
    let package = resolve.push_str("probe.wit", WORLD).unwrap();
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap()
}

#[derive(Default)]
struct Image {
    bytes: Vec<u8>,
}

impl Image {
    fn manifest(&mut self) -> u32 {
        // The kind that probes read, at a known address.
        let read_kind_at = self.bytes.len();
        self.bytes.resize(24, 0);
        let read_kind = [self.string(""), self.string("v1"), self.string("ConfigMap")].concat();
        self.bytes.splice(read_kind_at..read_kind_at + 24, read_kind.iter().copied());
        let head = [self.string("probe"), self.string("1"), self.string("Probes.")].concat();
        let parent = [self.string("test.gyre.dev"), self.string("v1"), self.string("Probe")].concat();
        // `read-kind`: the kind, no namespace, no selector, the whole object.
        let reads = self.put(&[read_kind.as_slice(), &[0; 28]].concat());
        let none = [0; 4];
        let reads = [reads.to_le_bytes(), 1_u32.to_le_bytes()].concat();
        let each = [0; 12];
        let parent_fields = [0; 8];
        let tail = [&[0; 8], reads.as_slice(), &parent_fields, &none, &none, &[0; 8], &[0; 8]].concat();
        self.put(&[head, parent, each.to_vec(), tail].concat())
    }

    fn string(&mut self, text: &str) -> Vec<u8> {
        let at = self.put(text.as_bytes());
        [at.to_le_bytes(), u32::try_from(text.len()).unwrap().to_le_bytes()].concat()
    }

    fn put(&mut self, bytes: &[u8]) -> u32 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = CONSTANTS + u32::try_from(self.bytes.len()).unwrap();
        self.bytes.extend_from_slice(bytes);
        at
    }

    fn escaped(&self) -> String {
        self.bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "\\{byte:02x}").unwrap();
            text
        })
    }
}
