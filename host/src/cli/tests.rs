//! Commands in `--help` and documents parse; completions and manual pages cover all commands.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use clap::error::ErrorKind;

use super::*;

fn commands() -> Vec<clap::Command> {
    let mut command = Gyre::command();
    command.build();
    command.get_subcommands().filter(|command| command.get_name() != "help").cloned().collect()
}

fn programs(line: &str) -> Vec<Vec<String>> {
    let mut programs = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => word.get_or_insert_default().extend(letters.by_ref().take_while(|next| *next != letter)),
            '#' if word.is_none() => break,
            '|' | '&' | ';' | '(' | ')' => {
                programs.last_mut().unwrap().extend(word.take());
                programs.push(Vec::new());
            }
            ' ' | '>' | '<' => {
                programs.last_mut().unwrap().extend(word.take());
                if letter != ' ' {
                    // The target of a redirection is not an argument.
                    while letters.next_if(|next| *next == ' ' || *next == '>').is_some() {}
                    while letters.next_if(|next| *next != ' ').is_some() {}
                }
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    programs.last_mut().unwrap().extend(word);
    programs.retain(|words| !words.is_empty());
    programs
}

fn gyres(line: &str) -> Vec<Vec<String>> {
    let arguments = |words: Vec<String>| {
        let is_gyre = |word: &String| ["gyre", "/gyre"].contains(&word.as_str());
        let is_variable = |word: &String| word.split_once('=').is_some_and(|(name, _)| name == name.to_uppercase());
        let program = words.iter().position(|word| !is_variable(word))?;
        let inside = words.iter().position(|word| word == "--").map_or(program, |dashes| dashes + 1);
        words.get(inside).filter(|word| is_gyre(word))?;
        Some(words.get(inside + 1..).unwrap_or_default().to_vec())
    };
    programs(line).into_iter().filter_map(arguments).collect()
}

/// The error in the arguments of a `gyre`, if any; `incomplete` ones may lack required arguments.
fn wrong(arguments: &[String], incomplete: bool) -> Option<String> {
    let words = std::iter::once("gyre".to_owned()).chain(arguments.iter().cloned());
    let error = Gyre::command().try_get_matches_from(words).err()?;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        ErrorKind::MissingRequiredArgument | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if incomplete => None,
        _ => Some(format!("gyre {}: {error}", arguments.join(" "))),
    }
}

#[test]
fn the_commands_of_the_feature_are_known_where_it_is_absent() {
    let tools = tools::Tool::augment_subcommands(clap::Command::new("gyre"));
    let names: Vec<&str> = tools.get_subcommands().map(clap::Command::get_name).collect();
    assert_eq!(names, absent::TOOLS);
}

#[test]
fn commands_that_documents_run_in_a_container_exist() {
    let texts: Vec<String> = documents().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let run = texts.iter().flat_map(|text| text.split(" /gyre ").skip(1)).filter_map(|rest| rest.split_whitespace().next());
    let run: BTreeSet<&str> = run.collect();
    assert!(run.contains("record") && run.contains("shadow"), "{run:?}");
    assert!(!run.iter().any(|name| absent::TOOLS.contains(name)), "{run:?}");
}

#[test]
fn command_lines_are_split_as_by_a_shell() {
    assert_eq!(programs("a 'b c' \"d\" | e > f # g"), [vec!["a", "b c", "d"], vec!["e"]]);
    assert_eq!(programs("a=1 b -c=d && e >> f g"), [vec!["a=1", "b", "-c=d"], vec!["e", "g"]]);
    assert_eq!(gyres("A=1 gyre run | kubectl exec it -- /gyre record echo > it"), [vec!["run"], vec!["record", "echo"]]);
    assert!(wrong(&["dev".to_owned(), "--plugn".to_owned()], true).is_some());
}

#[test]
fn every_command_has_examples_and_they_parse() {
    let mut wrong_examples = Vec::new();
    for command in commands() {
        let name = command.get_name();
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let (_, examples) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{name} has no examples"));
        let lines: Vec<&str> = examples.lines().take_while(|line| line.starts_with("  ")).collect();
        let shown: Vec<Vec<String>> = lines.iter().flat_map(|line| gyres(line)).collect();
        assert!(shown.iter().any(|arguments| arguments.first().is_some_and(|first| first == name)), "{name}: {lines:?}");
        wrong_examples.extend(shown.iter().filter_map(|arguments| wrong(arguments, false)));
    }
    assert!(wrong_examples.is_empty(), "{}", wrong_examples.join("\n"));
}

