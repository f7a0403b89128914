//! `gyre new`: creates a plugin project, whose tests pass.

use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, ValueEnum};
use gyre_core::names::is_dns_label;
use gyre_sdk_bundle::Sdk;

mod go;
mod python;
mod rust;
mod typescript;

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre new greeter
  gyre new greeter --kind Greeting --group example.org --version v1beta1
  gyre new greeter --lang go          # or typescript, python
  gyre new operators/tenant --scope cluster --finalizer
  gyre new greeter --sdk ../gyre/sdk

The project has the plugin with its test, a sample, a case of `gyre test`, a workflow for CI, a Dockerfile and a README.
The SDK is not published yet. Without --sdk, it is looked for in checkouts of gyre: around the new project, and in ./gyre. If there is none, the SDK
of Go, TypeScript or Python is written into the project, in the folder gyre-sdk; that of Rust is looked for where this program was compiled.";

/// Where a project has an SDK of its own.
const OWN_SDK: &str = "gyre-sdk";

/// Files that are the same for each language.
const FILES: [File; 4] = [
    (".gitignore", include_str!("new/template/gitignore.txt")),
    ("Dockerfile", include_str!("new/template/Dockerfile.txt")),
    ("samples/sample.yaml", include_str!("new/template/samples/sample.yaml")),
    ("cases/new/sample.yaml", include_str!("new/template/cases/new/sample.yaml")),
];

const CHILD: &str = "ConfigMap";

/// The kind in which a cluster-scoped object has its other children.
const CLUSTER_SCOPED_CHILD: &str = "Namespace";

/// CRDs in these groups need the annotation `api-approved.kubernetes.io`.
const PROTECTED: [&str; 2] = ["k8s.io", "kubernetes.io"];

/// The path of a file in the project, and its template.
type File = (&'static str, &'static str);

/// The template of a language.
struct Template {
    files: &'static [File],
    /// Names that a project cannot have.
    taken_names: &'static [&'static str],
    /// Names that no variable can have: keywords, and what the template uses.
    used_names: &'static [&'static str],
    /// Where the SDK is in the folder `sdk` of a checkout.
    sdk: &'static str,
    /// A file of the SDK, and a line in it that no other folder has.
    sdk_file: (&'static str, &'static str),
    /// The SDK, for projects without a checkout.
    bundled: Option<Sdk>,
    /// The command that runs the unit tests.
    test: &'static str,
    /// Values that depend on the arguments, by the names of their placeholders. They may contain
    /// the placeholders of all languages.
    values: fn(&NewArguments) -> Vec<(&'static str, String)>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct NewArguments {
    /// Name of the plugin: lower-case letters, digits and hyphens; or a path that ends with it. The
    /// project is created in this directory, unless --path is given [default: the kind in
    /// kebab-case].
    #[arg(value_name = "NAME", value_parser = plugin_name, required_unless_present = "kind")]
    name: Option<String>,
    /// Kind that the plugin reconciles [default: the name in CamelCase].
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<String>,
    /// API group of the kind.
    #[arg(long, value_name = "GROUP", default_value = "example.com", value_parser = group)]
    group: String,
    /// Version of the kind.
    #[arg(id = "api_version", long = "version", alias = "api-version", value_name = "VERSION", default_value = "v1alpha1", value_parser = version)]
    version: String,
    /// Language of the plugin.
    #[arg(long, value_enum, value_name = "LANGUAGE", default_value_t = Language::Rust)]
    lang: Language,
    /// Scope of the kind. A cluster-scoped object gets a Namespace of its own for its children.
    #[arg(long, value_enum, value_name = "SCOPE", default_value_t = ParentScope::Namespaced)]
    scope: ParentScope,
    /// Add a finalizer: a function that decides what happens before an object is deleted.
    #[arg(long)]
    finalizer: bool,
    /// Directory of the SDK: `sdk` in a checkout of gyre [default: that of a checkout that is
    /// found, else a copy in the project].
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    Rust,
    Go,
    #[value(alias = "ts", alias = "javascript")]
    #[value(name = "typescript")]
    TypeScript,
    #[value(alias = "py")]
    Python,
}

impl Language {
    fn template(self) -> &'static Template {
        match self {
            Self::Rust => &rust::TEMPLATE,
            Self::Go => &go::TEMPLATE,
            Self::TypeScript => &typescript::TEMPLATE,
            Self::Python => &python::TEMPLATE,
        }
    }
}

impl NewArguments {
    /// Returns a text that depends on the scope of the kind.
    fn scoped(&self, namespaced: &str, cluster: &str) -> String {
        (if self.scope == ParentScope::Cluster { cluster } else { namespaced }).to_owned()
    }

