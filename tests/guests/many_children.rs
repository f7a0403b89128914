//! Returns 100,000 of the smallest possible ConfigMaps: together less than 8 MiB.

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Child, Plan, Strategy};

const CHILDREN: usize = 100_000;

gyre_guests::guest!(ManyChildren, |manifest| manifest.child::<ConfigMap>(Strategy::Apply), || {
    let config_map = |number| format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c{number}"}}}}"#);
    Ok(Plan::children((0..CHILDREN).map(|number| Child::Bytes(config_map(number).into_bytes()))))
});
