//! `gyre values`: the values with which the Helm chart installs plugins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use gyre_core::grants::Namespaces;
use gyre_core::names::is_dns_subdomain;
use gyre_core::text::list;
use gyre_engine::program::Program;
use serde::Serialize;
use serde_json::Value;
use serde_saphyr::LitStr;

use crate::commands::output::print;
use crate::commands::rbac::{CrossNamespaceChildren, Deployment, Permissions, Printed, Reviews};
use crate::config::Source;
use crate::config::arguments::mounts::MountArguments;
use crate::config::arguments::mounts::tools::ValuesMounts;
use crate::config::values::WrongArguments;
use crate::known_kinds::Known;
use crate::plugins::files::replace;
use crate::plugins::read;
use crate::plugins::source::PluginSource;
use crate::plugins::source::oci::Store;

pub(crate) const EXAMPLES: &str = "\
Examples:
  gyre values oci://registry.example.com/team/greeter:1.0 --to values.yaml
  helm upgrade --install gyre charts/gyre --namespace gyre-system --create-namespace -f values.yaml

  gyre values greeter.wasm --namespace team-a --settings '{\"language\":\"en\"}'      # without a registry: contains the file itself
  gyre values greeter.wasm --image registry.example.com/greeter:1    # instead of the file itself

The values mount these plugins and no others. For each, they contain a mount, the Roles and ClusterRoles that it needs, its
CustomResourceDefinitions, and the reference in a registry, the file in base64, or the name of an image or ConfigMap with it. The chart names the role of a plugin after it.

Helm stores a release, with its values, in a Secret of at most 1 MiB. So the files that the values contain have at most 675 KB together. Larger
plugins need --image or --config-map:
  printf 'FROM scratch\\nCOPY greeter.wasm /\\n' | docker buildx build --tag registry.example.com/greeter:1 --push --file - .
  kubectl create configmap greeter --namespace gyre-system --from-file greeter.wasm    # for files of less than 1 MiB";

/// The most characters of all binaries of a release; `templates/_plugins.tpl` of the chart has the
/// same limit.
const MOST_CHARACTERS: usize = 900_000;
/// The longest name of an entry of `plugins` in the chart, which is also part of names of volumes.
const LONGEST_NAME: usize = 40;

#[derive(Debug, Args)]
pub(crate) struct ValuesArguments {
    #[command(flatten)]
    mounts: ValuesMounts,
    /// Image that contains the file, instead of the file itself; after the plugin's name and = if
    /// there are several plugins. Can be repeated. Needs Kubernetes 1.33 or later.
    #[arg(long = "image", value_name = "[NAME=]REFERENCE")]
    images: Vec<Reference>,
    /// ConfigMap that contains the file under its name, instead of the file itself; after the
    /// plugin's name and = if there are several plugins. Can be repeated.
    #[arg(long = "config-map", value_name = "[NAME=]CONFIGMAP")]
    config_maps: Vec<Reference>,
    /// File to write the values to [default: standard output].
    #[arg(long, short_alias = 'o', alias = "output", value_name = "FILE")]
    to: Option<PathBuf>,
}

/// The place of the file of a plugin; of the only one, without a name.
#[derive(Clone, Debug)]
struct Reference {
    plugin: Option<String>,
    place: String,
}

impl FromStr for Reference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split_once('=').map(|(plugin, place)| (Some(plugin.to_owned()), place));
        let (plugin, place) = named.unwrap_or((None, text));
        if place.is_empty() || place.contains(char::is_whitespace) {
            return Err("expected a name, or the name of a plugin, = and a name".to_owned());
        }
        Ok(Self { plugin, place: place.to_owned() })
    }
}

#[derive(Serialize)]
struct Values<'a> {
    config: NoMounts,
    plugins: Vec<Entry<'a>>,
}

/// Without it, the chart mounts the plugins of its image.
#[derive(Serialize)]
struct NoMounts {
    mounts: Vec<()>,
}

/// An entry of `plugins` in the values of the chart. The long file is at the end.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    name: &'a str,
    mounts: Vec<Mount<'a>>,
    rules: LitStr<'a>,
    crds: Vec<&'a Value>,
    #[serde(flatten)]
    file: File<'a>,
}