#[test]
fn completions_and_manual_pages_are_made_for_every_command() {
    let names: BTreeSet<String> = commands().iter().map(|command| command.get_name().to_owned()).collect();
    for shell in clap_complete::Shell::value_variants() {
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut Gyre::command(), "gyre", &mut script);
        let script = String::from_utf8(script).unwrap();
        let unknown: Vec<&String> = names.iter().filter(|name| !script.contains(name.as_str())).collect();
        assert!(unknown.is_empty(), "{shell} completes no {unknown:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    clap_mangen::generate_to(Gyre::command(), folder.path()).unwrap();
    for command in commands() {
        let page = fs::read_to_string(folder.path().join(format!("gyre-{}.1", command.get_name()))).unwrap();
        // groff puts backslashes before hyphens.
        let page = page.replace('\\', "");
        let options = command.get_arguments().filter(|argument| !argument.is_hide_set()).filter_map(clap::Arg::get_long);
        let missing: Vec<&str> = options.filter(|option| !page.contains(&format!("--{option}"))).collect();
        assert!(page.contains(".TH") && missing.is_empty(), "the page of {} lacks {missing:?}", command.get_name());
        assert!(page.contains("Examples:"), "{page}");
    }
}

#[test]
fn a_command_has_the_flags_of_mounts_that_act_there_and_refuses_the_others() {
    let named = ["plugin", "plugin-dir", "settings", "namespace"];
    let policy = ["adopt", "max-retries", "quarantine-after", "min-requeue-after", "call-deadline", "call-memory"];
    let code = ["code-cache", "compiled"];
    let lasting = ["name", "workers", "no-reload"];
    let all = [&["config"][..], &named, &policy, &code, &lasting].concat();
    let offline = [&named[..], &policy, &code].concat();
    let expected = |command: &str| match command {
        "run" => all.clone(),
        "dev" => [&offline[..], &["config", "workers"]].concat(),
        "rbac" => [&["config", "name"][..], &named, &code].concat(),
        "render" | "diff" => [&offline[..], &["config"]].concat(),
        "test" | "check" => offline.clone(),
        "compile" | "crds" | "inspect" | "replay" => code.to_vec(),
        _ => vec![],
    };
    for command in commands() {
        let name = command.get_name();
        let there = |flag: &&str| command.get_arguments().any(|argument| argument.get_long() == Some(flag));
        let expected = expected(name);
        let found: BTreeSet<&str> = all.iter().copied().filter(there).collect();
        assert_eq!(found, expected.into_iter().collect(), "{name}");
    }
    let refused = |line: &str| {
        let words = ["gyre"].into_iter().chain(line.split(' '));
        Gyre::command().try_get_matches_from(words).expect_err(line).kind()
    };
    for line in
        ["render it.wasm -f it --name it", "test it.wasm it --config it", "check it.wasm -f it --workers 3", "dev --no-reload"]
    {
        assert_eq!(refused(line), ErrorKind::UnknownArgument, "{line}");
    }
    for command in ["run", "dev", "render -f it", "diff"] {
        for other in ["--adopt", "--plugin it", "--namespace it"] {
            let line = format!("{command} --config it {other}");
            assert_eq!(refused(&line), ErrorKind::ArgumentConflict, "{line}");
        }
    }
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let guides = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let others = ["CONTRIBUTING.md", "README.md", "charts/gyre/README.md", "host/src/commands/new/template/README.md"];
    guides.chain(others.iter().map(|path| root.join(path))).collect()
}

#[test]
fn every_gyre_command_in_the_documents_parses() {
    let mut wrong_lines = Vec::new();
    let mut count = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        let mut is_code = false;
        for line in text.lines() {
            // A block in a list is indented.
            let line = line.trim_start();
            if line.starts_with("```") {
                is_code = !is_code;
            }
            // A sentence may name a command without its required arguments.
            let shown: Vec<(&str, bool)> = match line.strip_prefix("$ ") {
                Some(command) if is_code => vec![(command, false)],
                _ if is_code => vec![],
                _ => line.split('`').skip(1).step_by(2).map(|span| (span, true)).collect(),
            };
            for (command, incomplete) in shown {
                for arguments in gyres(command) {
                    count += 1;
                    wrong_lines.extend(wrong(&arguments, incomplete).map(|error| format!("{}: {error}", path.display())));
                }
            }
        }
    }
    assert!(wrong_lines.is_empty(), "{}", wrong_lines.join("\n"));
    assert!(count > 40, "the documents show {count} commands");
}

const OTHER_FLAGS: [&str; 9] = [
    "--take-ownership",
    "--force-conflicts",
    "--show-managed-fields",
    "--cascade",
    "--set-file",
    "--help",
    "--version",
    "--bump-revision",
    "--mark-compacted",
];
const OTHER_VARIABLES: [&str; 8] = [
    "KUBEBUILDER_ASSETS",
    "USE_EXISTING_CLUSTER",
    "PROPTEST_RNG_SEED",
    "GYRE_BLESS",
    "KUBECONFIG",
    "RUSTUP_AUTO_INSTALL",
    "HTTPS_PROXY",
    "NO_PROXY",
];

#[test]
fn every_flag_and_variable_in_the_documents_exists() {
    let commands = commands();
    let arguments: Vec<&clap::Arg> = commands.iter().flat_map(clap::Command::get_arguments).collect();
    let flags: BTreeSet<&str> = arguments.iter().filter_map(|argument| argument.get_long()).collect();
    let variables: BTreeSet<&str> = arguments.iter().filter_map(|argument| argument.get_env()?.to_str()).collect();
    let mut unknown = Vec::new();
    let mut count = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        for span in
            text.lines().filter(|line| !line.trim_start().starts_with("$ ")).flat_map(|line| line.split('`').skip(1).step_by(2))
        {
            let word = span.split([' ', '=']).next().unwrap_or_default();
            let is_variable = word.contains('_') && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
            let is_known = match word.strip_prefix("--") {
                Some(flag) => flags.contains(flag) || OTHER_FLAGS.contains(&word),
                None if is_variable => variables.contains(word) || OTHER_VARIABLES.contains(&word),
                None => continue,
            };
            count += 1;
            if !is_known {
                unknown.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    assert!(count > 20, "the documents name {count}");
}
