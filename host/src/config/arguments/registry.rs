//! The arguments about registries of plugins.

use std::path::PathBuf;

use clap::Args;
use gyre_registry::Settings;

use crate::config::values::{cache_folder, size};
use crate::plugins::source::oci::Store;

/// The default size of the cache: some thousand plugins in Rust or Go, or some fifty with an
/// interpreter.
const CACHE_BYTES: u64 = 1 << 30;

/// How registries are reached.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AccessArguments {
    /// Credentials for registries: a config.json of docker, such as the file in a Secret of the
    /// type kubernetes.io/dockerconfigjson [default: $DOCKER_CONFIG/config.json, else
    /// ~/.docker/config.json].
    #[arg(long, value_name = "FILE", env = "GYRE_REGISTRY_CREDENTIALS")]
    registry_credentials: Option<PathBuf>,
    /// Certificates (PEM) that registries are trusted by, besides those of the system.
    #[arg(long, value_name = "FILE", env = "GYRE_REGISTRY_CA")]
    registry_ca: Option<PathBuf>,
    /// Registries that are reached over plain HTTP: HOST or HOST:PORT, separated by commas.
    #[arg(long, value_name = "HOSTS", env = "GYRE_INSECURE_REGISTRIES", value_delimiter = ',')]
    insecure_registries: Vec<String>,
}

/// How plugins are pulled from registries, and where they are kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RegistryArguments {
    #[command(flatten)]
    access: AccessArguments,
    /// Directory in which plugins of registries are kept; processes may share it [default:
    /// $XDG_CACHE_HOME/gyre/plugins, else ~/.cache/gyre/plugins].
    #[arg(long, value_name = "DIRECTORY", env = "GYRE_PLUGIN_CACHE")]
    plugin_cache: Option<PathBuf>,
    /// Maximum size of the plugin cache, e.g. 200Mi; plugins that were not used for the longest
    /// time are removed [default: 1Gi].
    #[arg(long, value_name = "SIZE", env = "GYRE_PLUGIN_CACHE_SIZE", value_parser = size(1 << 20..=1 << 40))]
    plugin_cache_size: Option<usize>,
}

impl AccessArguments {
    fn settings(&self) -> Settings {
        Settings {
            credentials: self.registry_credentials.clone(),
            ca_bundle: self.registry_ca.clone(),
            insecure: self.insecure_registries.iter().cloned().collect(),
            ..Settings::default()
        }
    }

    /// The registries, without a cache.
    pub(crate) fn store(&self) -> Store {
        Store::new(self.settings(), None, 0)
    }
}

impl RegistryArguments {
    /// The registries, and the cache. Nothing is opened before it is needed.
    pub(crate) fn store(&self) -> Store {
        let folder = self.plugin_cache.clone().or_else(|| cache_folder("plugins"));
        Store::new(self.access.settings(), folder, self.plugin_cache_size.map_or(CACHE_BYTES, |bytes| bytes as u64))
    }
}
