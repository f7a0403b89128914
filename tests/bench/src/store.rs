//! The memory of a cached object: the store against the JSON's size, and against `serde_json::Value`.
//!
//! Each form is held by a process of its own, and its cost is what that process' resident set grows by.

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

/// Holds the objects, and returns the bytes that they take.
pub(crate) fn hold(form: Form) -> anyhow::Result<usize> {
    // Made and dropped one by one, so that only what is held counts; the first ones warm the allocator up.
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