    /// Returns a text if a finalizer is asked for, else nothing.
    fn finalized(&self, text: &str) -> String {
        (if self.finalizer { text } else { "" }).to_owned()
    }
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

/// Where a project finds its SDK.
enum SdkSource {
    /// In an existing folder, an absolute path.
    Folder(PathBuf),
    /// In the project, into which it is written.
    Bundled(Sdk),
}

impl SdkSource {
    fn find(given: Option<&Path>, template: &Template) -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("cannot determine the working directory")?;
        let remedy = "give the directory `sdk` of a checkout of gyre with --sdk, because the SDK is not published yet";
        let of_language = |folder: &Path| folder.join(template.sdk).components().collect::<PathBuf>();
        let (file, line) = template.sdk_file;
        let is_sdk = |folder: &PathBuf| fs::read_to_string(folder.join(file)).is_ok_and(|text| text.contains(line));
        if let Some(given) = given {
            let absolute = of_language(&here.join(given));
            if !is_sdk(&absolute) {
                let expected = absolute.join(file);
                bail!("{} does not contain the SDK (looked for {}): {remedy}", given.display(), expected.display());
            }
            return Ok(Self::Folder(absolute));
        }
        let around = here.ancestors().map(|folder| folder.join("sdk"));
        let found = around.chain([here.join("gyre/sdk")]).map(|folder| of_language(&folder)).find(is_sdk);
        if let Some(folder) = found {
            return Ok(Self::Folder(folder));
        }
        if let Some(bundled) = template.bundled {
            return Ok(Self::Bundled(bundled));
        }
        let of_program = of_language(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk"));
        if is_sdk(&of_program) {
            return Ok(Self::Folder(of_program));
        }
        bail!("cannot find the SDK around {}, or where gyre was compiled: {remedy}", here.display())
    }

