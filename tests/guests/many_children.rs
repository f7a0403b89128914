//! Returns 100,000 of the smallest possible ConfigMaps: together less than 8 MiB.

use gyre_guests::CONFIG_MAP;
use gyre_sdk::{Child, Response, Strategy};

const CHILDREN: usize = 100_000;

gyre_guests::guest!(ManyChildren, |manifest| manifest.child(CONFIG_MAP, Strategy::Apply), || {
    let config_map = |number| format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c{number}"}}}}"#);
    let children = (0..CHILDREN).map(|number| Child::Apply(config_map(number).into_bytes()));
    Ok(Response { children: Some(children.collect()), ..Response::children() })
});
