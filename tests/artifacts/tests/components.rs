//! Every artifact is a component, and `for_each_guest` names every guest.

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
