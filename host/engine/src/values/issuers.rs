//! The issuers of certificates in other Secrets, which are read as if the plugin read them: within
//! what its manifest declares and its mount grants.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gyre_core::generated::{IssuerSecret, Issuers, Requests, State};
use gyre_core::object::GroupVersionKind;
use gyre_core::response::Child;
use gyre_sandbox::ReadError;
use serde_json::Value;

use crate::cluster::object::SharedObject;

/// Reads the issuers that some children ask for.
pub(crate) fn issuers(
    children: &[Child],
    mut read: impl FnMut(&GroupVersionKind, &IssuerSecret) -> Result<Option<SharedObject>, ReadError>,
) -> Issuers {
    let mut issuers = Issuers::new();
    let kind = GroupVersionKind::from_api_version("v1", "Secret");
    let objects = children.iter().filter_map(Child::applied).map(|child| &child.object);
    for object in objects.filter(|object| Requests::are_in(object)) {
        // A request that is wrong is refused with its Secret, elsewhere.
        let Ok(requests) = Requests::take(&mut object.clone()) else { continue };
        for issuer in requests.issuers() {
            if !issuers.contains_key(issuer) {
                issuers.insert(issuer.clone(), state(issuer, read(&kind, issuer)));
            }
        }
    }
    issuers
}

fn state(issuer: &IssuerSecret, found: Result<Option<SharedObject>, ReadError>) -> State {
    let name = &issuer.name;
    let secret = match found {
        Ok(Some(secret)) => secret,
        Ok(None) => return State::Missing(format!("the Secret {name:?} of its issuer does not exist")),
        Err(ReadError::NotServed) => return State::Missing("the API server serves no Secrets".to_owned()),
        Err(_) => {
            return State::Missing(format!(
                "the Secret {name:?} of its issuer may not be read: the manifest must declare to read Secrets of v1, and the mount must grant it in the namespace"
            ));
        }
    };
    let secret: Value = serde_json::from_str(secret.json()).unwrap_or_default();
    let value = |key: &str| {
        let text = secret.get("data").and_then(|data| data.get(key)?.as_str());
        text.and_then(|text| STANDARD.decode(text).ok()).ok_or_else(|| {
            State::Missing(format!(
                "the Secret {name:?} of its issuer has no data[{key:?}]; if it does, the manifest reads only the metadata of Secrets"
            ))
        })
    };
    match (value(&issuer.certificate), value(&issuer.private_key)) {
        (Ok(certificate), Ok(private_key)) => State::Found { certificate, private_key },
        (Err(missing), _) | (_, Err(missing)) => missing,
    }
}
