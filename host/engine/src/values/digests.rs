//! The key of digests, which all replicas read from one Secret.

use std::collections::BTreeMap;

use gyre_core::generated::{DigestKey, KEY};
use gyre_core::object::{GroupVersionKind, ObjectKey, ObjectRef};
use gyre_core::outcome::{Problem, ProblemKind};
use gyre_values::Randomness;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::Mutex;
use tracing::info;

use crate::client::answered;
use crate::error::{error_chain, problem_kind};
use crate::leadership::claim::NotHeld;
use crate::restores::Restores;

/// The suffix of the Secret's name, after the name of the deployment.
pub(crate) const SUFFIX: &str = "-digests";
/// The type of the Secret, by which `gyre diff` finds it.
pub const KEY_TYPE: &str = "gyre.dev/digest-key";
/// The Secret of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySecret {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl KeySecret {
    /// The Secret of a deployment.
    pub fn of(deployment: &str, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: format!("{deployment}{SUFFIX}") }
    }

    fn reference(&self) -> ObjectRef {
        let kind = GroupVersionKind::from_api_version("v1", "Secret");
        ObjectRef { kind, key: ObjectKey::new(Some(&self.namespace), &self.name) }
    }
}

/// The key of digests, read when it is first needed.
pub(crate) struct Digests {
    secret: Option<KeySecret>,
    randomness: Randomness,
    restores: Restores,
    known: parking_lot::Mutex<Known>,
    reading: Mutex<()>,
}

#[derive(Default)]
struct Known {
    key: Option<DigestKey>,
    /// Whether this host has held its claims since it was read.
    is_current: bool,
    /// The number of restores of the cluster when it was read.
    restores: u64,
}

impl Digests {
    /// Without a Secret, the key lasts as long as the process.
    pub(crate) fn new(secret: Option<KeySecret>, randomness: Randomness, restores: Restores) -> Self {
        Self { secret, randomness, restores, known: parking_lot::Mutex::default(), reading: Mutex::default() }
    }

    /// The key, if it was needed before.
    pub(crate) fn known(&self) -> Option<DigestKey> {
        self.known.lock().key.clone()
    }

    /// Marks the key as outdated, so that its next use reads the Secret: another host may have
    /// created the Secret again, e.g. after a restore.
    pub(crate) fn doubt(&self) {
        self.known.lock().is_current = false;
    }

    fn current(&self) -> Option<DigestKey> {
        let known = self.known.lock();
        let is_current = known.is_current && known.restores == self.restores.count();
        known.key.clone().filter(|_| is_current || self.secret.is_none())
    }

    /// Returns the key; reads or creates its Secret if it was not needed before. A Secret that is
    /// lost is created with the key that is known.
    ///
    /// # Errors
    ///
    /// If the Secret can neither be read nor created. Nothing is guessed instead, because another
    /// key would change digests, and so restart Pods.
    pub(crate) async fn key(&self, client: &Client) -> Result<DigestKey, Problem> {
        if let Some(key) = self.current() {
            return Ok(key);
        }
        let _one = self.reading.lock().await;
        if let Some(key) = self.current() {
            return Ok(key);
        }
        let restores = self.restores.count();
        let key = match &self.secret {
            Some(secret) => self.read_or_create(client, secret).await?,
            None => self.known_or_new_key()?,
        };
        *self.known.lock() = Known { key: Some(key.clone()), is_current: true, restores };
        Ok(key)
    }

    fn known_or_new_key(&self) -> Result<DigestKey, Problem> {
        if let Some(key) = self.known() {
            return Ok(key);
        }
        self.randomness.digest_key().map_err(|error| Problem::new(ProblemKind::Other, error.to_string()))
    }

    async fn read_or_create(&self, client: &Client, secret: &KeySecret) -> Result<DigestKey, Problem> {
        let api: Api<Secret> = Api::namespaced(client.clone(), &secret.namespace);
        let failed = |error: &kube::Error| problem(secret, error);
        if let Some(found) = answered(api.get_opt(&secret.name)).await.map_err(|error| failed(&error))? {
            return read(secret, &found);
        }
        let key = self.known_or_new_key()?;
        let created = Secret {
            metadata: ObjectMeta { name: Some(secret.name.clone()), ..ObjectMeta::default() },
            type_: Some(KEY_TYPE.to_owned()),
            data: Some(BTreeMap::from([(KEY.to_owned(), ByteString(key.bytes().to_vec()))])),
            ..Secret::default()
        };
        let params = PostParams { field_manager: Some("gyre".to_owned()), ..PostParams::default() };
        match answered(api.create(&params, &created)).await {
            Ok(_) => {
                info!("created the Secret {}/{} with the key of digests of generated values", secret.namespace, secret.name);
                Ok(key)
            }
            // Another replica was faster.
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let found = answered(api.get(&secret.name)).await.map_err(|error| failed(&error))?;
                read(secret, &found)
            }
            Err(error) => Err(failed(&error)),
        }
    }
}

fn read(secret: &KeySecret, found: &Secret) -> Result<DigestKey, Problem> {
    let bytes = found.data.as_ref().and_then(|data| data.get(KEY)).and_then(|key| key.0.as_slice().try_into().ok());
    bytes.map(DigestKey::new).ok_or_else(|| {
        let message = format!(
            "{} has no key of 32 bytes in data[{KEY:?}]: delete it, and the host makes another, with which digests of generated values change",
            secret.reference()
        );
        Problem::new(ProblemKind::Other, message)
    })
}

fn problem(secret: &KeySecret, error: &kube::Error) -> Problem {
    let kind = match error {
        kube::Error::Api(status) => problem_kind(status),
        kube::Error::Service(error) if error.is::<NotHeld>() => ProblemKind::NoClaim,
        _ => ProblemKind::Unavailable,
    };
    Problem::new(kind, format!("{}, the key of digests of generated values: {}", secret.reference(), error_chain(error)))
}
