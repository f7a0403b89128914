//! The command line that reproduces a finding.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gyre_engine::difference::to_yaml;
use gyre_offline::cases::START;
use gyre_offline::check::{Finding, Flaw};
use serde_json::Value;

use super::arguments::FuzzArguments;

pub(super) struct Reproduction {
    command: String,
    /// Whether the command reads standard input, whose objects are gone.
    reads_input: bool,
}

impl Reproduction {
    /// The command for a shell as JSON, or `null` if it is not enough.
    pub(super) fn json(&self) -> Value {
        if self.reads_input { Value::Null } else { Value::from(self.command.as_str()) }
    }

    pub(super) fn text(&self) -> String {
        let again = if self.reads_input { " with the same objects on standard input" } else { "" };
        format!("To reproduce it{again}: {}", self.command)
    }
}

pub(super) fn make_folder(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the directory {}; name another with --keep", folder.display()))
}

/// The command that reproduces a finding. With `--keep`, it reads the objects from a file.
pub(super) fn reproduction(arguments: &FuzzArguments, number: usize, finding: &Finding) -> anyhow::Result<Reproduction> {
    let FuzzArguments { files, cases, seed, time, at_most_one, other_builds, keep, report: _, mount } = arguments;
    let files = match keep {
        Some(folder) => vec![kept(folder, number, finding)?],
        None => files.clone(),
    };
    // One call is enough to reproduce these.
    let is_call = finding.flaw.is_fault() || matches!(finding.flaw, Flaw::OutsideManifest | Flaw::InvalidChild);
    let is_rendered = keep.is_some() && is_call;
    let command = if is_rendered { "render" } else { "fuzz" };
    let mut words = ["gyre", command].map(str::to_owned).to_vec();
    words.extend(mount.plugins());
    words.extend(files.iter().flat_map(|file| ["-f".to_owned(), file.display().to_string()]));
    if !is_rendered {
        words.extend([format!("--seed={seed}"), format!("--cases={cases}")]);
        words.extend(at_most_one.iter().map(|kind| format!("--at-most-one={kind}")));
        words.extend(other_builds.iter().map(|other| format!("--other-build={other}")));
    }
    // `gyre render` starts at the current time.
    let time = if is_rendered { Some(time.unwrap_or(START)) } else { *time };
    words.extend(time.map(|time| format!("--time={time}")));
    words.extend(mount.words());
    let command = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    Ok(Reproduction { command, reads_input: files.iter().any(|file| file.as_os_str() == "-") })
}

fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "@%+=:,./_-".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn kept(folder: &Path, number: usize, finding: &Finding) -> anyhow::Result<PathBuf> {
    let file = folder.join(format!("{number}-{}.yaml", finding.flaw.name()));
    let mut text = format!("# {}\n", finding.case.replace('\n', " "));
    for object in &finding.objects {
        text.push_str("---\n");
        text.push_str(&to_yaml(object)?);
    }
    make_folder(folder)?;
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: FuzzArguments,
    }

    #[test]
    fn all_arguments_are_repeated() {
        let given = [
            "--seed=7",
            "--cases=3",
            "--at-most-one=Job",
            "--other-build=other.wasm",
            "--time=2026-02-01T00:00:00Z",
            "--plugin-dir=more",
            r#"--settings=echo={"it's": 1}"#,
            "--namespace=one",
            "--namespace=two",
            "--adopt",
            "--max-retries=5",
            "--quarantine-after=never",
            "--min-requeue-after=1ms",
            "--call-deadline=100ms",
            "--call-memory=32Mi",
        ];
        let words = [&["fuzz", "echo.wasm", "another one.wasm", "-f", "a", "-f", "b c"], &given[..]].concat();
        let finding = Finding { flaw: Flaw::Trap, case: String::new(), what: String::new(), objects: Vec::new() };
        let again = reproduction(&Command::parse_from(&words).arguments, 1, &finding).unwrap();
        let expected: Vec<String> = std::iter::once(&"gyre").chain(&words).map(|word| quoted(word)).collect();
        assert_eq!(again.json(), expected.join(" "));
    }

    #[test]
    fn words_that_a_shell_would_split_are_quoted() {
        for plain in ["a/b-1_c.wasm", "--time=2026-01-01T00:00:00Z", "--settings=echo=1"] {
            assert_eq!(quoted(plain), plain);
        }
        for (word, expected) in
            [("", "''"), ("a b", "'a b'"), ("{\"a\":1}", "'{\"a\":1}'"), ("it's", r"'it'\''s'"), ("$x", "'$x'")]
        {
            assert_eq!(quoted(word), expected);
        }
    }
}
