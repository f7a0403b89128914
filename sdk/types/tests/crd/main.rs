//! The generated types of a CustomResourceDefinition compile, and do what they say.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod certificate;

use certificate::{Certificate, CertificateSpec, CertificateSpecStores, CertificateSpecType, CertificateSpecUsages};
use gyre_sdk::typed::IntOrText;
use gyre_types::of_crd;
use serde_json::{Value, json};

fn definition() -> Value {
    serde_json::from_str(include_str!("certificate.json")).unwrap()
}

#[test]
fn what_is_built_is_what_is_read() {
    let spec = CertificateSpec::new()
        .with_dns_names(["a.example.com", "b.example.com"])
        .with_type(CertificateSpecType::Ed25519)
        .with_usages([CertificateSpecUsages::ServerAuth])
        .with_port("https")
        .with_is_ca(true)
        .with_stores([CertificateSpecStores::new().with_ref("x")]);
    let certificate = Certificate::new("web").with_spec(spec);
    assert_eq!(Certificate::KIND.api_version, "example.com/v1");
    let expected = json!({
        "apiVersion": "example.com/v1",
        "kind": "Certificate",
        "metadata": {"name": "web"},
        "spec": {
            "dnsNames": ["a.example.com", "b.example.com"],
            "type": "ed25519",
            "usages": ["server auth"],
            "port": "https",
            "isCA": true,
            "stores": [{"ref": "x"}],
        },
    });
    assert_eq!(*certificate.as_json(), expected);
    let read: Certificate = serde_json::from_value(expected).unwrap();
    assert_eq!(read.spec().dns_names().last(), Some("b.example.com"));
    assert_eq!(read.spec().type_(), Some(CertificateSpecType::Ed25519));
    assert_eq!(read.spec().port(), Some(IntOrText::Text("https".to_owned())));
    assert_eq!(read.spec().stores().next().unwrap().ref_(), Some("x"));
    assert_eq!(read.status().not_after(), None);
}

#[test]
fn what_is_no_definition_is_refused_with_a_remedy() {
    let said = |definition: &Value, version: Option<&str>| of_crd(definition, version).unwrap_err().to_string();
    let job = json!({"apiVersion": "batch/v1", "kind": "Job"});
    assert!(said(&job, None).starts_with("this is no CustomResourceDefinition"), "{}", said(&job, None));
    let expected = "Certificate has no version v2: choose one of the versions v1alpha1, v1";
    assert_eq!(said(&definition(), Some("v2")), expected);
    assert!(said(&definition(), Some("v1alpha1")).starts_with("the version v1alpha1 of Certificate has no schema"));
}
