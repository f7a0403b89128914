//! Kinds that a plugin brings.

use crate::kind::Kind;
use crate::object::Object;

/// A kind with its CustomResourceDefinition. Derive it for the type of the spec: [`derive@crate::CustomResource`].
pub trait CustomResource {
    /// The kind.
    const KIND: Kind;

    /// Its CustomResourceDefinition, as JSON: for [`Manifest::crd`](crate::Manifest::crd). The compiler makes it from the type.
    const CRD: &'static str;
}

/// An object is of the kind of its spec.
impl<Spec: CustomResource, Status> CustomResource for Object<Spec, Status> {
    const KIND: Kind = Spec::KIND;
    const CRD: &'static str = Spec::CRD;
}

/// The [`Manifest`](crate::Manifest) of a plugin that is called as its package and reconciles this kind, a [`CustomResource`]: with the
/// package's version and description, and with the kind's CRD.
///
/// ```
/// use gyre_sdk::k8s::ConfigMap;
/// use gyre_sdk::{CustomResource, Object, Strategy};
///
/// #[derive(serde::Deserialize, CustomResource)]
/// #[resource(group = "example.com", version = "v1", kind = "Greeting")]
/// struct GreetingSpec {}
///
/// let manifest = gyre_sdk::manifest!(Object<GreetingSpec>).child(ConfigMap::KIND, Strategy::Apply);
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
