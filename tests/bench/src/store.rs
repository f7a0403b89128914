//! The memory of a cached object in the store, compared with the size of its JSON and with
//! `serde_json::Value`. A process of its own holds each form; its resident set is measured.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use clap::ValueEnum;
use gyre_engine::cluster::object::Object;
use gyre_engine::cluster::store::Store;
use serde_json::Value;

use crate::line::Line;
use crate::{process, sample};

const OBJECTS: usize = 50_000;

/// The form in which objects are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// In the host's store.
    Store,
    /// As `serde_json::Value`, in a vector.
    Dom,
}

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let json = sample::echo(1).to_string().len() as f64;
    let per_object = |form: Form| -> anyhow::Result<f64> {
        let name = form.to_possible_value().context("a name")?;
        let output = Command::new(std::env::current_exe()?).args(["--hold", name.get_name()]).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let bytes: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
        Ok(bytes / OBJECTS as f64)
    };
    let store = per_object(Form::Store)?;
    let dom = per_object(Form::Dom)?;
    Ok(vec![
        Line::new("JSON", json, "B", None),
        Line::new("store", store, "B", None),
        Line::new("serde_json::Value", dom, "B", None),
        Line::new("store / JSON", store / json, "x", Some(1.3)),
        Line::new("store / serde_json::Value", store / dom, "x", None),
    ])
}

/// Holds the objects, and returns their bytes.
pub(crate) fn hold(form: Form) -> anyhow::Result<usize> {
    // Created one by one, so that only held objects count. The first ones warm up the allocator.
    let before = process::resident_bytes(std::process::id())?;
    match form {
        Form::Store => {
            let store = Store::default();
            for number in 0..OBJECTS {
                store.apply(Arc::new(Object::parse(sample::echo(number).to_string())?));
            }
            let after = process::resident_bytes(std::process::id())?;
            ensure!(store.len() == OBJECTS, "all are held");
            Ok(after.saturating_sub(before))
        }
        Form::Dom => {
            let mut objects: Vec<Value> = Vec::new();
            for number in 0..OBJECTS {
                objects.push(serde_json::from_str(&sample::echo(number).to_string())?);
            }
            let after = process::resident_bytes(std::process::id())?;
            ensure!(objects.len() == OBJECTS, "all are held");
            Ok(after.saturating_sub(before))
        }
    }
}
