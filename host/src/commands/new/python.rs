//! The template of a plugin in Python.

use super::{NewArguments, Template};

pub(super) const TEMPLATE: Template = Template {
    files: &[
        ("pyproject.toml", include_str!("template/python/pyproject.toml.txt")),
        ("README.md", include_str!("template/python/README.md")),
        (".github/workflows/ci.yaml", include_str!("template/python/ci.yaml.txt")),
        ("main.py", include_str!("template/python/main.py.txt")),
        ("test_main.py", include_str!("template/python/test_main.py.txt")),
    ],
    taken_names: &["gyre"],
    used_names: USED_NAMES,
    sdk: "python",
    sdk_file: ("pyproject.toml", "name = \"gyre-sdk\""),
    bundled: Some(gyre_sdk_bundle::PYTHON),
    test: "python3 -m pytest",
    values,
};

/// Keywords, and what the functions of the template use.
#[rustfmt::skip]
const USED_NAMES: &[&str] = &[
    "and", "annotated", "as", "assert", "async", "await", "break", "children", "class", "cluster", "column", "continue", "def", "del", "elif",
    "else", "except", "false", "finalize", "finalized", "finally", "for", "from", "given", "global", "if", "import", "in", "is", "lambda", "main",
    "match", "name", "namespace", "none", "nonlocal", "not", "object", "or", "pass", "plan", "plugin", "raise", "reconcile", "return", "true",
    "try", "type", "while", "with", "yield",
];

fn values(arguments: &NewArguments) -> Vec<(&'static str, String)> {
    vec![
        ("{{functions}}", arguments.finalized("Cluster, ")),
        ("{{releases}}", arguments.finalized(", finalized, no_children")),
        ("{{kinds}}", arguments.scoped("ConfigMap", "ConfigMap, Namespace")),
        ("{{cluster_scoped}}", arguments.scoped("", "    cluster_scoped=True,\n")),
        ("{{namespace}}", arguments.scoped("", "    namespace = Namespace(name)\n")),
        ("{{in_namespace}}", arguments.scoped("name", "name, namespace=name")),
        ("{{children}}", arguments.scoped("config_map", "namespace, config_map")),
        ("{{finalize}}", arguments.finalized(FINALIZE)),
        ("{{finalize_test}}", arguments.finalized(FINALIZE_TEST)),
    ]
}

/// The function of a plugin with a finalizer.
const FINALIZE: &str = r#"

@reconcile.finalize
def finalize({{parent}}: Object[{{Kind}}Spec, {{Kind}}Status], cluster: Cluster) -> Plan:
    """Returns what still exists while {{a}} {{Kind}} is deleted; it goes after its ConfigMap."""
    # The host deletes the children that are not returned, and calls the function again.
    return no_children() if cluster.children(ConfigMap) else finalized()
"#;

const FINALIZE_TEST: &str = r#"

def test_it_goes_once_its_config_map_is_gone():
    {{parent}} = Object("hello", spec={{Kind}}Spec("Hello, world!"))
    given({{parent}}).with_child(ConfigMap("hello")).finalize(reconcile).deletes(ConfigMap, "hello")
    given({{parent}}).finalize(reconcile).is_finalized()
"#;
