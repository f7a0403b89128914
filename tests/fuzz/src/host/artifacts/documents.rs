//! Manifests, indexes and configs.

use gyre_devcluster::random::Random;
use gyre_registry::manifest::{Descriptor, Index, Manifest, WasmConfig};
use gyre_registry::{Digest, bounds, media_type};
use serde_json::{Value, json};

use super::written::{COMPONENT, TAG, written};
use super::{about, check_message, mutated};
use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Log, Tally, count, law, shown};

const FIXTURE: &[u8] = include_bytes!("../../../../../host/signatures/tests/fixtures/manifest.json");
const DOCUMENTS: usize = 8;

/// The reader of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A manifest of a component.
    Component,
    /// Any other manifest.
    Manifest,
    Index,
    Config,
}

pub(super) fn run(random: &mut Random, log: &mut dyn Log, tally: &mut Tally) -> Result<(), Failure> {
    let samples = samples()?;
    for _ in 0..DOCUMENTS {
        let (form, sample) = random.pick(&samples);
        let is_sound = random.chance(0.1);
        let bytes = if is_sound { sample.clone() } else { document(random, sample) };
        log.step(&|| shown(&String::from_utf8_lossy(&bytes)));
        let checked = check(&bytes, tally)
            .and_then(|found| law(!is_sound || found.contains(form), || format!("{form:?} is read as {found:?}")));
        checked.map_err(|failure| about(&failure, &bytes))?;
    }
    Ok(())
}

fn samples() -> Result<Vec<(Form, Vec<u8>)>, Failure> {
    let written = written()?;
    let layer = |media_type: &str, size: u64| json!({ "mediaType": media_type, "digest": Digest::of(COMPONENT), "size": size });
    let with = |config: &str, layers: Value| {
        let config = json!({ "mediaType": config, "digest": Digest::of(b"{}"), "size": 2 });
        json!({ "schemaVersion": 2, "config": config, "layers": layers })
    };
    let image = "application/vnd.oci.image.layer.v1.tar+gzip";
    let of_platform = |architecture: &str| {
        let platform = json!({ "architecture": architecture, "os": "linux" });
        json!({ "mediaType": media_type::MANIFEST, "digest": Digest::of(COMPONENT), "size": 9, "platform": platform })
    };
    let platforms = [of_platform("amd64"), of_platform("arm64")];
    let index = json!({ "schemaVersion": 2, "mediaType": media_type::INDEX, "manifests": platforms });
    let largest = json!([layer(media_type::WASM, bounds::COMPONENT)]);
    let oras = with(media_type::EMPTY, largest);
    let helm = with(
        "application/vnd.cncf.helm.config.v1+json",
        json!([layer("application/vnd.cncf.helm.chart.content.v1.tar+gzip", 9)]),
    );
    let container = with("application/vnd.oci.image.config.v1+json", json!([layer(image, 9), layer(image, 10)]));
    let component = written.manifest(TAG);
    let config = Manifest::parse(component).map_err(|error| Failure(format!("what gyre pushes: {error}")))?.config;
    let of_tag = format!("sha256-{}", written.digest.hex());
    let mut samples = vec![
        (Form::Component, component.to_vec()),
        (Form::Component, FIXTURE.to_vec()),
        (Form::Component, oras.to_string().into_bytes()),
        (Form::Manifest, written.manifest(&written.attached.to_string()).to_vec()),
        (Form::Manifest, written.manifest(&format!("{of_tag}.sig")).to_vec()),
        (Form::Manifest, container.to_string().into_bytes()),
        (Form::Manifest, helm.to_string().into_bytes()),
        (Form::Index, written.manifest(&of_tag).to_vec()),
        (Form::Index, index.to_string().into_bytes()),
    ];
    samples.extend(written.blobs.get(&config.digest.to_string()).map(|bytes| (Form::Config, bytes.clone())));
    Ok(samples)
}

fn document(random: &mut Random, sample: &[u8]) -> Vec<u8> {
    let mut bytes = mutated(random, sample, special);
    if random.chance(0.02) {
        // White space at the end is part of a document, up to the bound.
        let bound = *random.pick(&[bounds::MANIFEST, bounds::MANIFEST + 1, bounds::CONFIG, bounds::CONFIG + 1]);
        bytes.resize(bound as usize, b' ');
    }
    bytes
}

/// A value that means something in a manifest.
pub(super) fn special(random: &mut Random) -> Value {
    let digest = Digest::of(&random.next_u64().to_be_bytes()).to_string();
    let types = [
        media_type::MANIFEST,
        media_type::INDEX,
        media_type::WASM_CONFIG,
        media_type::WASM,
        media_type::EMPTY,
        media_type::BUNDLE,
        media_type::SIMPLE_SIGNING,
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.docker.distribution.manifest.v2+json",
        "APPLICATION/WASM",
    ];
    match random.below(8) {
        0 => json!(random.pick(&[0, 1, bounds::COMPONENT, bounds::COMPONENT + 1, u64::from(u32::MAX) + 1, u64::MAX])),
        1 => json!(digest),
        2 => {
            json!(random.pick(&[digest.to_uppercase(), format!("{digest}0"), digest.replacen("256", "512", 1), digest.clone()]))
        }
        3 | 4 => json!(random.pick(&types)),
        5 => {
            let layer = json!({ "mediaType": random.pick(&types), "digest": digest, "size": random.below(20) });
            let most = *random.pick(&[3, bounds::LAYERS + 2]);
            Value::Array(vec![layer; random.size(most)])
        }
        6 => {
            let urls = ["https://evil.example.org/"];
            json!({ "mediaType": random.pick(&types), "digest": digest, "size": 2, "urls": urls, "data": "e30=" })
        }
        _ => mutate::value(random),
    }
}

