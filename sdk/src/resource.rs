//! Types of objects, and kinds whose CRD comes with a plugin.

use serde::de::DeserializeOwned;

use crate::kind::Kind;
use crate::object::Object;

/// A type of the objects of one kind: those of [`k8s`](crate::k8s), those that `gyre types`
/// generates, an [`Object`] of one's own kinds, or a struct with the fields that are read.
///
/// ```
/// use gyre_sdk::{Kind, Resource};
///
/// /// A ConfigMap of which only one text is read.
/// #[derive(serde::Deserialize)]
/// struct Template {
///     data: Texts,
/// }
///
/// #[derive(serde::Deserialize)]
/// struct Texts {
///     html: String,
/// }
///
/// impl Resource for Template {
///     const KIND: Kind = Kind::new("v1", "ConfigMap");
/// }
/// ```
pub trait Resource: DeserializeOwned {
    /// The kind.
    const KIND: Kind;
}

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

impl<Spec, Status> Resource for Object<Spec, Status>
where
    Spec: CustomResource + DeserializeOwned,
    Status: DeserializeOwned,
{
    const KIND: Kind = Spec::KIND;
}
