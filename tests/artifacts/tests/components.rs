//! Tests of the compiled plugins, guests and probes.

const PLUGINS: [&str; 11] = [
    gyre_artifacts::CLEANER,
    gyre_artifacts::DATABASE,
    gyre_artifacts::ECHO,
    gyre_artifacts::GATEWAY,
    gyre_artifacts::GREETER,
    gyre_artifacts::POD_LOG,
    gyre_artifacts::RELOADER,
    gyre_artifacts::REPLICATOR,
    gyre_artifacts::SCHEDULED_ECHO,
    gyre_artifacts::WEBSITE,
    gyre_artifacts::XCA,
];

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
    // The magic number, then version 13 of layer 1, as in the component model's binary format.
    std::fs::read(path).is_ok_and(|component| component.starts_with(b"\0asm\x0d\0\x01\0"))
}

#[test]
fn plugins_and_probes_are_components() {
    let probes = gyre_artifacts::probes::ALL.iter().map(|(_, path)| *path);
    for path in PLUGINS.into_iter().chain(probes) {
        assert!(is_component(path), "{path}");
    }
}

fn differences(one: &[u8], other: &[u8]) -> usize {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).filter(|(one, other)| one != other).count()
}

#[test]
fn a_version_and_a_tenant_are_digits_in_a_component() {
    let version = gyre_artifacts::versioned(0).unwrap();
    assert_eq!(differences(&version, &gyre_artifacts::versioned(1_234_567_890).unwrap()), 9);
    assert_eq!(differences(&version, &gyre_artifacts::versioned(7).unwrap()), 1);
    assert!(gyre_artifacts::versioned(12_345_678_901).is_err());
    let tenant = gyre_artifacts::tenant(0).unwrap();
    assert_eq!(differences(&tenant, &gyre_artifacts::tenant(19).unwrap()), 2);
    assert!(gyre_artifacts::tenant(100).is_err());
}

/// Every host downloads, compiles and holds each plugin. The pinned compiler makes this stable.
/// Echo has what most plugins have; others have two reconcilers, or children of three kinds.
#[test]
fn plugins_are_small() {
    for path in PLUGINS {
        let size = std::fs::read(path).unwrap().len();
        let most = if path == gyre_artifacts::ECHO { 200_000 } else { 220_000 };
        assert!(size <= most, "{path} has {size} bytes");
    }
}

/// Panics name source files, whose paths would give a plugin another digest on each machine.
#[test]
fn plugins_do_not_say_where_they_were_compiled() {
    for path in PLUGINS {
        let component = std::fs::read(path).unwrap();
        for part in [b"/registry/src/".as_slice(), env!("CARGO_MANIFEST_DIR").as_bytes()] {
            let found = component.windows(part.len()).any(|window| window == part);
            assert!(!found, "{path} holds {}", String::from_utf8_lossy(part));
        }
    }
}
