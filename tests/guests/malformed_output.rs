//! Returns children that are not JSON: truncated, not UTF-8, and empty.

use gyre_sdk::k8s::ConfigMap;
use gyre_sdk::{Child, Plan, Strategy};

gyre_guests::guest!(MalformedOutput, |manifest| manifest.child::<ConfigMap>(Strategy::Apply), || {
    let texts: [&[u8]; 3] = [b"{\"apiVersion\":\"v1\",\"kind\":", b"\xff\xfe\xfd", b""];
    Ok(Plan::children(texts.map(|text| Child::Bytes(text.to_vec()))))
});
