//! The programs of a release, for each target that this machine can compile for.

use std::path::PathBuf;

use anyhow::ensure;

use super::archive::{self, Entry};
use super::{Release, Skipped, machine};
use crate::build;
use crate::steps;
use crate::toolchain;

/// The targets of a release.
pub(super) const TARGETS: [&str; 4] =
    ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "aarch64-apple-darwin"];

/// The end of the targets whose programs Apple's linker links.
const APPLE: &str = "-apple-darwin";

/// A program of a release.
struct Program {
    name: &'static str,
    /// The arguments of Cargo.
    arguments: &'static [&'static str],
    /// The folder of the profile in Cargo's target folder.
    profile: &'static str,
    is_built_for: fn(&str) -> bool,
}

const PROGRAMS: [Program; 2] = [
    Program { name: "gyre", arguments: &["--release"], profile: "release", is_built_for: |_| true },
    // The one of the image, without the tools.
    Program {
        name: "gyre-in-cluster",
        arguments: &["--profile", "image", "--no-default-features"],
        profile: "image",
        is_built_for: |target| !target.ends_with(APPLE),
    },
];

/// How programs of a target are compiled here.
#[derive(Debug, PartialEq, Eq)]
enum Ability {
    /// It is the target of this machine.
    Native,
    /// For another target, with this linker, or with the compiler's own choice.
    Cross(Option<String>),
    /// Not at all, for this reason.
    Lacks(String),
}

/// Compiles and packs the programs.
pub(super) fn make(release: &Release) -> anyhow::Result<Vec<Skipped>> {
    let host = machine::host()?;
    let mut skipped = Vec::new();
    for target in &release.targets {
        let linker = Some(linker(target)).filter(|linker| machine::on_path(linker).is_some());
        let ability = ability(target, &host, toolchain::has_target(target)?, linker);
        for program in PROGRAMS.iter().filter(|program| (program.is_built_for)(target)) {
            let name = format!("{}-{}-{target}.tar.gz", program.name, release.version);
            match &ability {
                Ability::Lacks(reason) => skipped.push(Skipped::new(name, reason)),
                Ability::Native | Ability::Cross(_) => {
                    let path = compile(program, target, &ability)?;
                    if ability == Ability::Native {
                        let said = steps::stdout_of(machine::command(&path, build::root()).arg("--version"))?;
                        ensure!(said.contains(&release.version), "{} says that it is {}", path.display(), said.trim());
                    }
                    let license = build::root().join("LICENSE");
                    let entries = [
                        Entry { name: "gyre", path: &path, mode: 0o755 },
                        Entry { name: "LICENSE", path: &license, mode: 0o644 },
                    ];
                    archive::write(&release.file(&name), &entries, release.commit.seconds)?;
                }
            }
        }
    }
    Ok(skipped)
}

/// Compiles a program, and says where it is.
fn compile(program: &Program, target: &str, ability: &Ability) -> anyhow::Result<PathBuf> {
    let mut command = build::cargo(&["build", "--locked", "--package", "gyre", "--bin", "gyre"]);
    command.args(program.arguments);
    let mut folder = build::target_folder()?;
    // Without the option for the machine's own target, what other commands have compiled is used.
    if let Ability::Cross(linker) = ability {
        command.args(["--target", target]);
        folder.push(target);
        if let Some(linker) = linker {
            command.env(linker_variable(target), linker);
        }
    }
    steps::run(&mut command)?;
    Ok(folder.join(program.profile).join("gyre"))
}

/// Returns how programs of a target are compiled. `linker` is the one of [`linker`], if it exists.
fn ability(target: &str, host: &str, has_target: bool, linker: Option<String>) -> Ability {
    let is_apple = |triple: &str| triple.ends_with(APPLE);
    if target == host {
        return Ability::Native;
    }
    if is_apple(target) && !is_apple(host) {
        return Ability::Lacks("Apple's linker and libraries exist on macOS alone".to_owned());
    }
    if !has_target {
        return Ability::Lacks(format!("this Rust lacks the target: `rustup target add {target}`"));
    }
    match linker {
        _ if is_apple(target) => Ability::Cross(None),
        Some(linker) => Ability::Cross(Some(linker)),
        None => Ability::Lacks(format!("there is no {} on PATH", self::linker(target))),
    }
}

/// Returns the name of the compiler of C that links for a target of Linux.
fn linker(target: &str) -> String {
    format!("{}-linux-gnu-gcc", target.split('-').next().unwrap_or(target))
}

/// Returns the variable by which Cargo gets a linker.
fn linker_variable(target: &str) -> String {
    format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_target_is_compiled_where_there_is_a_linker_for_it() {
        let [intel, arm, old_mac, mac] = TARGETS;
        let gcc = || Some(linker(arm));
        assert_eq!(gcc().as_deref(), Some("aarch64-linux-gnu-gcc"));
        assert_eq!(ability(intel, intel, true, None), Ability::Native);
        assert_eq!(ability(arm, intel, true, gcc()), Ability::Cross(gcc()));
        assert_eq!(ability(old_mac, mac, true, None), Ability::Cross(None));
        for (target, host, has_target, linker, expected) in [
            (arm, intel, false, gcc(), "rustup target add aarch64-unknown-linux-gnu"),
            (arm, intel, true, None, "no aarch64-linux-gnu-gcc"),
            (mac, intel, true, None, "macOS alone"),
            (intel, mac, true, None, "no x86_64-linux-gnu-gcc"),
        ] {
            let Ability::Lacks(reason) = ability(target, host, has_target, linker) else { panic!("{target} on {host}") };
            assert!(reason.contains(expected), "{reason}");
        }
    }

    /// A container in which the programs do not build is found before a tag.
    #[test]
    fn ci_builds_programs_in_the_container_of_the_release() {
        let workflow = |name: &str| std::fs::read_to_string(build::root().join(".github/workflows").join(name)).unwrap();
        let containers = |name: &str| -> BTreeSet<String> {
            let text = workflow(name);
            let named = text.split("container: \"").skip(1).filter_map(|rest| rest.split('"').next());
            named.filter(|container| !container.is_empty()).map(str::to_owned).collect()
        };
        let released = containers("release.yaml");
        assert_eq!(released.len(), 1, "{released:?}");
        assert_eq!(containers("ci.yaml"), released);
    }

    #[test]
    fn the_program_of_clusters_is_built_for_linux() {
        let of = |name: &str| -> Vec<&str> {
            let program = PROGRAMS.iter().find(|program| program.name == name).unwrap();
            TARGETS.into_iter().filter(|target| (program.is_built_for)(target)).collect()
        };
        assert_eq!(of("gyre"), TARGETS);
        assert_eq!(of("gyre-in-cluster"), TARGETS[..2]);
        assert_eq!(linker_variable(TARGETS[1]), "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER");
    }
}
