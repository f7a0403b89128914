//! Returns a ConfigMap that nests 100 levels deep, above the limit of a host, but not of parsers.

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Child, Plan, Strategy};

/// The object itself is one of them.
const LEVELS: usize = 100;

gyre_guests::guest!(DeepOutput, |manifest| manifest.child::<ConfigMap>(Strategy::Apply), || {
    let (opening, closing) = ("[".repeat(LEVELS - 1), "]".repeat(LEVELS - 1));
    let head = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"data":"#;
    Ok(Plan::children([Child::Bytes(format!("{head}{opening}{closing}}}").into_bytes())]))
});
