//! Bills of materials in CycloneDX: what is in each program, and in the SDK for TypeScript. The
//! SDKs for Go and Python depend on nothing.
//!
//! | module | reads |
//! |---|---|
//! | `packages` | `cargo tree`, `cargo metadata` and `Cargo.lock` |
//! | `npm` | `package-lock.json` |
//!
//! They are written here instead of by a tool that would be compiled for it: everything that they
//! say is in these sources, in another form.

mod npm;
mod packages;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{Release, Skipped, plugins, programs};
use crate::build;

/// A bill: what it is about, and what that consists of.
#[derive(Debug)]
struct Bill {
    /// The name of what it is about.
    name: String,
    components: Vec<Component>,
    /// The names by which components refer to each other, each with those on which it depends.
    dependencies: Vec<(String, Vec<String>)>,
}

/// A part of a program.
#[derive(Debug, PartialEq, Eq)]
struct Component {
    /// The name by which others refer to it.
    reference: String,
    name: String,
    version: String,
    /// The place from which everybody can get it, or `None` if it is a part of this repository.
    url: Option<String>,
    /// An expression of SPDX.
    license: Option<String>,
    sha256: Option<String>,
    scope: Scope,
}

/// The use of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// It is in the program.
    Required,
    /// It runs while the program is compiled.
    Excluded,
}

/// Writes the bills.
pub(super) fn make(release: &Release) -> anyhow::Result<Vec<Skipped>> {
    let components = plugins::in_rust(&build::metadata()?);
    let [linux, linux_on_arm, ..] = programs::TARGETS;
    let sources = [
        packages::Source { of: "gyre", packages: vec!["gyre".to_owned()], options: &[], targets: &programs::TARGETS },
        packages::Source {
            of: "gyre-in-cluster",
            packages: vec!["gyre".to_owned()],
            options: &["--no-default-features"],
            targets: &[linux, linux_on_arm],
        },
        packages::Source { of: "gyre-plugins", packages: components, options: &[], targets: &[gyre_plugin_build::TARGET] },
    ];
    for source in &sources {
        write(release, &packages::read(source).with_context(|| format!("cannot list what is in {}", source.of))?)?;
    }
    write(release, &npm::read()?)?;
    Ok(Vec::new())
}

fn write(release: &Release, bill: &Bill) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&document(bill, &release.version, &release.commit.date))?;
    release.write(&format!("{}-{}.cdx.json", bill.name, release.version), &(text + "\n"))
}

/// Returns the bill as CycloneDX 1.6 has it.
fn document(bill: &Bill, version: &str, date: &str) -> Value {
    let reference = |(reference, on): &(String, Vec<String>)| json!({"ref": reference, "dependsOn": on});
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": date,
            "tools": {"components": [{"type": "application", "name": "cargo xtask release", "version": version}]},
            "component": {
                "type": "application",
                "bom-ref": bill.name,
                "name": bill.name,
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
            },
        },
        "components": bill.components.iter().map(component).collect::<Vec<_>>(),
        "dependencies": bill.dependencies.iter().map(reference).collect::<Vec<_>>(),
    })
}

fn component(component: &Component) -> Value {
    let Component { reference, name, version, url, license, sha256, scope } = component;
    let scope = match scope {
        Scope::Required => "required",
        Scope::Excluded => "excluded",
    };
    let mut value = json!({"type": "library", "bom-ref": reference, "name": name, "version": version, "scope": scope});
    let optional = [
        ("purl", url.as_ref().map(|url| json!(url))),
        ("licenses", license.as_ref().map(|license| json!([{"expression": license}]))),
        ("hashes", sha256.as_ref().map(|digest| json!([{"alg": "SHA-256", "content": digest}]))),
    ];
    if let Value::Object(fields) = &mut value {
        fields.extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_names_components_where_to_get_them_and_what_depends_on_them() {
        let serde = Component {
            reference: "serde 1.0.0".to_owned(),
            name: "serde".to_owned(),
            version: "1.0.0".to_owned(),
            url: Some("pkg:cargo/serde@1.0.0".to_owned()),
            license: Some("MIT OR Apache-2.0".to_owned()),
            sha256: Some("00".to_owned()),
            scope: Scope::Required,
        };
        let own = Component {
            reference: "own 0.1.0".to_owned(),
            name: "own".to_owned(),
            version: "0.1.0".to_owned(),
            url: None,
            license: None,
            sha256: None,
            scope: Scope::Excluded,
        };
        let dependencies = vec![("gyre".to_owned(), vec!["serde 1.0.0".to_owned()])];
        let bill = Bill { name: "gyre".to_owned(), components: vec![serde, own], dependencies };
        let document = document(&bill, "0.1.0", "2026-11-28T12:00:00Z");
        assert_eq!(document["metadata"]["component"]["bom-ref"], "gyre");
        assert_eq!(
            document["components"],
            json!([
                {
                    "type": "library", "bom-ref": "serde 1.0.0", "name": "serde", "version": "1.0.0", "scope": "required",
                    "purl": "pkg:cargo/serde@1.0.0", "licenses": [{"expression": "MIT OR Apache-2.0"}],
                    "hashes": [{"alg": "SHA-256", "content": "00"}],
                },
                {"type": "library", "bom-ref": "own 0.1.0", "name": "own", "version": "0.1.0", "scope": "excluded"},
            ])
        );
        assert_eq!(document["dependencies"], json!([{"ref": "gyre", "dependsOn": ["serde 1.0.0"]}]));
    }
}
