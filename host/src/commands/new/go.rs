//! The template of a plugin in Go.

use super::{NewArguments, Template};

pub(super) const TEMPLATE: Template = Template {
    files: &[
        ("go.mod", include_str!("template/go/go.mod.txt")),
        ("README.md", include_str!("template/go/README.md")),
        (".github/workflows/ci.yaml", include_str!("template/go/ci.yaml.txt")),
        ("main.go", include_str!("template/go/main.go.txt")),
        ("main_test.go", include_str!("template/go/main_test.go.txt")),
    ],
    // Modules of these names cannot be built.
    taken_names: &["cmd", "std"],
    used_names: USED_NAMES,
    sdk: "go",
    sdk_file: ("go.mod", "module gyre.dev/gyre"),
    bundled: Some(gyre_sdk_bundle::GO),
    test: "go test",
    values,
};

/// Keywords, and what the functions of the template use.
#[rustfmt::skip]
const USED_NAMES: &[&str] = &[
    "bool", "break", "c", "case", "chan", "configmaps", "const", "continue", "default", "defer", "else", "err", "error", "fallthrough", "false",
    "for", "func", "go", "goto", "gyre", "gyretest", "if", "import", "interface", "k8s", "len", "map", "name", "namespace", "nil", "package",
    "plan", "range", "return", "select", "string", "struct", "switch", "t", "testing", "true", "type", "var",
];

fn values(arguments: &NewArguments) -> Vec<(&'static str, String)> {
    vec![
        ("{{resource}}", arguments.scoped(RESOURCE, CLUSTER_SCOPED_RESOURCE)),
        ("{{namespace}}", arguments.scoped("", "\tnamespace := k8s.Namespace{Object: gyre.Named(name)}\n")),
        ("{{in_namespace}}", arguments.scoped("", "\tconfigMap.Metadata.Namespace = name\n")),
        ("{{children}}", arguments.scoped("configMap", "namespace, configMap")),
        ("{{kinds}}", arguments.scoped("gyre.Owns[k8s.ConfigMap]()", "gyre.Owns[k8s.Namespace](), gyre.Owns[k8s.ConfigMap]()")),
        ("{{finalize}}", arguments.finalized(FINALIZE)),
        ("{{finalize_test}}", arguments.finalized(FINALIZE_TEST)),
    ]
}

const RESOURCE: &str = "var resource = gyre.CustomResource{
\tKind:        gyre.Kind(\"{{group}}/{{version}}\", \"{{Kind}}\"),
\tDescription: \"A message that is kept in a ConfigMap.\",
\tColumns:     []gyre.Column{gyre.ConditionColumn(\"Ready\"), gyre.AgeColumn()},
}
";

const CLUSTER_SCOPED_RESOURCE: &str = "var resource = gyre.CustomResource{
\tKind:          gyre.Kind(\"{{group}}/{{version}}\", \"{{Kind}}\"),
\tDescription:   \"A message that is kept in a ConfigMap.\",
\tClusterScoped: true,
\tColumns:       []gyre.Column{gyre.ConditionColumn(\"Ready\"), gyre.AgeColumn()},
}
";

/// The method of a plugin with a finalizer.
const FINALIZE: &str = "
// Finalize returns what still exists while {{a}} {{Kind}} is deleted; it goes after its ConfigMap.
func ({{Kind}}Reconciler) Finalize(c gyre.Context, _ *{{Kind}}, _ gyre.NoSettings) (gyre.Plan, error) {
\tconfigMaps, err := gyre.ChildrenOf[k8s.ConfigMap](c)
\tif err != nil {
\t\treturn gyre.Plan{}, err
\t}
\tif len(configMaps) == 0 {
\t\treturn gyre.Finalized(), nil
\t}
\t// The host deletes the children that are not returned, and calls the method again.
\treturn gyre.NoChildren(), nil
}
";

const FINALIZE_TEST: &str = "
func TestItGoesOnceItsConfigMapIsGone(t *testing.T) {
\t{{parent}} := &{{Kind}}{Object: gyre.Named(\"hello\")}
\tcluster := gyretest.With().AndChildren(k8s.ConfigMap{Object: gyre.Named(\"hello\")})
\tif plan, err := ({{Kind}}Reconciler{}).Finalize(cluster.Context(), {{parent}}, gyre.NoSettings{}); plan.ReleasesParent || err != nil {
\t\tt.Errorf(\"with its ConfigMap: %v, %v\", plan, err)
\t}
\tif plan, err := ({{Kind}}Reconciler{}).Finalize(gyretest.With().Context(), {{parent}}, gyre.NoSettings{}); !plan.ReleasesParent || err != nil {
\t\tt.Errorf(\"without its ConfigMap: %v, %v\", plan, err)
\t}
}
";
