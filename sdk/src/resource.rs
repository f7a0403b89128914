//! Types of objects, and kinds whose CRD comes with a plugin.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fields;
use crate::group::Group;
use crate::kind::Kind;
use crate::object::{Metadata, Object};

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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of objects",
    label = "no type of objects",
    note = "a spec with `#[derive(CustomResource)]` is read as `Object<{Self}>`",
    note = "the built-in kinds are in `gyre_sdk::k8s`, and `cluster.dynamic(KIND)` reads a kind without a type"
)]
pub trait Resource: DeserializeOwned {
    /// The kind.
    const KIND: Kind;
}

/// A kind with its CustomResourceDefinition. Use [`derive@crate::CustomResource`] on the spec.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no CustomResourceDefinition",
    note = "add `#[derive(gyre_sdk::CustomResource)]` and `#[resource(group = …, version = …, kind = …)]` to the type of the spec"
)]
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

/// A group is of the kind of its members.
impl<P: CustomResource> CustomResource for Group<P> {
    const KIND: Kind = P::KIND;
    const CRD: &'static str = P::CRD;
}

impl<Spec, Status> Resource for Object<Spec, Status>
where
    Spec: CustomResource + DeserializeOwned,
    Status: DeserializeOwned,
{
    const KIND: Kind = Spec::KIND;
}

/// The object as a child: `null`, which is a terminal failure, if its spec cannot be serialised.
/// With one type of status alone, `Object::new(name, spec)` is enough for the compiler.
impl<Spec: CustomResource + Serialize> From<Object<Spec>> for Value {
    fn from(object: Object<Spec>) -> Self {
        let Ok(spec) = serde_json::to_value(&object.spec) else { return Self::Null };
        let Metadata { name, namespace, labels, annotations, .. } = object.metadata;
        let mut child = fields::named(Spec::KIND.api_version, Spec::KIND.kind, name);
        if let Some(namespace) = namespace {
            fields::set_inside(&mut child, "metadata", "namespace", namespace.into());
        }
        for (field, set) in [("labels", labels), ("annotations", annotations)] {
            if !set.is_empty() {
                fields::set_inside(&mut child, "metadata", field, fields::texts(&set));
            }
        }
        fields::set(&mut child, "spec", spec);
        child
    }
}
