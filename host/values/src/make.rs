//! Makes the values of one Secret.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gyre_core::generated::{
    Action, Bytes, Certificate, Decision, Encoding, Format, Generator, Issuer, Issuers, KeyPair, Live, Password, Requests,
    Reuse, State, Template,
};
use rand_core::TryRng as _;
use rcgen::PublicKeyData as _;

use crate::certificate::{Authority, issue};
use crate::hash::hash;
use crate::keys::{Signer, new_private_key, read_private_key, to_pem};
use crate::randomness::{Randomness, Stream};
use crate::ssh;

/// A value cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("data[{key:?}] cannot be made: {why}")]
pub struct Error {
    /// The key of the request.
    pub key: String,
    /// The reason.
    pub why: String,
}

/// The inputs of values.
pub struct Ingredients<'a> {
    /// The requests.
    pub requests: &'a Requests,
    /// The values that the plugin gives.
    pub given: &'a BTreeMap<String, Vec<u8>>,
    /// The issuers in other Secrets.
    pub issuers: &'a Issuers,
    /// The source of random bytes.
    pub randomness: &'a Randomness,
    /// The namespace and the name of the Secret, from which seeded values follow.
    pub place: [&'a str; 2],
    /// The time, in seconds since 1970.
    pub now: i64,
}

/// Returns all values of a Secret: those that are given, kept and made.
///
/// # Errors
///
/// If one of them cannot be made.
pub fn make(ingredients: &Ingredients<'_>, decision: &Decision, live: &Live) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let mut values = ingredients.given.clone();
    for (key, request) in ingredients.requests.in_order() {
        let failed = |why: String| Error { key: key.to_owned(), why };
        let action = decision.actions.get(key).unwrap_or(&Action::Make(Reuse::Nothing));
        let kept = |output: &str| live.values().get(output).cloned();
        let epoch = request.epoch.to_string();
        let [namespace, name] = ingredients.place;
        // A seeded certificate that is renewed has another key, too.
        let moment = match &request.generate {
            Generator::Certificate(_) => ingredients.now.to_string(),
            _ => String::new(),
        };
        let mut random = ingredients.randomness.stream(&["value", namespace, name, key, &epoch, &moment]);
        let made = match action {
            Action::Keep => std::iter::once(key)
                .chain(request.generate.companions())
                .filter_map(|output| Some((output.to_owned(), kept(output)?)))
                .collect(),
            Action::Impossible(why) => return Err(failed(why.clone())),
            Action::Complete => complete(key, &request.generate, kept(key).unwrap_or_default()).map_err(failed)?,
            Action::Make(reuse) => {
                let private_key = match (&request.generate, reuse) {
                    (Generator::Certificate(certificate), Reuse::PrivateKey) => kept(&certificate.private_key),
                    _ => None,
                };
                new(key, &request.generate, &values, private_key, ingredients, &mut random).map_err(failed)?
            }
        };
        values.extend(made);
    }
    Ok(values)
}

type Values = Vec<(String, Vec<u8>)>;

fn new(
    key: &str,
    generator: &Generator,
    values: &BTreeMap<String, Vec<u8>>,
    private_key: Option<Vec<u8>>,
    ingredients: &Ingredients<'_>,
    random: &mut Stream,
) -> Result<Values, String> {
    let value = match generator {
        Generator::Bytes(bytes) => random_bytes(bytes, random)?,
        Generator::Password(password) => random_text(password, random)?,
        Generator::KeyPair(pair) => return key_pair(key, pair, random),
        Generator::Certificate(certificate) => {
            return new_certificate(key, certificate, values, private_key, ingredients, random);
        }
        Generator::Text(text) => Template::parse(text)?.fill(values).ok_or("a value that it contains is missing")?,
        Generator::Hash(request) => {
            let source = values.get(&request.of).ok_or_else(|| format!("the Secret has no value for {:?}", request.of))?;
            hash(request.algorithm, source, random)?
        }
    };
    Ok(vec![(key.to_owned(), value)])
}

