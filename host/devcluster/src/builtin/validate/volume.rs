//! Volumes of Pods, and their mounts.

use std::collections::BTreeSet;

use gyre_core::quantity::Quantity;
use serde_json::Value;

use crate::validation::field::{Errors, Field};
use crate::validation::syntax;

/// `ValidateVolumes`. Returns the names of the valid volumes.
pub(super) fn volumes<'a>(volumes: &Field<'a>, errors: &mut Errors) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for volume in volumes.items() {
        let mut found = Vec::new();
        source(&volume, &mut found);
        let name = volume.get("name");
        if name.required_text(&mut found) {
            name.dns_label(&mut found);
        }
        if names.contains(name.text()) {
            name.duplicate(&mut found);
        }
        if found.is_empty() {
            names.insert(name.text());
        }
        errors.extend(found);
    }
    names
}

fn source(volume: &Field<'_>, errors: &mut Errors) {
    let mut sources = volume.object().into_iter().flatten().filter(|(name, value)| *name != "name" && !value.is_null());
    let Some((name, _)) = sources.next() else { return volume.required(errors, "must specify a volume type") };
    for (other, _) in sources {
        volume.get(other).forbidden(errors, "may not specify more than 1 volume type");
    }
    let source = volume.get(name);
    match name.as_str() {
        "emptyDir" => {
            let limit = source.get("sizeLimit");
            if Quantity::parse(limit.text()).is_ok_and(|limit| limit.is_negative()) {
                limit.forbidden(errors, "SizeLimit field must be a valid resource quantity");
            }
        }
        "hostPath" => {
            let path = source.get("path");
            if path.required_text(errors) {
                no_backsteps(&path, errors);
            }
            let kinds = ["", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"];
            source.get("type").one_of_if_set(errors, &kinds);
        }
        kind @ ("secret" | "configMap") => {
            source.get(if kind == "secret" { "secretName" } else { "name" }).required_text(errors);
            mode(&source.get("defaultMode"), errors);
            key_paths(&source.get("items"), errors);
        }
        "persistentVolumeClaim" => {
            source.get("claimName").required_text(errors);
        }
        "projected" => {
            mode(&source.get("defaultMode"), errors);
            for each in source.get("sources").items() {
                if each.len() == 0 {
                    each.required(errors, "must specify a volume type");
                }
            }
        }
        "downwardAPI" => mode(&source.get("defaultMode"), errors),
        "csi" => {
            source.get("driver").required_text(errors);
        }
        "nfs" => {
            for name in ["server", "path"] {
                source.get(name).required_text(errors);
            }
        }
        _ => {}
    }
}

fn mode(mode: &Field<'_>, errors: &mut Errors) {
    if mode.integer().is_some_and(|mode| !(0..=0o777).contains(&mode)) {
        mode.invalid(errors, "must be a number between 0 and 0777 (octal), both inclusive");
    }
}

fn key_paths(items: &Field<'_>, errors: &mut Errors) {
    for item in items.items() {
        let (key, path) = (item.get("key"), item.get("path"));
        key.required_text(errors);
        if path.required_text(errors) {
            local_path(&path, errors);
            if path.text().starts_with("..") && !path.text().starts_with("../") && path.text() != ".." {
                path.invalid(errors, "must not start with '..'");
            }
        }
        if item.get("mode").integer().is_some_and(|mode| !(0..=0o777).contains(&mode)) {
            item.get("mode").invalid(errors, "must be a number between 0 and 0777 (octal), both inclusive");
        }
    }
}

fn no_backsteps(path: &Field<'_>, errors: &mut Errors) {
    if path.text().split('/').any(|part| part == "..") {
        path.invalid(errors, "must not contain '..'");
    }
}

fn local_path(path: &Field<'_>, errors: &mut Errors) {
    if path.text().starts_with('/') {
        path.invalid(errors, "must be a relative path");
    }
    no_backsteps(path, errors);
}

pub(super) fn mounts(container: &Field<'_>, volumes: &BTreeSet<&str>, errors: &mut Errors) {
    let mounts = container.get("volumeMounts");
    let devices: Vec<Field<'_>> = container.get("volumeDevices").items().collect();
    let mut paths = BTreeSet::new();
    for mount in mounts.items() {
        let (name, path) = (mount.get("name"), mount.get("mountPath"));
        name.required_text(errors);
        if !volumes.contains(name.text()) {
            let named = Field::at(name.value(), name.path());
            match named.value() {
                Some(_) => named.not_found(errors),
                None => Field::at(Some(&Value::String(String::new())), name.path()).not_found(errors),
            }
        }
        path.required_text(errors);
        if !paths.insert(path.text()) {
            path.invalid(errors, "must be unique");
        }
        if devices.iter().any(|device| device.get("name").text() == name.text()) {
            name.invalid(errors, "must not already exist in volumeDevices");
        }
        // The API server's path lacks the index of the mount.
        let sub_path = mount.get("subPath").named(mounts.child_path("subPath"));
        local_path(&sub_path, errors);
        let expression = mount.get("subPathExpr");
        if !expression.text().is_empty() {
            if !sub_path.text().is_empty() {
                expression.invalid(errors, "subPathExpr and subPath are mutually exclusive");
            }
            local_path(&expression.named(mounts.child_path("subPathExpr")), errors);
        }
        let propagation = mount.get("mountPropagation").named(mounts.child_path("mountPropagation"));
        propagation.one_of_if_set(errors, &["Bidirectional", "HostToContainer", "None"]);
    }
}

/// Validates the source of an environment variable: a key of a ConfigMap or Secret.
pub(super) fn key_selector(selector: &Field<'_>, errors: &mut Errors) {
    let (name, key) = (selector.get("name"), selector.get("key"));
    name.required_text(errors);
    if key.required_text(errors) {
        key.invalid_each(errors, syntax::config_key(key.text()));
    }
}
