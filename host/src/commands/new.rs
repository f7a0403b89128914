//! `gyre new`: creates a plugin project, whose tests pass.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use gyre_core::names::is_dns_label;

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre new greeter --sdk gyre/sdk
  gyre new greeter --sdk gyre/sdk --kind Greeting --group example.org";

const FILES: [(&str, &str); 7] = [
    ("Cargo.toml", include_str!("new/template/Cargo.toml.txt")),
    (".gitignore", include_str!("new/template/gitignore.txt")),
    ("README.md", include_str!("new/template/README.md")),
    ("src/lib.rs", include_str!("new/template/src/lib.rs.txt")),
    ("src/tests.rs", include_str!("new/template/src/tests.rs.txt")),
    ("samples/sample.yaml", include_str!("new/template/samples/sample.yaml")),
    ("cases/new/sample.yaml", include_str!("new/template/cases/new/sample.yaml")),
];

/// Names that a crate cannot have, because of Cargo, Rust or the dependencies of the project.
#[rustfmt::skip]
const TAKEN_NAMES: &[&str] = &[
    "abstract", "alloc", "as", "async", "await", "become", "box", "break", "const", "continue", "core", "crate", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "gyre-sdk", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut",
    "override", "priv", "proc-macro", "pub", "ref", "return", "self", "serde", "serde-json", "static", "std", "struct", "super", "test", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

const CHILD: &str = "ConfigMap";

/// The variables and functions of the template.
const USED_NAMES: [&str; 2] = ["given", "name"];

/// CRDs in these groups need the annotation `api-approved.kubernetes.io`.
const PROTECTED: [&str; 2] = ["k8s.io", "kubernetes.io"];

#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// Name of the plugin: lower-case letters, digits and hyphens. The project is created in a
    /// directory of this name, unless --path is given.
    #[arg(value_name = "NAME", value_parser = plugin_name)]
    name: String,
    /// Kind that the plugin reconciles [default: the name in CamelCase].
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<String>,
    /// API group of the kind.
    #[arg(long, value_name = "GROUP", default_value = "example.com", value_parser = group)]
    group: String,
    /// Directory of the SDK: `sdk` in a checkout of gyre, because the SDK is not on crates.io yet.
    #[arg(long, value_name = "DIRECTORY")]
    sdk: PathBuf,
    /// Directory to create [default: the name of the plugin].
    #[arg(long, value_name = "DIRECTORY")]
    path: Option<PathBuf>,
}

fn plugin_name(text: &str) -> Result<String, String> {
    let is_name = is_dns_label(text) && text.starts_with(|first: char| first.is_ascii_lowercase());
    if !is_name {
        return Err("expected lower-case letters, digits and hyphens, a letter first, as in my-plugin".to_owned());
    }
    if TAKEN_NAMES.contains(&text) {
        return Err(format!(
            "the name is reserved by Rust, or by a dependency of the project; expected another one, such as my-{text}"
        ));
    }
    Ok(text.to_owned())
}

fn kind(text: &str) -> Result<String, String> {
    let is_kind =
        text.starts_with(|first: char| first.is_ascii_uppercase()) && text.chars().all(|next| next.is_ascii_alphanumeric());
    if !is_kind {
        return Err("expected letters and digits, a capital first, as in MyKind".to_owned());
    }
    if text == CHILD {
        return Err(format!("{CHILD} is the kind of the plugin's child; expected another kind, such as My{text}"));
    }
    Ok(text.to_owned())
}

fn group(text: &str) -> Result<String, String> {
    let is_group = text.contains('.') && text.split('.').all(is_dns_label);
    if !is_group {
        return Err("expected a domain name, as in example.com".to_owned());
    }
    if PROTECTED.iter().any(|domain| text == *domain || text.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))) {
        return Err("the group is reserved for Kubernetes; expected a domain of your own, such as example.com".to_owned());
    }
    Ok(text.to_owned())
}

fn is_sdk(folder: &Path) -> bool {
    fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|manifest| manifest.contains("name = \"gyre-sdk\""))
}

