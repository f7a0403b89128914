//! Values of Secrets that the host makes, so that the plugin never sees them.
//!
//! A plugin asks for a value in place of giving it. The host makes it once, from the operating
//! system's randomness, and keeps it:
//!
//! ```
//! use gyre_sdk::generated::{Certificate, Hash, Password, Text};
//! use gyre_sdk::k8s::Secret;
//!
//! let secret = Secret::new("db")
//!     .with_generated("password", Password::of(24))
//!     .with_generated("url", Text::new("postgres://app:{password}@db/app"))
//!     .with_generated("password.scram", Hash::scram_sha256("password"))
//!     .with_generated("ca.crt", Certificate::ca("db", "ca.key").valid_days(3650))
//!     .with_generated("tls.crt", Certificate::signed_by("ca.crt", "tls.key").dns_names(["db"]));
//! # let json = secret.as_json();
//! # assert_eq!(json["data"]["password"]["generate"]["password"]["length"], 24);
//! # assert_eq!(json["data"]["tls.crt"]["generate"]["certificate"]["issuer"]["key"], "ca.crt");
//! ```
//!
//! Such a Secret is read with a placeholder with a digest in place of each value. With it in
//! a Pod template, the Pods are replaced when the value changes: see
//! [`Secret::generated`](crate::k8s::Secret::generated).

use serde::Deserialize as _;
use serde_json::Value;

use crate::fields::fields;
use crate::k8s::Secret;
use crate::typed::fields::{get, set, text, texts};

/// The placeholders that the host shows begin with `gyre-generated:`, which is this in base64.
const PLACEHOLDER: &str = "Z3lyZS1nZW5lcmF0ZWQ6";

/// A request for a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated(Value);

impl Generated {
    fn of(generator: &str, request: Value) -> Self {
        Self(fields([("generate", fields([(generator, request)]))]))
    }

    /// A higher number than before makes a new value, e.g. the one in a spec that people increase.
    pub fn epoch(mut self, epoch: u64) -> Self {
        set(&mut self.0, "epoch", Value::from(epoch));
        self
    }
}

impl Secret {
    /// Asks the host for the value of a key. It is made once and then kept, also if the request
    /// changes: see [`Generated::epoch`]. Texts and hashes follow the values that they contain, and
    /// certificates are made again if their fields change, and renewed in time.
    pub fn with_generated(self, key: &str, value: impl Into<Generated>) -> Self {
        let mut secret = Value::from(self);
        let Generated(request) = value.into();
        let mut data = get(&secret, "data").clone();
        set(&mut data, key, request);
        set(&mut secret, "data", data);
        // Every JSON is a Secret for this type.
        Self::deserialize(secret).unwrap_or_else(|_| Self::new(""))
    }

    /// Returns the digest of a generated value, of a Secret that was read; `None` if it is not yet
    /// there. It changes with the value, and nobody can find out the value by it.
    pub fn generated(&self, key: &str) -> Option<&str> {
        text(get(self.as_json(), "data"), key)?.strip_prefix(PLACEHOLDER)
    }
}

fn with(mut request: Value, field: &str, value: impl Into<Value>) -> Value {
    set(&mut request, field, value.into());
    request
}

macro_rules! request {
    ($(#[$documentation:meta])* $name:ident, $generator:literal) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name(Value);

        impl $name {
            /// See [`Generated::epoch`].
            pub fn epoch(self, epoch: u64) -> Generated {
                Generated::from(self).epoch(epoch)
            }
        }

        impl From<$name> for Generated {
            fn from(request: $name) -> Self {
                Self::of($generator, request.0)
            }
        }
    };
}

request! {
    /// Random bytes.
    RandomBytes, "bytes"
}

impl RandomBytes {
    /// At most 1024 bytes.
    pub fn of(length: u32) -> Self {
        Self(fields([("length", length.into())]))
    }

    /// In lower-case hexadecimal digits.
    pub fn hex(self) -> Self {
        Self(with(self.0, "encoding", "hex"))
    }

    /// In base64, with padding.
    pub fn base64(self) -> Self {
        Self(with(self.0, "encoding", "base64"))
    }

    /// In base64 for URLs, without padding.
    pub fn base64_url(self) -> Self {
        Self(with(self.0, "encoding", "base64Url"))
    }
}

request! {
    /// A random text.
    Password, "password"
}

impl Password {
    /// At most 256 characters, of the ASCII letters and digits.
    pub fn of(length: u32) -> Self {
        Self(fields([("length", length.into())]))
    }

    /// Of these characters, each equally probable.
    pub fn alphabet(self, characters: &str) -> Self {
        Self(with(self.0, "alphabet", characters))
    }
}

/// An algorithm of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Ed25519.
    Ed25519,
    /// ECDSA with the curve P-256.
    EcdsaP256,
    /// RSA with 2048 bits.
    Rsa2048,
    /// RSA with 3072 bits.
    Rsa3072,
    /// RSA with 4096 bits, which takes the host seconds.
    Rsa4096,
}

