//! The ConfigMaps and Secrets that a Pod uses.

use std::collections::BTreeSet;

use gyre_sdk::k8s::{ContainerView, PodSpecView};

/// The names, each once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct References {
    pub(crate) config_maps: BTreeSet<String>,
    pub(crate) secrets: BTreeSet<String>,
}

impl References {
    /// Returns those of the volumes and of the environments of all containers.
    pub(crate) fn of(pod: PodSpecView<'_>) -> Self {
        let mut references = Self::default();
        references.add_volumes(pod);
        pod.init_containers().chain(pod.containers()).for_each(|container| references.add_environment(container));
        references
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.config_maps.is_empty() && self.secrets.is_empty()
    }

    fn add_volumes(&mut self, pod: PodSpecView<'_>) {
        for volume in pod.volumes() {
            self.add_config_map(volume.config_map().name());
            self.add_secret(volume.secret().secret_name());
            for source in volume.projected().sources() {
                self.add_config_map(source.config_map().name());
                self.add_secret(source.secret().name());
            }
        }
    }

    fn add_environment(&mut self, container: ContainerView<'_>) {
        for source in container.env_from() {
            self.add_config_map(source.config_map_ref().name());
            self.add_secret(source.secret_ref().name());
        }
        for variable in container.env() {
            self.add_config_map(variable.value_from().config_map_key_ref().name());
            self.add_secret(variable.value_from().secret_key_ref().name());
        }
    }

    fn add_config_map(&mut self, name: Option<&str>) {
        self.config_maps.extend(name.map(str::to_owned));
    }

    fn add_secret(&mut self, name: Option<&str>) {
        self.secrets.extend(name.map(str::to_owned));
    }
}