pub(crate) fn new(arguments: &NewArguments) -> anyhow::Result<()> {
    let NewArguments { name, kind, group, sdk, path } = arguments;
    let kind = kind.clone().unwrap_or_else(|| camel_case(name));
    let folder = path.clone().unwrap_or_else(|| PathBuf::from(name));
    if folder.exists() {
        bail!("{} already exists: choose another name or --path", folder.display());
    }
    if !is_sdk(sdk) {
        bail!("{} does not contain the SDK: give the directory `sdk` of a checkout of gyre with --sdk", sdk.display());
    }
    let sdk = fs::canonicalize(sdk).with_context(|| format!("cannot find the SDK in {}", sdk.display()))?;
    let sdk = format!("{{ path = {:?} }}", sdk.display().to_string());
    let parent = variable(&kind);
    let values = [
        ("{{name}}", name.clone()),
        ("{{wasm}}", name.replace('-', "_")),
        ("{{Kind}}", kind),
        ("{{parent}}", parent),
        ("{{group}}", group.clone()),
        ("{{sdk}}", sdk),
    ];
    let cannot = || format!("cannot create the plugin in {}; choose another --path", folder.display());
    for (file, template) in FILES {
        let text = values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value));
        write(&folder.join(file), &text).with_context(cannot)?;
    }
    let mut output = std::io::stdout();
    writeln!(
        output,
        "Created the plugin project {}. Next steps:\n\n  cd {0}\n  cargo test\n\nThen see its README.md.",
        folder.display()
    )
    .context("cannot write to standard output")
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    fs::write(path, text).with_context(cannot)
}

fn camel_case(name: &str) -> String {
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    name.split('-').map(capitalised).collect()
}

/// Returns the variable for a parent of this kind.
fn variable(kind: &str) -> String {
    let name = kind.to_ascii_lowercase();
    if TAKEN_NAMES.contains(&&*name) || USED_NAMES.contains(&&*name) { "parent".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_take_the_form_of_their_place() {
        assert_eq!([camel_case("greeter"), camel_case("my-own2-plugin")], ["Greeter", "MyOwn2Plugin"]);
        assert_eq!([variable("Greeting"), variable("Type"), variable("Name")], ["greeting", "parent", "parent"]);
    }

    #[test]
    fn all_placeholders_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it");
        let arguments = NewArguments {
            name: "my-plugin".to_owned(),
            kind: None,
            group: "example.com".to_owned(),
            sdk: Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk"),
            path: Some(path.clone()),
        };
        new(&arguments).unwrap();
        for (file, _) in FILES {
            let text = fs::read_to_string(path.join(file)).unwrap();
            assert!(!text.contains("{{"), "{file}: {text}");
        }
        assert!(new(&arguments).unwrap_err().to_string().contains("already exists"));
    }

    /// The documents refer to `plugins/greeter`.
    #[test]
    fn the_greeter_of_the_repository_is_created_by_gyre_new() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("greeter");
        let arguments = NewArguments {
            name: "greeter".to_owned(),
            kind: Some("Greeting".to_owned()),
            group: "example.com".to_owned(),
            sdk: root.join("sdk"),
            path: Some(path.clone()),
        };
        new(&arguments).unwrap();
        // The other files differ, because one is a package of the workspace.
        for file in ["src/lib.rs", "src/tests.rs", "samples/sample.yaml", "cases/new/sample.yaml"] {
            let created = fs::read_to_string(path.join(file)).unwrap();
            assert_eq!(created, fs::read_to_string(root.join("plugins/greeter").join(file)).unwrap(), "{file}");
        }
        let description = |text: &str| text.lines().find(|line| line.starts_with("description = ")).map(str::to_owned);
        let [created, here] =
            [path, root.join("plugins/greeter")].map(|folder| fs::read_to_string(folder.join("Cargo.toml")).unwrap());
        assert_eq!(description(&created), description(&here));
    }

    #[test]
    fn invalid_names_are_refused() {
        for refused in
            [plugin_name("Greeter"), plugin_name("1st"), plugin_name(""), kind("kind"), kind("My-Kind"), group("group")]
        {
            assert!(refused.unwrap_err().contains(", as in "));
        }
        for refused in [plugin_name("self"), plugin_name("test"), kind(CHILD), group("k8s.io"), group("foo.k8s.io")] {
            assert!(refused.unwrap_err().contains("; expected "));
        }
        assert!(plugin_name("my-plugin2").is_ok() && kind("MyKind2").is_ok() && group("a.example.com").is_ok());
        assert!(plugin_name("testing").is_ok() && kind("ConfigMaps").is_ok() && group("notk8s.io").is_ok());
    }
}