impl Algorithm {
    fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::EcdsaP256 => "ecdsa-p256",
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa3072 => "rsa-3072",
            Self::Rsa4096 => "rsa-4096",
        }
    }
}

request! {
    /// A private key.
    KeyPair, "keyPair"
}

impl KeyPair {
    /// In PEM: PKCS #8.
    pub fn of(algorithm: Algorithm) -> Self {
        Self(fields([("algorithm", algorithm.name().into())]))
    }

    /// As `ssh-keygen` writes it.
    pub fn ssh(algorithm: Algorithm) -> Self {
        Self(with(Self::of(algorithm).0, "format", "ssh"))
    }

    /// With the public key under this key of `data`.
    pub fn public_key(self, key: &str) -> Self {
        Self(with(self.0, "publicKey", key))
    }
}

request! {
    /// An X.509 certificate. It is valid for 90 days unless another time is set.
    Certificate, "certificate"
}

const DAY: u64 = 86_400;

impl Certificate {
    fn new(private_key: &str, issuer: Value) -> Self {
        Self(fields([("privateKey", private_key.into()), ("issuer", issuer)])).valid_days(90)
    }

    /// One that signs itself, with its private key under this key of `data`.
    pub fn self_signed(private_key: &str) -> Self {
        Self::new(private_key, "self".into())
    }

    /// One that signs itself and may sign others. It keeps its private key when it is renewed.
    pub fn ca(common_name: &str, private_key: &str) -> Self {
        Self(with(Self::self_signed(private_key).common_name(common_name).0, "isCa", true))
    }

    /// One that is signed by another certificate of the same Secret: see [`Self::ca`].
    pub fn signed_by(ca: &str, private_key: &str) -> Self {
        Self::new(private_key, fields([("key", ca.into())]))
    }

    /// One that is signed by the CA in the keys `tls.crt` and `tls.key` of another Secret, in the
    /// parent's namespace. The manifest must declare to read Secrets.
    pub fn signed_by_secret(name: &str, private_key: &str) -> Self {
        Self::new(private_key, fields([("secret", fields([("name", name.into())]))]))
    }

    /// With the certificate of the issuer under this key of `data`.
    pub fn ca_certificate(self, key: &str) -> Self {
        Self(with(self.0, "caCertificate", key))
    }

    /// The common name of its subject.
    pub fn common_name(self, name: &str) -> Self {
        Self(with(self.0, "commonName", name))
    }

    /// Its DNS names.
    pub fn dns_names<T: Into<String>>(self, names: impl IntoIterator<Item = T>) -> Self {
        Self(with(self.0, "dnsNames", texts(names)))
    }

    /// Its IP addresses.
    pub fn ip_addresses<T: Into<String>>(self, addresses: impl IntoIterator<Item = T>) -> Self {
        Self(with(self.0, "ipAddresses", texts(addresses)))
    }

    /// For clients in place of servers.
    pub fn for_clients(self) -> Self {
        Self(with(self.0, "usages", texts(["client"])))
    }

    /// For clients and servers.
    pub fn for_clients_and_servers(self) -> Self {
        Self(with(self.0, "usages", texts(["client", "server"])))
    }

    /// The algorithm of its key, which is ECDSA otherwise.
    pub fn algorithm(self, algorithm: Algorithm) -> Self {
        Self(with(self.0, "algorithm", algorithm.name()))
    }

    /// Sets its time of validity. It is renewed when a third of that is left.
    pub fn valid_days(self, days: u32) -> Self {
        Self(with(self.0, "lifetimeSeconds", u64::from(days) * DAY))
    }

