//! Brings the CRD of a kind that is not its own: it would replace that of the echo plugin. It reconciles flawlessly.

use gyre_sdk::Response;

gyre_guests::guest!(
    Lies,
    |mut manifest| {
        manifest.crds = vec![gyre_guests::crd("mmontes.io", "v1alpha1", "Echo")];
        manifest
    },
    || Ok(Response::children())
);
