//! Paths of the plugins and of the misbehaving guests (`tests/guests`), which `build.rs` compiles to Wasm components.
//!
//! A test of guests opens with this, and then does not compile until there is a function for every guest, of its name:
//!
//! ```text
//! macro_rules! assert_guest_is_tested {
//!     ($name:ident) => {
//!         #[expect(unused_imports, reason = "it is enough that the test exists")]
//!         use self::$name as _;
//!     };
//! }
//! gyre_artifacts::for_each_guest!(assert_guest_is_tested);
//!
//! #[test]
//! fn trap() {
//!     let component = std::fs::read(gyre_artifacts::guests::TRAP).unwrap();
//! }
//! ```

include!(concat!(env!("OUT_DIR"), "/artifacts.rs"));