#[derive(Serialize)]
struct Mount<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reconciler: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespaces: Option<Vec<&'a String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum File<'a> {
    Oci { reference: String },
    Image { reference: &'a str },
    ConfigMap { name: &'a str },
    Binary(String),
}

pub(crate) fn values(arguments: &ValuesArguments) -> anyhow::Result<()> {
    let mount = MountArguments::from(arguments.mounts.clone());
    let source = Source::open(&mount)?;
    let programs = source.programs();
    let store = mount.code.registry.store();
    let (images, config_maps) =
        (by_plugin(&arguments.images, "--image", &programs)?, by_plugin(&arguments.config_maps, "--config-map", &programs)?);
    // The reconcilers of a file follow each other, and share its entry.
    let reconcilers: Vec<&[Program]> = programs.chunk_by(|one, other| one.plugin.digest() == other.plugin.digest()).collect();
    let first: Vec<&Program> = reconcilers.iter().filter_map(|programs| programs.first()).collect();
    let mut files = Vec::new();
    for (program, plugin) in first.iter().zip(&mount.named.plugins) {
        files.push(file(program, plugin, &store, &images, &config_maps)?);
    }
    check_size(&first, &files)?;
    let rules = |programs: &&[Program]| {
        programs.iter().map(|program| rules(program, source.name())).collect::<anyhow::Result<String>>()
    };
    let rules = reconcilers.iter().map(rules).collect::<anyhow::Result<Vec<_>>>()?;
    let mut plugins = Vec::new();
    for ((((program, programs), plugin), file), rules) in
        first.into_iter().zip(reconcilers).zip(&mount.named.plugins).zip(files).zip(&rules)
    {
        let mounts = programs.iter().map(|program| of_program(program, programs.len(), plugin, &file));
        let mut crds: Vec<&Value> = Vec::new();
        for crd in programs.iter().flat_map(|program| &program.manifest().crds) {
            if !crds.contains(&crd) {
                crds.push(crd);
            }
        }
        plugins.push(Entry {
            name: &program.manifest().name,
            mounts: mounts.collect::<anyhow::Result<_>>()?,
            rules: LitStr(rules),
            crds,
            file,
        });
    }
    let text =
        serde_saphyr::to_string(&Values { config: NoMounts { mounts: Vec::new() }, plugins }).context("cannot write YAML")?;
    let names = list(programs.iter().map(|program| &program.name));
    let text = format!(
        "# Values of the chart of gyre for {names}, by `gyre values`. Each Role is for the mount that its name ends with.\n{text}"
    );
    match &arguments.to {
        None => print(text),
        Some(path) => replace(path, text.as_bytes())
            .with_context(|| format!("cannot write {}; name another file with --to", path.display())),
    }
}

fn by_plugin<'a>(
    references: &'a [Reference],
    flag: &str,
    programs: &'a [Program],
) -> anyhow::Result<BTreeMap<&'a str, &'a str>> {
    let names = || list(programs.iter().map(|program| &program.name));
    let mut found = BTreeMap::new();
    for Reference { plugin, place } in references {
        let name = match (plugin, programs) {
            (None, [only]) => &*only.name,
            (None, _) => bail!(WrongArguments(format!(
                "{flag} {place}: name the plugin, as in {flag} NAME={place}; the plugins are {}",
                names()
            ))),
            (Some(plugin), _) if programs.iter().any(|program| *program.name == **plugin) => plugin,
            (Some(plugin), _) => {
                bail!(WrongArguments(format!("{flag} {plugin}: there is no such plugin; the plugins are {}", names())))
            }
        };
        if found.insert(name, place.as_str()).is_some() {
            bail!(WrongArguments(format!("{flag}: two are given for the plugin {name}; leave out one")));
        }
    }
    Ok(found)
}

fn file<'a>(
    program: &'a Program,
    plugin: &PluginSource,
    store: &Store,
    images: &BTreeMap<&str, &'a str>,
    config_maps: &BTreeMap<&str, &'a str>,
) -> anyhow::Result<File<'a>> {
    let name = &program.manifest().name;
    if name.len() > LONGEST_NAME {
        bail!(
            "the name of the plugin {name} is longer than {LONGEST_NAME} characters, which the chart does not allow; build it with a shorter one"
        );
    }
    Ok(match (images.get(&**name), config_maps.get(&**name)) {
        (Some(_), Some(_)) => {
            bail!(WrongArguments(format!("--image and --config-map are given for the plugin {name}; leave out one")))
        }
        (Some(reference), None) => File::Image { reference },
        (None, Some(name)) if !is_dns_subdomain(name) => {
            bail!(WrongArguments(format!(
                "--config-map {name}: expected the name of a ConfigMap: lower-case letters, digits, hyphens and dots"
            )))
        }
        (None, Some(name)) => File::ConfigMap { name },
        (None, None) if plugin.reference().is_some() => File::Oci { reference: plugin.to_string() },
        (None, None) => File::Binary(STANDARD.encode(read(store, plugin)?.bytes()?)),
    })
}