    /// The path of the SDK from the project.
    fn path(&self, project: &Path) -> anyhow::Result<PathBuf> {
        match self {
            Self::Folder(folder) => Ok(path_of_sdk(&resolved(project)?, &resolved(folder)?)),
            Self::Bundled(_) => Ok(Path::new(".").join(OWN_SDK)),
        }
    }
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
    let NewArguments { name, kind, group, version, sdk: given_sdk, path, .. } = arguments;
    let template = arguments.lang.template();
    let given = name.clone().unwrap_or_else(|| kebab_case(kind.as_deref().unwrap_or_default()));
    plugin_name(&given).map_err(|expected| anyhow!("the name {given}: {expected}"))?;
    let name = last(&given);
    if template.taken_names.contains(&name) {
        bail!(
            "the name {name} is reserved by the language, or by a dependency of the project; choose another one, such as my-{name}"
        );
    }
    let kind = kind.clone().unwrap_or_else(|| camel_case(name));
    if kind == CLUSTER_SCOPED_CHILD && arguments.scope == ParentScope::Cluster {
        bail!("{kind} is the kind of a child of cluster-scoped objects; choose another kind with --kind, such as My{kind}");
    }
    let folder = path.clone().unwrap_or_else(|| PathBuf::from(&given));
    if folder.exists() {
        bail!("{} already exists: choose another name or --path", folder.display());
    }
    let source = SdkSource::find(given_sdk.as_deref(), template)?;
    let sdk = source.path(&folder)?.display().to_string();
    let quoted = format!("{sdk:?}");
    // go.mod has quotation marks around other paths only.
    let is_plain = sdk.chars().all(|letter| letter.is_ascii_alphanumeric() || "./_-".contains(letter));
    let parent = variable(&kind, template);
    let article = if kind.starts_with(['A', 'E', 'I', 'O']) { "An" } else { "A" };
    let mut values = (template.values)(arguments);
    values.extend([
        (
            "{{purpose}}",
            arguments.scoped("keeps its message in a ConfigMap", "keeps its message in a ConfigMap, in a Namespace of its own"),
        ),
        ("{{name}}", name.to_owned()),
        ("{{A}}", article.to_owned()),
        ("{{a}}", article.to_ascii_lowercase()),
        ("{{Kind}}", kind),
        ("{{parent}}", parent),
        ("{{group}}", group.clone()),
        ("{{version}}", version.clone()),
        ("{{sdk}}", if is_plain { sdk.clone() } else { quoted.clone() }),
        ("{{quoted_sdk}}", quoted),
        ("{{quoted_sdk_modules}}", format!("{:?}", Path::new(&sdk).join("src"))),
    ]);
    let cannot = || format!("cannot create the plugin in {}; choose another --path", folder.display());
    for (file, text) in template.files.iter().chain(&FILES) {
        let text = values.iter().fold((*text).to_owned(), |text, (name, value)| text.replace(name, value));
        write(&folder.join(file), &text).with_context(cannot)?;
    }
    if let SdkSource::Bundled(bundled) = source {
        bundled.write(&folder.join(OWN_SDK)).with_context(cannot)?;
    }
    let mut output = std::io::stdout();
    writeln!(
        output,
        "Created the plugin project {}. Next steps:\n\n  cd {0}\n  {}\n\nThen see its README.md.",
        folder.display(),
        template.test
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

/// The kind as the name of a plugin: `CronJob` becomes `cron-job`.
fn kebab_case(kind: &str) -> String {
    let mut name = String::new();
    let mut follows_capital = true;
    for letter in kind.chars() {
        if letter.is_ascii_uppercase() && !follows_capital {
            name.push('-');
        }
        follows_capital = letter.is_ascii_uppercase();
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Returns the variable for a parent of this kind.
fn variable(kind: &str, template: &Template) -> String {
    let name = kind.to_ascii_lowercase();
    if template.used_names.contains(&&*name) { "parent".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_take_the_form_of_their_place() {
        assert_eq!([camel_case("greeter"), camel_case("my-own2-plugin")], ["Greeter", "MyOwn2Plugin"]);
        assert_eq!(["Site", "CronJob", "HTTPRoute2"].map(kebab_case), ["site", "cron-job", "httproute2"]);
        for (template, taken) in [(&rust::TEMPLATE, "Given"), (&go::TEMPLATE, "Map")] {
            let variables = ["Greeting", "Type", "Name", taken].map(|kind| variable(kind, template));
            assert_eq!(variables, ["greeting", "parent", "parent", "parent"]);
        }
    }

    #[test]
    fn all_placeholders_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it");
        let plain = NewArguments {
            name: Some("my-plugin".to_owned()),
            kind: None,
            group: "example.com".to_owned(),
            version: "v1".to_owned(),
            lang: Language::Rust,
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
        let others = [Language::Go, Language::TypeScript, Language::Python].into_iter().flat_map(|lang| {
            let path = |kind: &str| Some(folder.path().join(format!("{lang:?}-{kind}")));
            [
                NewArguments { lang, path: path("plain"), ..plain.clone() },
                NewArguments { lang, path: path("full"), ..full.clone() },
            ]
        });
        for arguments in [plain.clone(), full.clone()].iter().chain(&others.collect::<Vec<_>>()) {
            new(arguments).unwrap();
            for (file, _) in FILES.iter().chain(arguments.lang.template().files) {
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
        let namespace = NewArguments { kind: Some("Namespace".to_owned()), ..full };
        assert!(new(&namespace).unwrap_err().to_string().contains("choose another kind"));
        let taken = NewArguments { name: Some("self".to_owned()), path: None, ..plain };
        assert!(new(&taken).unwrap_err().to_string().contains("choose another one, such as my-self"));
    }

    /// The documents refer to `plugins/greeter`.
    #[test]
    fn the_greeter_of_the_repository_is_created_by_gyre_new() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("greeter");
        let arguments = NewArguments {
            name: Some("greeter".to_owned()),
            kind: Some("Greeting".to_owned()),
            group: "example.com".to_owned(),
            version: "v1alpha1".to_owned(),
            lang: Language::Rust,
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

        let path = folder.path().join("greeter-go");
        new(&NewArguments { lang: Language::Go, path: Some(path.clone()), ..arguments.clone() }).unwrap();
        for file in ["main.go", "main_test.go", "samples/sample.yaml", "cases/new/sample.yaml"] {
            let created = fs::read_to_string(path.join(file)).unwrap();
            assert_eq!(created, fs::read_to_string(root.join("plugins/greeter-go").join(file)).unwrap(), "{file}");
        }

        let path = folder.path().join("greeter-ts");
        new(&NewArguments { lang: Language::TypeScript, path: Some(path.clone()), ..arguments }).unwrap();
        for file in ["src/plugin.ts", "test/plugin.test.ts", "samples/sample.yaml", "cases/new/sample.yaml"] {
            let created = fs::read_to_string(path.join(file)).unwrap();
            assert_eq!(created, fs::read_to_string(root.join("plugins/greeter-ts").join(file)).unwrap(), "{file}");
        }
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
        for refused in [kind(CHILD), group("k8s.io"), group("foo.k8s.io")] {
            assert!(refused.unwrap_err().contains("; expected "));
        }
        assert!(version("v1").is_ok() && version("v12beta3").is_ok());
        assert!(plugin_name("my-plugin2").is_ok() && kind("MyKind2").is_ok() && group("a.example.com").is_ok());
        assert!(plugin_name("testing").is_ok() && kind("ConfigMaps").is_ok() && group("notk8s.io").is_ok());
    }
}
