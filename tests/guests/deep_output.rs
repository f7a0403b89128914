//! Returns a ConfigMap that nests 100 levels deep, above the limit of a host, but not of parsers.

use gyre_guests::CONFIG_MAP;
use gyre_sdk::{Child, Response, Strategy};

/// The object itself is one of them.
const LEVELS: usize = 100;

gyre_guests::guest!(DeepOutput, |manifest| manifest.child(CONFIG_MAP, Strategy::Apply), || {
    let (opening, closing) = ("[".repeat(LEVELS - 1), "]".repeat(LEVELS - 1));
    let head = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"data":"#;
    let child = Child::Apply(format!("{head}{opening}{closing}}}").into_bytes());
    Ok(Response { children: Some(vec![child]), ..Response::children() })
});