fn check_size(programs: &[&Program], files: &[File<'_>]) -> anyhow::Result<()> {
    let binaries = programs.iter().zip(files).filter_map(|(program, file)| match file {
        File::Binary(binary) => Some((&program.name, binary.len())),
        File::Oci { .. } | File::Image { .. } | File::ConfigMap { .. } => None,
    });
    let (names, lengths): (Vec<_>, Vec<usize>) = binaries.unzip();
    let characters: usize = lengths.iter().sum();
    if characters <= MOST_CHARACTERS {
        return Ok(());
    }
    let kilobytes = |characters: usize| characters * 3 / 4000;
    let largest = names.iter().zip(&lengths).max_by_key(|(_, length)| **length).map_or("", |(name, _)| name);
    bail!(
        "{} {} KB, and a release of Helm holds {} KB of plugins, because Helm stores it in a Secret of at most 1 MiB; \
         push it to a registry with `gyre push`, and give the reference instead of the file; or push an image that contains the file, and name it \
         with --image {largest}=REFERENCE; or create a ConfigMap, if the file has less than 1 MiB, and name it with --config-map {largest}=NAME: `gyre values --help` shows how",
        if names.len() == 1 { format!("{} has", list(&names)) } else { format!("{} together have", list(&names)) },
        kilobytes(characters),
        kilobytes(MOST_CHARACTERS),
    )
}

/// The mount of one of this number of reconcilers.
fn of_program<'a>(
    program: &'a Program,
    reconcilers: usize,
    plugin: &PluginSource,
    file: &File<'_>,
) -> anyhow::Result<Mount<'a>> {
    let default = format!("{}.wasm", program.manifest().name);
    let name = plugin.path().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let named = name.filter(|name| *name != default);
    let settings: Value = serde_json::from_slice(&program.settings).context("the settings are not JSON")?;
    Ok(Mount {
        // The chart itself names the file of a binary, and the reference.
        plugin: named.filter(|_| !matches!(file, File::Binary(_) | File::Oci { .. })),
        reconciler: (reconcilers > 1).then_some(program.manifest().name.as_str()),
        namespaces: match &program.namespaces {
            Namespaces::All => None,
            Namespaces::Only(names) => Some(names.iter().collect()),
        },
        settings: Some(settings).filter(|settings| settings.as_object().is_none_or(|settings| !settings.is_empty())),
    })
}

/// The roles of a mount, as `gyre rbac` prints them. The chart has its own for the host itself.
fn rules(program: &Program, deployment: &str) -> anyhow::Result<String> {
    let known = Known::new(program.manifest().crds.iter());
    let nothing = Deployment {
        inventory: None,
        digest_key: None,
        leases: None,
        reviews: Reviews::Never,
        cross_namespace_children: CrossNamespaceChildren::Unexpected,
    };
    let permissions = Permissions::of(std::slice::from_ref(program), &known, &nothing)?;
    let mut text = String::new();
    for object in permissions.objects(deployment, None) {
        text.push_str("---\n");
        text.push_str(&Printed::yaml(&object).context("cannot write YAML")?);
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
