//! Kinds whose CRD comes with a plugin.

use crate::kind::Kind;
use crate::object::Object;

/// A kind with its CustomResourceDefinition. Use [`derive@crate::CustomResource`] on the spec.
pub trait CustomResource {
    /// The kind.
    const KIND: Kind;

    /// The CRD as JSON, built at compile time, for [`Manifest::crd`](crate::Manifest::crd).
    const CRD: &'static str;
}

/// An object is of the kind of its spec.
impl<Spec: CustomResource, Status> CustomResource for Object<Spec, Status> {
    const KIND: Kind = Spec::KIND;
    const CRD: &'static str = Spec::CRD;
}

/// Returns a [`Manifest`](crate::Manifest) for a parent that is a [`CustomResource`], with the
/// kind's CRD and the name, version and description of the package.
///
/// ```
/// use gyre_sdk::k8s::ConfigMap;
/// use gyre_sdk::{CustomResource, Object, Strategy};
///
/// #[derive(serde::Deserialize, CustomResource)]
/// #[resource(group = "example.com", version = "v1", kind = "Greeting")]
/// struct GreetingSpec {}
///
/// let manifest = gyre_sdk::manifest!(Object<GreetingSpec>);
/// let manifest = manifest.child(ConfigMap::KIND, Strategy::Apply);
/// assert_eq!(manifest.parent, GreetingSpec::KIND);
/// ```
#[macro_export]
macro_rules! manifest {
    ($parent:ty) => {
        $crate::Manifest::new(
            ::std::env!("CARGO_PKG_NAME"),
            ::std::env!("CARGO_PKG_VERSION"),
            <$parent as $crate::CustomResource>::KIND,
        )
        .description(::std::env!("CARGO_PKG_DESCRIPTION"))
        .crd(<$parent as $crate::CustomResource>::CRD)
    };
}
