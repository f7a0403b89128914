//! The columns of `kubectl get`, which no schema has.

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value, json};

use super::proxy::Proxy;
use super::{GROUP_VERSIONS, discovery, path_of};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Returns the column definitions of all resources that can be listed, by group, version and
/// plural, e.g. `{"batch": {"v1": {"jobs": […]}}}`.
pub(super) fn dump(proxy: &Proxy, dumped: &Value) -> anyhow::Result<Value> {
    let mut groups = Map::new();
    for (group, version) in GROUP_VERSIONS {
        let mut resources = Map::new();
        for plural in discovery::listable(dumped, group, version) {
            let path = format!("{}/{plural}", path_of((group, version)));
            let mut table = proxy.json(&path, TABLE)?;
            ensure!(table.get("kind") == Some(&json!("Table")), "{path} is not served as a table");
            let columns = table.get_mut("columnDefinitions").map(Value::take);
            resources.insert(plural, columns.with_context(|| format!("{path} has no columns"))?);
        }
        if !resources.is_empty() {
            let versions = groups.entry(group).or_insert_with(|| json!({}));
            versions.as_object_mut().context("a group is an object")?.insert(version.to_owned(), resources.into());
        }
    }
    Ok(groups.into())
}
