//! Reads and writes Leases.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gyre_core::election::mounts::ListedLease;
use gyre_core::election::{self, Record, Request, RequestResult, Term};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;
use tracing::{debug, warn};

use super::denials::Denials;
use super::options::Options;
use crate::clock::Clock;
use crate::error::{error_chain, is_gone, is_stale};
use crate::restores::Restores;

const ELECTION_LABEL: &str = "gyre.dev/election";
/// On a replica's Lease: the mounts that it can lead, separated by commas.
const MOUNTS_ANNOTATION: &str = "gyre.dev/mounts";

pub(super) struct Leases {
    api: Api<Lease>,
    timeout: Duration,
    clock: Clock,
    labels: Labels,
    denials: Arc<Denials>,
    /// The base of writes: labels and owners stay, and the UID prevents recreations by PUT.
    known: BTreeMap<String, Lease>,
    versions: Arc<Versions>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Labels {
    None,
    Election(String),
}

impl Leases {
    pub(super) fn new(client: &Client, options: &Options, labels: Labels) -> Self {
        Self {
            api: Api::namespaced(client.clone(), &options.namespace),
            timeout: options.timing.request_timeout(),
            clock: options.clock.clone(),
            labels,
            denials: Arc::clone(&options.denials),
            known: BTreeMap::new(),
            versions: Arc::new(Versions { newest: Mutex::default(), restores: options.restores.clone() }),
        }
    }

    /// Sends a request. Pass the returned Lease to [`Self::record`].
    pub(super) fn send(
        &self,
        name: &str,
        request: Request,
        leadable: Option<BTreeSet<String>>,
    ) -> impl Future<Output = (RequestResult, Option<Lease>)> + Send + use<> {
        let (api, name, timeout) = (self.api.clone(), name.to_owned(), self.timeout);
        let parameters = PostParams { field_manager: Some("gyre".to_owned()), ..PostParams::default() };
        let lease = match &request {
            Request::Read => None,
            Request::Create(record) => Some(self.write(&name, None, record, Term::Begins, leadable)),
            Request::Replace { resource_version, record, term } => {
                Some(self.write(&name, Some(resource_version), record, *term, leadable))
            }
        };
        let (denials, versions) = (Arc::clone(&self.denials), Arc::clone(&self.versions));
        let asked = versions.asked();
        let verb = match &request {
            Request::Read => "get",
            Request::Create(_) => "create",
            Request::Replace { .. } => "update",
        };
        async move {
            let sent = async {
                match (&request, lease) {
                    (Request::Create(_), Some(lease)) => api.create(&parameters, &lease).await.map(Some),
                    (_, Some(lease)) => api.replace(&name, &parameters, &lease).await.map(Some),
                    (_, None) => api.get_opt(&name).await,
                }
            };
            let ended = tokio::time::timeout(timeout, sent).await;
            let ended = ended.unwrap_or_else(|_| Err(kube::Error::Service(format!("no answer within {timeout:?}").into())));
            denials.record_result(verb, &ended);
            if let Ok(Some(lease)) = &ended {
                versions.answered(&asked, std::slice::from_ref(lease));
            }
            answer(&name, ended)
        }
    }

    pub(super) fn list(&self) -> impl Future<Output = Option<Vec<Lease>>> + Send + use<> {
        let (api, timeout, labels) = (self.api.clone(), self.timeout, self.labels.clone());
        let (denials, versions) = (Arc::clone(&self.denials), Arc::clone(&self.versions));
        let asked = versions.asked();
        async move {
            let parameters = match labels {
                Labels::None => ListParams::default(),
                Labels::Election(name) => ListParams::default().labels(&format!("{ELECTION_LABEL}={name}")),
            };
            let ended = tokio::time::timeout(timeout, api.list(&parameters)).await;
            if let Ok(answer) = &ended {
                denials.record_result("list", answer);
            }
            match ended {
                Ok(Ok(list)) => {
                    versions.answered(&asked, &list.items);
                    versions.forget_others(&list.items);
                    Some(list.items)
                }
                Ok(Err(error)) => {
                    warn!(error = %error_chain(&error), "cannot list the Leases");
                    None
                }
                Err(_) => {
                    warn!("cannot list the Leases: no answer within {timeout:?}");
                    None
                }
            }
        }
    }

    /// Deletes exactly this version. An error is ignored: the deletion is retried later.
    pub(super) fn delete(&self, name: &str, resource_version: String) -> impl Future<Output = ()> + Send + use<> {
        let (api, name, timeout) = (self.api.clone(), name.to_owned(), self.timeout);
        let preconditions = Preconditions { resource_version: Some(resource_version), uid: None };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        async move {
            if let Ok(Err(error)) = tokio::time::timeout(timeout, api.delete(&name, &parameters)).await {
                debug!(lease = name, error = %error_chain(&error), "cannot delete the Lease");
            }
        }
    }

    pub(super) fn record(&mut self, name: &str, found: Option<Lease>) {
        if let Some(lease) = found {
            self.known.insert(name.to_owned(), lease);
        }
    }

