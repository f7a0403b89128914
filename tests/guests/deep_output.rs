//! Returns a ConfigMap whose JSON nests 100 levels deep: below the 128 at which parsers stop, and over what a host should take.

use gyre_guests::CONFIG_MAP;
use gyre_sdk::{Child, Response, Strategy};

/// Of which the object itself is one.
const LEVELS: usize = 100;

gyre_guests::guest!(DeepOutput, |manifest| manifest.child(CONFIG_MAP, Strategy::Apply), || {
    let (opening, closing) = ("[".repeat(LEVELS - 1), "]".repeat(LEVELS - 1));
    let head = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"data":"#;
    let child = Child::Apply(format!("{head}{opening}{closing}}}").into_bytes());
    Ok(Response { children: Some(vec![child]), ..Response::children() })
});
