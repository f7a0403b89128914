//! `gyre new`: creates a plugin project, whose tests pass.

use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, ValueEnum};
use gyre_core::names::is_dns_label;

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre new greeter
  gyre new greeter --kind Greeting --group example.org --version v1beta1
  gyre new operators/tenant --scope cluster --finalizer
  gyre new greeter --sdk ../gyre/sdk

The project has the plugin with its test, a sample, a case of `gyre test`, a workflow for CI, a Dockerfile and a README.
The SDK is not on crates.io yet. Without --sdk, it is looked for in checkouts of gyre: around the new project, in ./gyre, and where this program was
compiled.";

const FILES: [(&str, &str); 9] = [
    ("Cargo.toml", include_str!("new/template/Cargo.toml.txt")),
    (".gitignore", include_str!("new/template/gitignore.txt")),
    ("README.md", include_str!("new/template/README.md")),
    ("Dockerfile", include_str!("new/template/Dockerfile.txt")),
    (".github/workflows/ci.yaml", include_str!("new/template/ci.yaml.txt")),
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

#[derive(Clone, Debug, Args)]
pub(crate) struct NewArguments {
    /// Name of the plugin: lower-case letters, digits and hyphens; or a path that ends with it. The
    /// project is created in this directory, unless --path is given.
    #[arg(value_name = "NAME", value_parser = plugin_name)]
    name: String,
    /// Kind that the plugin reconciles [default: the name in CamelCase].
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<String>,
    /// API group of the kind.
    #[arg(long, value_name = "GROUP", default_value = "example.com", value_parser = group)]
    group: String,
    /// Version of the kind.
    #[arg(id = "api_version", long = "version", alias = "api-version", value_name = "VERSION", default_value = "v1alpha1", value_parser = version)]
    version: String,
    /// Scope of the kind. A cluster-scoped object gets a Namespace of its own for its children.
    #[arg(long, value_enum, value_name = "SCOPE", default_value_t = ParentScope::Namespaced)]
    scope: ParentScope,
    /// Add a finalizer: a function that decides what happens before an object is deleted.
    #[arg(long)]
    finalizer: bool,
    /// Directory of the SDK: `sdk` in a checkout of gyre [default: that of a checkout that is
    /// found].
    #[arg(long, value_name = "DIRECTORY")]
    sdk: Option<PathBuf>,
    /// Directory to create [default: the name of the plugin].
    #[arg(long, value_name = "DIRECTORY")]
    path: Option<PathBuf>,
}

/// Whether objects of the kind are in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ParentScope {
    Namespaced,
    Cluster,
}

