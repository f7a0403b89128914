//! The template of a plugin in Rust.

use super::{NewArguments, Template};

pub(super) const TEMPLATE: Template = Template {
    files: &[
        ("Cargo.toml", include_str!("template/rust/Cargo.toml.txt")),
        ("README.md", include_str!("template/rust/README.md")),
        (".github/workflows/ci.yaml", include_str!("template/rust/ci.yaml.txt")),
        ("src/lib.rs", include_str!("template/rust/src/lib.rs.txt")),
        ("src/tests.rs", include_str!("template/rust/src/tests.rs.txt")),
    ],
    taken_names: TAKEN_NAMES,
    used_names: USED_NAMES,
    sdk: ".",
    sdk_file: ("Cargo.toml", "name = \"gyre-sdk\""),
    bundled: None,
    test: "cargo test",
    values,
};

/// Names that a crate cannot have, because of Cargo, Rust or the dependencies of the project.
#[rustfmt::skip]
const TAKEN_NAMES: &[&str] = &[
    "abstract", "alloc", "as", "async", "await", "become", "box", "break", "const", "continue", "core", "crate", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "gyre-sdk", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut",
    "override", "priv", "proc-macro", "pub", "ref", "return", "self", "serde", "serde-json", "static", "std", "struct", "super", "test", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Keywords in lower case, and the variables and functions of the template.
#[rustfmt::skip]
const USED_NAMES: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else", "enum", "extern", "false",
    "final", "fn", "for", "gen", "given", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "name", "override", "priv",
    "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

fn values(arguments: &NewArguments) -> Vec<(&'static str, String)> {
    let children = arguments.scoped(
        "Plan::children([config_map])",
        "Plan::no_children()\n            .apply(Namespace::new(name))\n            .apply(config_map)",
    );
    vec![
        ("{{finalize}}", arguments.finalized(FINALIZE)),
        ("{{finalize_test}}", arguments.finalized(FINALIZE_TEST)),
        ("{{finalizes}}", arguments.finalized(".finalizes()")),
        ("{{cluster_scoped}}", arguments.scoped("", ", cluster_scoped")),
        ("{{in_namespace}}", arguments.scoped("", ".with_namespace(name)")),
        ("{{namespace_child}}", arguments.scoped("", ".child::<Namespace>(Strategy::Apply)")),
        ("{{children}}", children),
        ("{{types}}", arguments.scoped("ConfigMap", "{ConfigMap, Namespace}")),
    ]
}

/// The function of a plugin with a finalizer.
const FINALIZE: &str = "
    /// Returns what still exists while {{a}} {{Kind}} is deleted; it goes after its ConfigMap.
    fn finalize(_: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Plan> {
        if cluster.children::<ConfigMap>()?.is_empty() {
            return Ok(Plan::finalized());
        }
        // The host deletes the children that are not returned, and calls the function again.
        Ok(Plan::no_children())
    }
";

const FINALIZE_TEST: &str = "
#[test]
fn it_goes_once_its_config_map_is_gone() {
    let {{parent}} = Object::new(\"hello\", {{Kind}}Spec { message: \"Hello, world!\".to_owned() });
    given::<{{Kind}}Reconciler>({{parent}}).finalize().is_finalized();
}
";
