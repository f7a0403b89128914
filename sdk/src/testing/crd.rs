//! Compares CustomResourceDefinitions with files.

use std::{env, fs};

use serde_json::Value;

use crate::resource::CustomResource;

const BLESS: &str = "GYRE_BLESS";

/// Asserts that a JSON file, whose path is relative to the package, contains the
/// CustomResourceDefinition of this kind. The file is for reviews and for `kubectl apply`.
///
/// ```no_run
/// # #[derive(serde::Deserialize, gyre_sdk::CustomResource)]
/// # #[resource(group = "example.com", version = "v1", kind = "Greeting")]
/// # struct GreetingSpec {}
/// gyre_sdk::testing::assert_crd_file::<GreetingSpec>("crd.json");
/// ```
///
/// # Panics
///
/// If the file differs. With the environment variable `GYRE_BLESS=1`, it is written instead.
#[track_caller]
#[expect(clippy::panic, reason = "an assertion")]
pub fn assert_crd_file<R: CustomResource>(path: &str) {
    let derived: Value = match serde_json::from_str(R::CRD) {
        Ok(derived) => derived,
        Err(error) => panic!("the CRD of {} is not JSON, check #[schema(json = …)]: {error}: {}", R::KIND, R::CRD),
    };
    let written = fs::read(path).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    if written.as_ref() == Some(&derived) {
        return;
    }
    if env::var_os(BLESS).is_none() {
        let written = written.map_or_else(|| "no JSON".to_owned(), |written| format!("{written:#}"));
        panic!(
            "{path} is not the CRD of {}: run the test with {BLESS}=1 to write it\n\nin the file: {written}\n\nderived: {derived:#}",
            R::KIND
        );
    }
    if let Err(error) = fs::write(path, format!("{derived:#}\n")) {
        panic!("cannot write {path}: {error}");
    }
}
