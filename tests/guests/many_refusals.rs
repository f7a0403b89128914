//! Returns 9,900 children of as many undeclared kinds.

use gyre_sdk::{Child, Response};

const CHILDREN: usize = 9_900;

gyre_guests::guest!(ManyRefusals, || {
    let child = |number| {
        let child = format!(r#"{{"apiVersion":"v1","kind":"Undeclared{number}","metadata":{{"name":"c{number}"}}}}"#);
        Child::Apply(child.into_bytes())
    };
    Ok(Response { children: Some((0..CHILDREN).map(child).collect()), ..Response::children() })
});
