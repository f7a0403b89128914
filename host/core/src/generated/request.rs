//! The form of a request for a value, as a plugin writes it into the `data` of a Secret.

use serde::{Deserialize, Serialize};

/// A request for a value, which stands in `data` in place of the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// The way in which it is made.
    pub generate: Generator,
    /// A higher number than before makes a new value. A lower one changes nothing, so that going
    /// back to an earlier version of a plugin loses no value.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epoch: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(epoch: &u64) -> bool {
    *epoch == 0
}

/// The way in which a value is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::large_enum_variant, reason = "a Secret has few requests, and they live as long as a reconcile")]
pub enum Generator {
    /// Random bytes.
    Bytes(Bytes),
    /// A random text.
    Password(Password),
    /// A private key, with its public key under another key.
    KeyPair(KeyPair),
    /// An X.509 certificate, with its private key under another key.
    Certificate(Certificate),
    /// A text that contains other values of the Secret as `{key}`; `{{` and `}}` are braces.
    Text(String),
    /// The hash of another value of the Secret.
    Hash(Hash),
}

impl Generator {
    /// The name in the contract.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bytes(_) => "bytes",
            Self::Password(_) => "password",
            Self::KeyPair(_) => "keyPair",
            Self::Certificate(_) => "certificate",
            Self::Text(_) => "text",
            Self::Hash(_) => "hash",
        }
    }

    /// The other keys of `data` that are made together with the value.
    pub fn companions(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Self::KeyPair(pair) => (pair.public_key.as_deref(), None),
            Self::Certificate(certificate) => (Some(certificate.private_key.as_str()), certificate.ca_certificate.as_deref()),
            Self::Bytes(_) | Self::Password(_) | Self::Text(_) | Self::Hash(_) => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// Random bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bytes {
    /// The number of random bytes, before they are encoded.
    pub length: u32,
    /// The encoding.
    #[serde(default)]
    pub encoding: Encoding,
}

/// The encoding of random bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Encoding {
    /// The bytes themselves.
    #[default]
    Raw,
    /// Lower-case hexadecimal digits.
    Hex,
    /// Base64 with padding.
    Base64,
    /// Base64 for URLs, without padding.
    Base64Url,
}

/// A random text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Password {
    /// The number of characters.
    pub length: u32,
    /// The characters, each equally probable; by default the ASCII letters and digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alphabet: Option<String>,
}

/// The alphabet of passwords that name none. It needs no escape in URLs, shells and YAML.
const ALPHANUMERIC: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

impl Password {
    /// The characters.
    pub fn characters(&self) -> &str {
        self.alphabet.as_deref().unwrap_or(ALPHANUMERIC)
    }
}

/// A private key and its public key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyPair {
    /// The algorithm.
    #[serde(default)]
    pub algorithm: Algorithm,
    /// The format.
    #[serde(default)]
    pub format: Format,
    /// The key of `data` for the public key, which is not stored without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
}

/// An algorithm of signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Ed25519.
    Ed25519,
    /// ECDSA with the curve P-256.
    #[default]
    EcdsaP256,
    /// RSA with 2048 bits.
    #[serde(rename = "rsa-2048")]
    Rsa2048,
    /// RSA with 3072 bits.
    #[serde(rename = "rsa-3072")]
    Rsa3072,
    /// RSA with 4096 bits.
    #[serde(rename = "rsa-4096")]
    Rsa4096,
}

impl Algorithm {
    /// The milliseconds of one slow core that a key of this algorithm may take.
    pub(super) fn cost(self) -> u64 {
        match self {
            Self::Ed25519 | Self::EcdsaP256 => 2,
            Self::Rsa2048 => 500,
            Self::Rsa3072 => 2_000,
            Self::Rsa4096 => 6_000,
        }
    }
}

/// The format of a key pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Format {
    /// PEM: PKCS #8, and SubjectPublicKeyInfo for the public key.
    #[default]
    Pem,
    /// As `ssh-keygen` writes them; the public key is a line of `authorized_keys`.
    Ssh,
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Certificate {
    /// The key of `data` for the private key.
    pub private_key: String,
    /// The signer.
    #[serde(default)]
    pub issuer: Issuer,
    /// The key of `data` for the certificate of the issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_certificate: Option<String>,
    /// Whether it may sign other certificates.
    #[serde(default)]
    pub is_ca: bool,
    /// The common name of its subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_name: Option<String>,
    /// Its DNS names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_names: Vec<String>,
    /// Its IP addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ip_addresses: Vec<String>,
    /// Its purposes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usages: Vec<Usage>,
    /// The algorithm of its key.
    #[serde(default)]
    pub algorithm: Algorithm,
    /// Its time of validity, in seconds.
    pub lifetime_seconds: u64,
    /// The time before its end at which it is renewed, in seconds; by default a third of its
    /// lifetime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew_before_seconds: Option<u64>,
}

impl Certificate {
    /// The time before its end at which it is renewed, in seconds.
    pub fn renew_before(&self) -> u64 {
        self.renew_before_seconds.unwrap_or(self.lifetime_seconds / 3)
    }
}

/// The signer of a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Issuer {
    /// Its own key.
    #[default]
    #[serde(rename = "self")]
    Itself,
    /// Another certificate that the Secret asks for, by its key of `data`.
    Key(String),
    /// A certificate in another Secret, which the plugin must be allowed to read.
    Secret(IssuerSecret),
}

/// A Secret with a CA.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IssuerSecret {
    /// Its namespace; by default that of the parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The key of `data` for the certificate, by default `tls.crt`.
    #[serde(default = "tls_crt")]
    pub certificate: String,
    /// The key of `data` for the private key, by default `tls.key`.
    #[serde(default = "tls_key")]
    pub private_key: String,
}

fn tls_crt() -> String {
    "tls.crt".to_owned()
}

fn tls_key() -> String {
    "tls.key".to_owned()
}

/// A purpose of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Usage {
    /// It authenticates a server.
    Server,
    /// It authenticates a client.
    Client,
}

/// The hash of another value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hash {
    /// The key of `data` whose value is hashed.
    pub of: String,
    /// The algorithm.
    pub algorithm: HashAlgorithm,
}

/// An algorithm of hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HashAlgorithm {
    /// bcrypt with the cost 10, as in htpasswd files.
    Bcrypt,
    /// SCRAM-SHA-256 in the form of PostgreSQL.
    ScramSha256,
    /// SHA-256 in lower-case hexadecimal digits.
    Sha256,
}
