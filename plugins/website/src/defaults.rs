//! What holds for all Websites of a cluster.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gyre_sdk::{Cluster, NoStatus, Object, ReadError};
use serde::Deserialize;

use crate::WEBSITE_DEFAULTS;

/// Defaults, as the cluster holds them.
pub(crate) type WebsiteDefaults = Object<WebsiteDefaultsSpec, NoStatus>;

/// What the operator wants for Websites that do not say otherwise.
#[derive(Debug, Deserialize)]
pub(crate) struct WebsiteDefaultsSpec {
    #[serde(default)]
    priority: i64,
    pub(crate) image: Option<String>,
    pub(crate) replicas: Option<u32>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
}

/// Those of the highest priority, and among those the first by name. They hold as a whole: what they leave open, the next ones do
/// not fill.
///
/// # Errors
///
/// As [`Cluster::list`].
pub(crate) fn of(cluster: &Cluster) -> Result<Option<WebsiteDefaults>, ReadError> {
    let all: Vec<WebsiteDefaults> = cluster.list(WEBSITE_DEFAULTS, None, None)?;
    // They come by name, and the first of equals is found.
    Ok(all.into_iter().min_by_key(|defaults| Reverse(defaults.spec.priority)))
}