    /// Replaces the known Leases, except those that were written since.
    pub(super) fn record_all(&mut self, listed: Vec<Lease>) -> Vec<ListedLease> {
        let mut before = std::mem::take(&mut self.known);
        let found = listed.iter().filter_map(|lease| found_lease(&lease.name_any(), lease)).collect();
        for lease in listed {
            let name = lease.name_any();
            let newer = before.remove(&name).filter(|known| version(known) > version(&lease));
            self.known.insert(name, newer.unwrap_or(lease));
        }
        found
    }

    fn write(
        &self,
        name: &str,
        resource_version: Option<&String>,
        record: &Record,
        term: Term,
        leadable: Option<BTreeSet<String>>,
    ) -> Lease {
        let base = self.known.get(name).filter(|known| known.metadata.resource_version.as_ref() == resource_version);
        let mut lease = base.filter(|_| resource_version.is_some()).cloned().unwrap_or_else(|| {
            let (name, namespace) = (Some(name.to_owned()), self.api.namespace().map(str::to_owned));
            let resource_version = resource_version.cloned();
            let metadata = ObjectMeta { name, namespace, resource_version, ..ObjectMeta::default() };
            Lease { metadata, spec: None }
        });
        lease.metadata.managed_fields = None;
        if let Labels::Election(election) = &self.labels {
            lease.labels_mut().insert(ELECTION_LABEL.to_owned(), election.clone());
        }
        if let Some(leadable) = leadable {
            let leadable = leadable.into_iter().collect::<Vec<String>>().join(",");
            lease.annotations_mut().insert(MOUNTS_ANNOTATION.to_owned(), leadable);
        }
        let now = Some(MicroTime(self.clock.now()));
        let before = lease.spec.unwrap_or_default();
        lease.spec = Some(LeaseSpec {
            acquire_time: if term == Term::Begins { now.clone() } else { before.acquire_time.or_else(|| now.clone()) },
            renew_time: now,
            holder_identity: Some(record.holder.clone()),
            lease_duration_seconds: Some(record.duration_seconds),
            lease_transitions: Some(record.transitions),
            ..before
        });
        lease
    }
}

/// The newest version of each Lease. Answers are not older than what was known before the request,
/// unless the cluster was restored from a backup in between.
struct Versions {
    newest: Mutex<BTreeMap<String, u64>>,
    restores: Restores,
}

impl Versions {
    /// Returns the versions that the answer to a request sent now cannot precede.
    fn asked(&self) -> BTreeMap<String, u64> {
        self.newest.lock().clone()
    }

    fn answered(&self, asked: &BTreeMap<String, u64>, leases: &[Lease]) {
        let found = || leases.iter().filter_map(|lease| Some((lease.name_any(), version(lease)?)));
        let mut newest = self.newest.lock();
        if found()
            .any(|(name, version)| asked.get(&name).is_some_and(|known| version < *known && newest.get(&name) == Some(known)))
        {
            warn!(
                "the resource versions of Leases have gone back: the cluster was restored from a backup; listing all objects again"
            );
            newest.clear();
            self.restores.report();
        }
        for (name, version) in found() {
            let known = newest.entry(name).or_default();
            *known = version.max(*known);
        }
    }

    /// Forgets the Leases that are not among all that exist.
    fn forget_others(&self, all: &[Lease]) {
        self.newest.lock().retain(|name, _| all.iter().any(|lease| lease.name_any() == *name));
    }
}

fn answer(name: &str, ended: Result<Option<Lease>, kube::Error>) -> (RequestResult, Option<Lease>) {
    let error = match ended {
        Ok(None) => return (RequestResult::NotFound, None),
        Ok(Some(lease)) => match core_lease(&lease) {
            Some(found) => return (RequestResult::Lease(found), Some(lease)),
            None => kube::Error::Service("the Lease has no resourceVersion".into()),
        },
        Err(error) => error,
    };
    match &error {
        kube::Error::Api(status) if is_stale(status) => {
            debug!(lease = name, "another client changed the Lease first: {}", status.message);
            (RequestResult::Conflict, None)
        }
        error => {
            warn!(lease = name, error = %error_chain(error), "cannot read or write the Lease");
            let is_missing = matches!(error, kube::Error::Api(status) if is_gone(status));
            (if is_missing { RequestResult::NotFound } else { RequestResult::Unknown }, None)
        }
    }
}

fn version(lease: &Lease) -> Option<u64> {
    lease.metadata.resource_version.as_ref()?.parse().ok()
}

fn core_lease(lease: &Lease) -> Option<election::Lease> {
    let spec = lease.spec.clone().unwrap_or_default();
    Some(election::Lease {
        resource_version: lease.metadata.resource_version.clone()?,
        record: Record {
            holder: spec.holder_identity.unwrap_or_default(),
            duration_seconds: spec.lease_duration_seconds.unwrap_or(0),
            transitions: spec.lease_transitions.unwrap_or(0),
        },
    })
}

fn found_lease(name: &str, lease: &Lease) -> Option<ListedLease> {
    let mounts = lease.annotations().get(MOUNTS_ANNOTATION).map(String::as_str).unwrap_or_default();
    let leadable = mounts.split(',').filter(|mount| !mount.is_empty()).map(str::to_owned).collect();
    Some(ListedLease { name: name.to_owned(), lease: core_lease(lease)?, leadable })
}
