//! Returns a correct ConfigMap that its manifest does not declare.

use gyre_sdk::Plan;
use gyre_sdk::k8s::ConfigMap;

gyre_guests::guest!(UndeclaredKind, || {
    let config_map = ConfigMap::new("undeclared").with_data([("key", "value")]);
    Ok(Plan::children([config_map]))
});