/// The last part of a path.
fn last(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

fn plugin_name(path: &str) -> Result<String, String> {
    let text = last(path);
    let is_name = is_dns_label(text) && text.starts_with(|first: char| first.is_ascii_lowercase());
    if !is_name {
        return Err("expected lower-case letters, digits and hyphens, a letter first, as in my-plugin".to_owned());
    }
    if TAKEN_NAMES.contains(&text) {
        return Err(format!(
            "the name is reserved by Rust, or by a dependency of the project; expected another one, such as my-{text}"
        ));
    }
    Ok(path.to_owned())
}

fn version(text: &str) -> Result<String, String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_version = text.strip_prefix('v').is_some_and(|rest| {
        let stages = ["alpha", "beta"].iter().find_map(|stage| rest.split_once(stage));
        stages.map_or_else(|| is_number(rest), |(major, minor)| is_number(major) && is_number(minor))
    });
    if is_version { Ok(text.to_owned()) } else { Err("expected a version, as in v1 or v1alpha1".to_owned()) }
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

/// The directory of the SDK, absolute.
fn sdk(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let here = std::env::current_dir().context("cannot determine the working directory")?;
    let remedy = "give the directory `sdk` of a checkout of gyre with --sdk, because the SDK is not on crates.io yet";
    if let Some(given) = given {
        let absolute = here.join(given);
        if !is_sdk(&absolute) {
            bail!(
                "{} does not contain the SDK (looked for {}): {remedy}",
                given.display(),
                absolute.join("Cargo.toml").display()
            );
        }
        return Ok(absolute);
    }
    let around = here.ancestors().map(|folder| folder.join("sdk"));
    let of_program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk");
    let found = around.chain([here.join("gyre/sdk"), of_program]).find(|folder| is_sdk(folder));
    found.ok_or_else(|| anyhow!("cannot find the SDK around {}, or where gyre was compiled: {remedy}", here.display()))
}

/// The path without links of a folder that is to be created.
fn resolved(folder: &Path) -> anyhow::Result<PathBuf> {
    let folder = std::path::absolute(folder).context("cannot determine the working directory")?;
    for existing in folder.ancestors() {
        if let (Ok(found), Ok(rest)) = (fs::canonicalize(existing), folder.strip_prefix(existing)) {
            // Joining nothing would add a slash.
            return Ok(found.components().chain(rest.components()).collect());
        }
    }
    Ok(folder)
}

/// The path of the SDK for the project: relative if both are in one folder below the root, so that
/// they can be moved together.
fn path_of_sdk(project: &Path, sdk: &Path) -> PathBuf {
    let common = sdk.components().zip(project.components()).take_while(|(one, other)| one == other).count();
    if common < 2 {
        return sdk.to_owned();
    }
    let up = project.components().skip(common).map(|_| Component::ParentDir);
    up.chain(sdk.components().skip(common)).collect()
}

pub(crate) fn new(arguments: &NewArguments) -> anyhow::Result<()> {
    let NewArguments { name: given, kind, group, version, scope, finalizer, sdk: given_sdk, path } = arguments;
    let name = last(given);
    let kind = kind.clone().unwrap_or_else(|| camel_case(name));
    let folder = path.clone().unwrap_or_else(|| PathBuf::from(given));
    if folder.exists() {
        bail!("{} already exists: choose another name or --path", folder.display());
    }
    let sdk = path_of_sdk(&resolved(&folder)?, &resolved(&sdk(given_sdk.as_deref())?)?);
    let parent = variable(&kind);
    let article = if kind.starts_with(['A', 'E', 'I', 'O']) { "An" } else { "A" };
    let scoped =
        |namespaced: &str, cluster: &str| (if *scope == ParentScope::Cluster { cluster } else { namespaced }).to_owned();
    let finalized = |text: &str| (if *finalizer { text } else { "" }).to_owned();
    let values = [
        ("{{finalize}}", finalized(FINALIZE)),
        ("{{finalize_test}}", finalized(FINALIZE_TEST)),
        ("{{finalizes}}", finalized(".finalizes()")),
        ("{{teardown}}", finalized(", Teardown")),
        ("{{cluster_scoped}}", scoped("", ", cluster_scoped")),
        ("{{in_namespace}}", scoped("", ".with_namespace(name)")),
        ("{{namespace_child}}", scoped("", ".child::<Namespace>(Strategy::Apply)")),
        (
            "{{children}}",
            scoped(
                "Plan::children([config_map])",
                "Plan::no_children()\n            .apply(Namespace::new(name))\n            .apply(config_map)",
            ),
        ),
        ("{{types}}", scoped("ConfigMap", "{ConfigMap, Namespace}")),
        (
            "{{purpose}}",
            scoped("keeps its message in a ConfigMap", "keeps its message in a ConfigMap, in a Namespace of its own"),
        ),
        ("{{name}}", name.to_owned()),
        ("{{A}}", article.to_owned()),
        ("{{a}}", article.to_ascii_lowercase()),
        ("{{Kind}}", kind),
        ("{{parent}}", parent),
        ("{{group}}", group.clone()),
        ("{{version}}", version.clone()),
        ("{{sdk}}", format!("{{ path = {:?} }}", sdk.display().to_string())),
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

/// The function of a plugin with a finalizer.
const FINALIZE: &str = "
    /// Returns what still exists while {{a}} {{Kind}} is deleted; it goes after its ConfigMap.
    fn finalize(_: &Self::Parent, _: &NoSettings, cluster: &Cluster) -> Result<Teardown> {
        if cluster.children::<ConfigMap>()?.is_empty() {
            return Ok(Teardown::done());
        }
        // The host deletes the children that are not returned, and calls the function again.
        Ok(Teardown::waiting(Plan::no_children()))
    }
";

const FINALIZE_TEST: &str = "
#[test]
fn it_goes_once_its_config_map_is_gone() {
    let {{parent}} = Object::new(\"hello\", {{Kind}}Spec { message: \"Hello, world!\".to_owned() });
    given::<{{Kind}}Reconciler>({{parent}}).finalize().is_done();
}
";

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
        let plain = NewArguments {
            name: "my-plugin".to_owned(),
            kind: None,
            group: "example.com".to_owned(),
            version: "v1".to_owned(),
            scope: ParentScope::Namespaced,
            finalizer: false,
            sdk: None,
            path: Some(path.clone()),
        };
        let full = NewArguments {
            scope: ParentScope::Cluster,
            finalizer: true,
            path: Some(folder.path().join("full")),
            ..plain.clone()
        };
        for arguments in [&plain, &full] {
            new(arguments).unwrap();
            for (file, _) in FILES {
                let text = fs::read_to_string(arguments.path.as_ref().unwrap().join(file)).unwrap();
                // GitHub's expressions have these braces, too.
                assert!(!text.replace("${{", "").contains("{{"), "{file}: {text}");
            }
        }
        let source =
            |arguments: &NewArguments| fs::read_to_string(arguments.path.as_ref().unwrap().join("src/lib.rs")).unwrap();
        assert!(source(&plain).contains(r#"version = "v1", kind = "MyPlugin""#), "{}", source(&plain));
        assert!(source(&full).contains("cluster_scoped") && source(&full).contains("fn finalize("), "{}", source(&full));
        assert!(new(&plain).unwrap_err().to_string().contains("already exists"));
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
            version: "v1alpha1".to_owned(),
            scope: ParentScope::Namespaced,
            finalizer: false,
            sdk: Some(root.join("sdk")),
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
    fn the_path_of_the_sdk_is_relative_below_a_common_folder() {
        let path = |project: &str, sdk: &str| path_of_sdk(Path::new(project), Path::new(sdk));
        assert_eq!(path("/srv/it/greeter", "/srv/it/gyre/sdk"), Path::new("../gyre/sdk"));
        assert_eq!(path("/srv/it/gyre/plugins/greeter", "/srv/it/gyre/sdk"), Path::new("../../sdk"));
        assert_eq!(path("/tmp/greeter", "/srv/it/gyre/sdk"), Path::new("/srv/it/gyre/sdk"));
    }

    #[test]
    fn a_path_names_the_folder_and_its_last_part_the_plugin() {
        assert_eq!([last("greeter"), last("a/b/greeter"), last("a/greeter/")], ["greeter"; 3]);
        assert!(plugin_name("operators/greeter").is_ok() && plugin_name("operators/Greeter").is_err());
    }

    #[test]
    fn invalid_names_are_refused() {
        for refused in [
            plugin_name("Greeter"),
            plugin_name("1st"),
            plugin_name(""),
            kind("kind"),
            kind("My-Kind"),
            group("group"),
            version("1"),
            version("v1alpha"),
            version("vbeta1"),
        ] {
            assert!(refused.unwrap_err().contains(", as in "));
        }
        for refused in [plugin_name("self"), plugin_name("test"), kind(CHILD), group("k8s.io"), group("foo.k8s.io")] {
            assert!(refused.unwrap_err().contains("; expected "));
        }
        assert!(version("v1").is_ok() && version("v12beta3").is_ok());
        assert!(plugin_name("my-plugin2").is_ok() && kind("MyKind2").is_ok() && group("a.example.com").is_ok());
        assert!(plugin_name("testing").is_ok() && kind("ConfigMaps").is_ok() && group("notk8s.io").is_ok());
    }
}
