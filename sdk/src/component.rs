//! The exports of a component. It is public only for [`export!`](crate::export).

use std::marker::PhantomData;

use crate::bindings::exports::gyre::plugin::reconciler as exported;
use crate::bindings::gyre::plugin::types;
use crate::call;
use crate::cluster::Cluster;
use crate::host::Imports;
use crate::reconciler::Reconciler;

/// Exports a reconciler as the contract's interface.
pub struct Component<R>(PhantomData<R>);

impl<R: Reconciler> exported::Guest for Component<R> {
    fn describe() -> types::Manifest {
        convert::manifest(call::manifest::<R>())
    }

    fn validate_settings(settings: types::Json) -> Result<(), String> {
        call::validate_settings::<R>(&settings)
    }

    fn reconcile(request: types::Request) -> Result<types::Response, types::Failure> {
        let answer = call::reconcile::<R>(&request.parent, &request.settings, &Cluster::new(Imports));
        answer.map(convert::response).map_err(convert::failure)
    }

    fn finalize(request: types::Request) -> Result<types::Teardown, types::Failure> {
        let answer = call::finalize::<R>(&request.parent, &request.settings, &Cluster::new(Imports));
        answer.map(convert::teardown).map_err(convert::failure)
    }
}

mod convert {
    use crate::bindings::gyre::plugin::types;

    crate::conversions!(types, GroupVersionKindResult);
}
