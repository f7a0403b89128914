//! Lists the files of each SDK, for `include_bytes!`.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The constants, the folders beside this one, and the languages.
const SDKS: [(&str, &str, &str); 3] =
    [("GO", "go", "Go"), ("PYTHON", "python", "Python"), ("TYPESCRIPT", "typescript", "TypeScript")];

/// The folders that a project does not need: generators and tests, and what tools leave behind.
const LEFT_OUT: [&str; 8] = ["__pycache__", "dist", "node_modules", "scripts", "target", "test", "tests", "tools"];

fn main() -> io::Result<()> {
    let here = folder("CARGO_MANIFEST_DIR");
    let mut source = String::new();
    for (constant, folder, language) in SDKS {
        let root = here.join("..").join(folder);
        println!("cargo::rerun-if-changed={}", root.display());
        let mut files = Vec::new();
        list(&root, &mut files)?;
        files.sort();
        writeln!(source, "/// The SDK for {language}.\npub const {constant}: Sdk = Sdk(&[").map_err(io::Error::other)?;
        for file in files {
            let path = file.strip_prefix(&root).map_err(io::Error::other)?;
            let line = format!("    File {{ path: {path:?}, bytes: include_bytes!({file:?}) }},");
            writeln!(source, "{line}").map_err(io::Error::other)?;
        }
        writeln!(source, "]);").map_err(io::Error::other)?;
    }
    fs::write(folder("OUT_DIR").join("sdks.rs"), source)
}

fn folder(variable: &str) -> PathBuf {
    std::env::var_os(variable).map(PathBuf::from).unwrap_or_default()
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') || LEFT_OUT.contains(&&*name) || name.ends_with("_test.go") {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => list(&entry.path(), files)?,
            false => files.push(entry.path()),
        }
    }
    Ok(())
}
