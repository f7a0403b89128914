//! The template of a plugin in TypeScript.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{NewArguments, Template};

pub(super) const TEMPLATE: Template = Template {
    files: &[
        ("package.json", include_str!("template/typescript/package.json.txt")),
        ("tsconfig.json", include_str!("template/typescript/tsconfig.json.txt")),
        ("README.md", include_str!("template/typescript/README.md")),
        (".github/workflows/ci.yaml", include_str!("template/typescript/ci.yaml.txt")),
        ("src/plugin.ts", include_str!("template/typescript/plugin.ts.txt")),
        ("test/plugin.test.ts", include_str!("template/typescript/plugin.test.ts.txt")),
    ],
    taken_names: &["node-modules"],
    // The names of variables do not depend on the kind.
    used_names: &[],
    sdk: "typescript",
    sdk_file: ("package.json", "\"name\": \"@gyre/sdk\""),
    bundled: Some(gyre_sdk_bundle::TYPESCRIPT),
    test: "npm install --ignore-scripts && npm test",
    values,
};

type Values = BTreeMap<String, BTreeMap<String, String>>;

/// The values of placeholders for each scope, and with and without a finalizer. The tests of the
/// SDK check the types of projects with all of them.
static VALUES: LazyLock<Values> =
    LazyLock::new(|| serde_json::from_str(include_str!("template/typescript/values.json")).unwrap_or_default());

fn values(arguments: &NewArguments) -> Vec<(&'static str, String)> {
    let of_scope = arguments.scoped("namespaced", "cluster");
    let of_finalizer = if arguments.finalizer { "finalizer" } else { "without finalizer" };
    let values = [of_scope.as_str(), of_finalizer].into_iter().filter_map(|name| VALUES.get(name)).flatten();
    values.map(|(placeholder, value)| (placeholder.as_str(), value.clone())).collect()
}