    /// Renews it this number of days before its end: at most half of its time.
    pub fn renew_days_before(self, days: u32) -> Self {
        Self(with(self.0, "renewBeforeSeconds", u64::from(days) * DAY))
    }
}

request! {
    /// A text with other values of the Secret.
    Text, "text"
}

impl Text {
    /// `{key}` is the value of a key of the Secret; `{{` and `}}` are braces.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Value::String(text.into()))
    }
}

request! {
    /// The hash of another value of the Secret.
    Hash, "hash"
}

impl Hash {
    fn new(of: &str, algorithm: &str) -> Self {
        Self(fields([("of", of.into()), ("algorithm", algorithm.into())]))
    }

    /// As in files of htpasswd. The value may have at most 72 bytes.
    pub fn bcrypt(of: &str) -> Self {
        Self::new(of, "bcrypt")
    }

    /// As PostgreSQL stores passwords.
    pub fn scram_sha256(of: &str) -> Self {
        Self::new(of, "scram-sha256")
    }

    /// In hexadecimal digits.
    pub fn sha256(of: &str) -> Self {
        Self::new(of, "sha256")
    }
}

#[cfg(test)]
mod tests {
    use gyre_core::generated::Requests;
    use serde_json::json;

    use super::*;

    /// The host's own types read what these types write.
    #[test]
    fn the_host_accepts_every_request() {
        let algorithms = [Algorithm::Ed25519, Algorithm::EcdsaP256, Algorithm::Rsa2048, Algorithm::Rsa3072, Algorithm::Rsa4096];
        let mut secret = Secret::new("it")
            .with_generated("bytes", RandomBytes::of(16))
            .with_generated("hex", RandomBytes::of(16).hex())
            .with_generated("base64", RandomBytes::of(16).base64())
            .with_generated("url", RandomBytes::of(16).base64_url().epoch(7))
            .with_generated("password", Password::of(12).alphabet("abc"))
            .with_generated("text", Text::new("{password}{{}}"))
            .with_generated("bcrypt", Hash::bcrypt("password"))
            .with_generated("scram", Hash::scram_sha256("password"))
            .with_generated("sum", Hash::sha256("text"))
            .with_generated("self.crt", Certificate::self_signed("self.key").ip_addresses(["::1"]).for_clients())
            .with_generated("ca.crt", Certificate::ca("a CA", "ca.key").valid_days(3650))
            .with_generated(
                "tls.crt",
                Certificate::signed_by("ca.crt", "tls.key")
                    .ca_certificate("bundle")
                    .dns_names(["db", "*.db"])
                    .for_clients_and_servers()
                    .valid_days(30)
                    .renew_days_before(10),
            )
            .with_generated(
                "other.crt",
                Certificate::signed_by_secret("ca", "other.key").common_name("it").algorithm(algorithms[0]),
            );
        for (number, algorithm) in algorithms.into_iter().enumerate() {
            let [private, public] = ["key", "pub"].map(|part| format!("{part}{number}"));
            let pair = if number % 2 == 0 { KeyPair::of(algorithm) } else { KeyPair::ssh(algorithm) };
            secret = secret.with_generated(&private, pair.public_key(&public));
        }
        let mut object = secret.as_json().as_object().unwrap().clone();
        let requests = Requests::take(&mut object).unwrap();
        assert_eq!(requests.in_order().count(), 18);
        assert_eq!(object["data"], json!({}));
        assert_eq!(requests.get("url").unwrap().epoch, 7);
    }

    #[test]
    fn the_digest_of_a_value_is_read_from_its_placeholder() {
        use gyre_core::generated::{DigestKey, GENERATED_ANNOTATION, shown};
        let annotations = json!({ GENERATED_ANNOTATION: r#"{"values":{"password":{"epoch":0}}}"# });
        let live = json!({ "metadata": { "annotations": annotations }, "data": { "password": "c2VjcmV0", "user": "YXBw" } });
        let shown = shown(&live, Some(&DigestKey::new([1; 32]))).unwrap();
        let secret = Secret::deserialize(shown).unwrap();
        assert!(secret.generated("password").is_some_and(|digest| digest.len() > 32));
        assert_eq!((secret.generated("user"), secret.generated("none")), (None, None));
    }
}
