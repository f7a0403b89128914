//! Returns 9,900 children of as many undeclared kinds.

use gyre_sdk::Plan;
use serde_json::json;

const CHILDREN: usize = 9_900;

gyre_guests::guest!(ManyRefusals, || {
    let child = |number| {
        let (kind, name) = (format!("Undeclared{number}"), format!("c{number}"));
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}})
    };
    Ok(Plan::children((0..CHILDREN).map(child)))
});