/// Returns the forms that the document is read in.
fn check(bytes: &[u8], tally: &mut Tally) -> Result<Vec<Form>, Failure> {
    // A document may have numbers that a value cannot have, where nobody reads them.
    let value = serde_json::from_slice::<Value>(bytes).ok().filter(Value::is_object);
    let value = value.unwrap_or_default();
    let mut found = Vec::new();
    match Manifest::parse(bytes) {
        Ok(manifest) => {
            found.push(Form::Manifest);
            found.extend(check_manifest(bytes, &value, &manifest, tally)?);
        }
        Err(error) => {
            count(tally, "no-manifest");
            check_message(&error, error.remedy())?;
        }
    }
    match Index::parse(bytes) {
        Ok(index) => {
            count(tally, "index");
            law(found.is_empty(), || "it is a manifest and an index".to_owned())?;
            check_index(bytes, &value, &index)?;
            found.push(Form::Index);
        }
        Err(error) => check_message(&error, error.remedy())?,
    }
    match WasmConfig::parse(bytes) {
        Ok(config) => {
            count(tally, "config");
            check_config(bytes, &value, &config)?;
            found.push(Form::Config);
        }
        Err(error) => check_message(&error, error.remedy())?,
    }
    Ok(found)
}

fn check_manifest(bytes: &[u8], value: &Value, manifest: &Manifest, tally: &mut Tally) -> Result<Option<Form>, Failure> {
    check_version(bytes, value, media_type::MANIFEST)?;
    law(manifest.layers.len() <= bounds::LAYERS, || format!("it has {} layers", manifest.layers.len()))?;
    law(value["manifests"].is_null(), || "an index is a manifest".to_owned())?;
    check_descriptors(&value["layers"], &manifest.layers)?;
    let one = std::slice::from_ref(&manifest.config);
    check_descriptors(&json!([value["config"]]), one)?;
    if let Some(subject) = &manifest.subject {
        check_descriptors(&json!([value["subject"]]), std::slice::from_ref(subject))?;
    }
    let written = serde_json::to_vec(manifest).map_err(|error| Failure(error.to_string()))?;
    let read = Manifest::parse(&written);
    law(read.as_ref().is_ok_and(|read| read == manifest), || format!("it is written as what is read as {read:?}"))?;
    match manifest.component() {
        Ok(layer) => {
            count(tally, "component");
            check_component(manifest, layer)?;
            Ok(Some(Form::Component))
        }
        Err(error) => {
            count(tally, "no-component");
            check_message(&error, error.remedy())?;
            Ok(None)
        }
    }
}

fn check_component(manifest: &Manifest, layer: &Descriptor) -> Result<(), Failure> {
    law(manifest.layers.as_slice() == std::slice::from_ref(layer), || format!("{layer:?} is not the one layer"))?;
    let is_within = layer.media_type == media_type::WASM && (1..=bounds::COMPONENT).contains(&layer.size);
    law(is_within, || format!("{layer:?} is a component"))?;
    let config = manifest.config.media_type.as_str();
    law([media_type::WASM_CONFIG, media_type::EMPTY].contains(&config), || format!("a component has the config {config:?}"))
}

fn check_index(bytes: &[u8], value: &Value, index: &Index) -> Result<(), Failure> {
    check_version(bytes, value, media_type::INDEX)?;
    check_descriptors(&value["manifests"], &index.manifests)?;
    let written = serde_json::to_vec(index).map_err(|error| Failure(error.to_string()))?;
    let read = Index::parse(&written);
    law(read.as_ref().is_ok_and(|read| read == index), || format!("it is written as what is read as {read:?}"))
}

fn check_config(bytes: &[u8], value: &Value, config: &WasmConfig) -> Result<(), Failure> {
    law(bytes.len() as u64 <= bounds::CONFIG, || format!("it has {} bytes", bytes.len()))?;
    let written = serde_json::to_vec(config).map_err(|error| Failure(error.to_string()))?;
    let read = WasmConfig::parse(&written);
    law(read.as_ref().is_ok_and(|read| read == config), || format!("it is written as what is read as {read:?}"))?;
    law(value.is_null() || value["layerDigests"] == json!(config.layer_digests), || {
        format!("its digests are {:?}", config.layer_digests)
    })
}

fn check_version(bytes: &[u8], value: &Value, media_type: &str) -> Result<(), Failure> {
    law(bytes.len() as u64 <= bounds::MANIFEST, || format!("it has {} bytes", bytes.len()))?;
    let (version, found) = (&value["schemaVersion"], &value["mediaType"]);
    let is_right = version.as_u64() == Some(2) && (found.is_null() || found.as_str() == Some(media_type));
    law(value.is_null() || is_right, || format!("version {version} with the media type {found}"))
}

/// Checks that descriptors are those of the document. Each digest has one spelling.
fn check_descriptors(raw: &Value, read: &[Descriptor]) -> Result<(), Failure> {
    // A descriptor may also be a list of its fields, which is not compared.
    let Some(raw) = raw.as_array().filter(|raw| raw.iter().all(Value::is_object)) else { return Ok(()) };
    law(raw.len() == read.len(), || format!("{} descriptors are read as {}", raw.len(), read.len()))?;
    for (raw, read) in raw.iter().zip(read) {
        let is_same = raw["digest"].as_str() == Some(read.digest.to_string().as_str())
            && raw["size"].as_u64() == Some(read.size)
            && raw["mediaType"].as_str() == Some(read.media_type.as_str());
        law(is_same, || format!("{raw} is read as {read:?}"))?;
    }
    Ok(())
}
