//! The exports of a component. It is public only for [`export!`](crate::export).

use std::marker::PhantomData;

use crate::bindings::exports::gyre::plugin::reconciler as exported;
use crate::bindings::gyre::plugin::types;
use crate::call;
use crate::cluster::Cluster;
use crate::convert;
use crate::failure::{Failure, Result};
use crate::host::Imports;
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::reconciler::Reconciler;

/// The functions of a reconciler.
pub struct Exported {
    manifest: fn() -> Manifest,
    validate_settings: fn(&[u8]) -> core::result::Result<(), String>,
    reconcile: fn(&[u8], &[u8], &Cluster) -> Result<Plan>,
    finalize: fn(&[u8], &[u8], &Cluster) -> Result<Plan>,
}

impl Exported {
    /// Returns those of this reconciler.
    pub const fn of<R: Reconciler>() -> Self {
        Self {
            manifest: call::manifest::<R>,
            validate_settings: call::validate_settings::<R>,
            reconcile: call::reconcile::<R>,
            finalize: call::finalize::<R>,
        }
    }
}

/// The reconcilers of a component.
pub trait Reconcilers {
    /// All of them.
    const ALL: &'static [Exported];
}

/// Exports reconcilers as the contract's interface.
pub struct Component<R>(PhantomData<R>);

impl<R: Reconcilers> Component<R> {
    /// Returns the reconciler of this name.
    fn find(name: &str) -> core::result::Result<&'static Exported, String> {
        match R::ALL {
            // Its name is not needed, so a component does not describe itself in each call.
            [only] => Ok(only),
            all => all
                .iter()
                .find(|exported| (exported.manifest)().name == name)
                .ok_or_else(|| format!("there is no reconciler {name}")),
        }
    }
}

impl<R: Reconcilers> exported::Guest for Component<R> {
    fn describe() -> Vec<types::Manifest> {
        R::ALL.iter().map(|exported| convert::manifest((exported.manifest)())).collect()
    }

    fn validate_settings(reconciler: String, settings: types::Json) -> core::result::Result<(), String> {
        (Self::find(&reconciler)?.validate_settings)(&settings)
    }

    fn reconcile(request: types::Request) -> core::result::Result<types::Response, types::Failure> {
        let answer = Self::find(&request.reconciler).map_err(Failure::Terminal).and_then(|exported| {
            let parent = call::with_members(request.parent, request.members);
            (exported.reconcile)(&parent, &request.settings, &Cluster::new(Imports))
        });
        answer.map(convert::response).map_err(convert::failure)
    }

    fn finalize(request: types::Request) -> core::result::Result<types::Teardown, types::Failure> {
        let answer = Self::find(&request.reconciler)
            .map_err(Failure::Terminal)
            .and_then(|exported| (exported.finalize)(&request.parent, &request.settings, &Cluster::new(Imports)));
        answer.map(convert::teardown).map_err(convert::failure)
    }
}