fn random_bytes(request: &Bytes, random: &mut Stream) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; request.length as usize];
    random.try_fill_bytes(&mut bytes).map_err(|error| error.to_string())?;
    Ok(match request.encoding {
        Encoding::Raw => bytes,
        Encoding::Hex => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes(),
        Encoding::Base64 => STANDARD.encode(bytes).into_bytes(),
        Encoding::Base64Url => URL_SAFE_NO_PAD.encode(bytes).into_bytes(),
    })
}

fn random_text(request: &Password, random: &mut Stream) -> Result<Vec<u8>, String> {
    let characters = request.characters().as_bytes();
    // Bytes beyond the last whole multiple would make some characters likelier than others.
    let multiple = 256 / characters.len().max(1) * characters.len();
    let mut text = Vec::new();
    while text.len() < request.length as usize {
        let mut byte = [0];
        random.try_fill_bytes(&mut byte).map_err(|error| error.to_string())?;
        let number = usize::from(byte[0]);
        if number < multiple {
            text.extend(characters.get(number % characters.len().max(1)));
        }
    }
    Ok(text)
}

fn key_pair(key: &str, request: &KeyPair, random: &mut Stream) -> Result<Values, String> {
    let private_key = new_private_key(request.algorithm, random)?;
    let text = match request.format {
        Format::Pem => to_pem("PRIVATE KEY", &private_key),
        Format::Ssh => ssh::private_key(&private_key, random)?,
    };
    let mut made = vec![(key.to_owned(), text)];
    if let Some(companion) = &request.public_key {
        made.push((companion.clone(), public_key(request.format, &private_key)?));
    }
    Ok(made)
}

fn public_key(format: Format, private_key: &[u8]) -> Result<Vec<u8>, String> {
    match format {
        Format::Pem => Ok(to_pem("PUBLIC KEY", &Signer::new(private_key)?.subject_public_key_info())),
        Format::Ssh => ssh::public_key(private_key),
    }
}

/// Adds the public key of a private key that is there.
fn complete(key: &str, generator: &Generator, private_key: Vec<u8>) -> Result<Values, String> {
    let Generator::KeyPair(KeyPair { format, public_key: Some(companion), .. }) = generator else {
        return Ok(vec![(key.to_owned(), private_key)]);
    };
    let pkcs8 = ssh::read_private_key(&private_key).map_or_else(|| read_private_key(&private_key), Ok)?;
    Ok(vec![(companion.clone(), public_key(*format, &pkcs8)?), (key.to_owned(), private_key)])
}

fn new_certificate(
    key: &str,
    request: &Certificate,
    values: &BTreeMap<String, Vec<u8>>,
    private_key: Option<Vec<u8>>,
    ingredients: &Ingredients<'_>,
    random: &mut Stream,
) -> Result<Values, String> {
    let private_key = match private_key {
        Some(private_key) => private_key,
        None => to_pem("PRIVATE KEY", &new_private_key(request.algorithm, random)?),
    };
    let authority = match &request.issuer {
        Issuer::Itself => Authority::Itself,
        Issuer::Key(issuer) => {
            let value =
                |key: &str| values.get(key).map(Vec::as_slice).ok_or_else(|| format!("the Secret has no value for {key:?}"));
            let Some(Generator::Certificate(ca)) = ingredients.requests.get(issuer).map(|request| &request.generate) else {
                return Err(format!("{issuer:?} is no generated certificate"));
            };
            Authority::Of { certificate: value(issuer)?, private_key: value(&ca.private_key)? }
        }
        Issuer::Secret(secret) => match ingredients.issuers.get(secret) {
            Some(State::Found { certificate, private_key }) => Authority::Of { certificate, private_key },
            Some(State::Missing(why)) => return Err(why.clone()),
            None => return Err(format!("the Secret {:?} was not read", secret.name)),
        },
    };
    let certificate = issue(request, &read_private_key(&private_key)?, &authority, ingredients.now, random)?;
    let mut made = Vec::new();
    if let Some(companion) = &request.ca_certificate {
        let issuer = match authority {
            Authority::Itself => certificate.clone(),
            Authority::Of { certificate, .. } => certificate.to_vec(),
        };
        made.push((companion.clone(), issuer));
    }
    made.extend([(request.private_key.clone(), private_key), (key.to_owned(), certificate)]);
    Ok(made)
}
