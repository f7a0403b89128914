//! Returns children that are not JSON: truncated, not UTF-8, and empty.

use gyre_guests::CONFIG_MAP;
use gyre_sdk::{Child, Response, Strategy};

gyre_guests::guest!(MalformedOutput, |manifest| manifest.child(CONFIG_MAP, Strategy::Apply), || {
    let texts: [&[u8]; 3] = [b"{\"apiVersion\":\"v1\",\"kind\":", b"\xff\xfe\xfd", b""];
    let children = texts.map(|text| Child::Apply(text.to_vec()));
    Ok(Response { children: Some(children.into()), ..Response::children() })
});
