//! Calls of a reconciler as native code where somebody else stands in for the host: the test kit `gyre-test`. Not for plugins.

use std::cell::RefCell;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::SystemTime;

use crate::call;
use crate::cluster::{Cluster, Error};
use crate::kind::Kind;
use crate::log::Level;
use crate::reconciler::Reconciler;
use crate::response::{Failure, Response, Teardown};

/// What a call may look at and say: a component's imports.
pub trait Host: Debug {
    /// As `cluster.children`.
    ///
    /// # Errors
    ///
    /// What the plugin is told.
    fn children(&self, kind: Kind) -> Result<Vec<Vec<u8>>, Error>;

    /// As `cluster.get`.
    ///
    /// # Errors
    ///
    /// What the plugin is told.
    fn get(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Result<Option<Vec<u8>>, Error>;

    /// As `cluster.list`.
    ///
    /// # Errors
    ///
    /// What the plugin is told.
    fn list(&self, kind: Kind, namespace: Option<&str>, label_selector: Option<&str>) -> Result<Vec<Vec<u8>>, Error>;

    /// The one moment of the call.
    fn now(&self) -> SystemTime;

    /// As `log.log`.
    fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]);
}

/// Calls [`Reconciler::reconcile`] with JSON texts.
///
/// # Errors
///
/// What the plugin fails with.
pub fn reconcile<R: Reconciler>(parent: &[u8], settings: &[u8], host: Rc<dyn Host>) -> Result<Response, Failure> {
    let _saying = Saying::to(&host);
    call::reconcile::<R>(parent, settings, &Cluster { reads: host })
}

/// Calls [`Reconciler::finalize`] with JSON texts.
///
/// # Errors
///
/// What the plugin fails with.
pub fn finalize<R: Reconciler>(parent: &[u8], settings: &[u8], host: Rc<dyn Host>) -> Result<Teardown, Failure> {
    let _saying = Saying::to(&host);
    call::finalize::<R>(parent, settings, &Cluster { reads: host })
}

/// Calls [`Reconciler::validate_settings`] with a JSON text.
///
/// # Errors
///
/// The sentence for the operator.
pub fn validate_settings<R: Reconciler>(settings: &[u8]) -> Result<(), String> {
    call::validate_settings::<R>(settings)
}

thread_local! {
    static HOST: RefCell<Option<Rc<dyn Host>>> = const { RefCell::new(None) };
}

/// While it is there, what is logged on this thread goes to a host.
struct Saying(Option<Rc<dyn Host>>);

impl Saying {
    fn to(host: &Rc<dyn Host>) -> Self {
        Self(HOST.replace(Some(Rc::clone(host))))
    }
}

impl Drop for Saying {
    /// Also when a panic ends the call.
    fn drop(&mut self) {
        HOST.replace(self.0.take());
    }
}

/// The host that is being said things to, if a call is under way that has one.
pub(super) fn host() -> Option<Rc<dyn Host>> {
    HOST.with_borrow(Option::clone)
}
