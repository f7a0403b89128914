//! Contains the CRD of the echo plugin, which it would replace. Otherwise correct.

use gyre_sdk::Plan;

gyre_guests::guest!(
    Lies,
    |mut manifest| {
        manifest.crds = vec![gyre_guests::crd("mmontes.io", "v1alpha1", "Echo")];
        manifest
    },
    || Ok(Plan::no_children())
);
