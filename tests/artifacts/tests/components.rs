//! Every artifact is a component, `for_each_guest` names every guest, and a plugin is small and the same wherever it is compiled.

macro_rules! assert_guest_is_listed {
    ($name:ident) => {
        #[test]
        fn $name() {
            let guest = gyre_artifacts::guests::ALL.iter().find(|(name, _)| *name == stringify!($name));
            assert!(guest.is_some_and(|(_, path)| is_component(path)));
        }
    };
}
gyre_artifacts::for_each_guest!(assert_guest_is_listed);

macro_rules! assert_guest_is_tested {
    ($name:ident) => {
        #[expect(unused_imports, reason = "it is enough that the test exists")]
        use self::$name as _;
    };
}
gyre_artifacts::for_each_guest!(assert_guest_is_tested);

fn is_component(path: &str) -> bool {
    // The magic number, then version 13 of layer 1, as the component model's binary format has it.
    std::fs::read(path).is_ok_and(|component| component.starts_with(b"\0asm\x0d\0\x01\0"))
}

#[test]
fn plugins_are_components() {
    assert!(is_component(gyre_artifacts::ECHO));
    assert!(is_component(gyre_artifacts::SCHEDULED_ECHO));
}

/// A plugin of some use fits into 150 KB: it is pulled, compiled and held by every host. The compiler is pinned, so this says the
/// same every time.
#[test]
fn echo_is_small() {
    const LIMIT: usize = 150_000;
    let size = std::fs::read(gyre_artifacts::ECHO).unwrap().len();
    assert!(size <= LIMIT, "echo.wasm has {size} bytes");
}

/// Panics name source files; those of dependencies lie where this machine's Cargo keeps them, and would give a plugin another
/// digest on each machine.
#[test]
fn plugins_do_not_say_where_they_were_compiled() {
    for path in [gyre_artifacts::ECHO, gyre_artifacts::SCHEDULED_ECHO] {
        let component = std::fs::read(path).unwrap();
        for part in [b"/registry/src/".as_slice(), env!("CARGO_MANIFEST_DIR").as_bytes()] {
            let found = component.windows(part.len()).any(|window| window == part);
            assert!(!found, "{path} holds {}", String::from_utf8_lossy(part));
        }
    }
}
