//! Commands in `--help` and documents parse; completions and manual pages cover all commands.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use clap::error::ErrorKind;

use super::groups::GROUPS;
use super::renamed::{RENAMED, SYNONYMS, rows, variables};

use super::*;

fn commands() -> Vec<clap::Command> {
    let mut command = super::commands();
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
    let error = super::commands().try_get_matches_from(words).err()?;
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
    assert!(wrong(&["dev".to_owned(), "--kubecofig".to_owned()], true).is_some());
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
        clap_complete::generate(*shell, &mut super::commands(), "gyre", &mut script);
        let script = String::from_utf8(script).unwrap();
        let unknown: Vec<&String> = names.iter().filter(|name| !script.contains(name.as_str())).collect();
        assert!(unknown.is_empty(), "{shell} completes no {unknown:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    clap_mangen::generate_to(super::commands(), folder.path()).unwrap();
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
    let named = ["plugin-dir", "reconciler", "delete-parents", "settings", "namespace"];
    let policy = ["adopt", "max-retries", "quarantine-after", "min-requeue-after", "call-deadline", "call-memory"];
    let code = ["code-cache", "compiled"];
    let access = ["registry-credentials", "registry-ca", "insecure-registries"];
    let pulled = [&access[..], &["plugin-cache", "plugin-cache-size"]].concat();
    let opened = [&code[..], &pulled].concat();
    let lasting = ["name", "workers", "no-reload", "tag-interval"];
    let all = [&["config"][..], &named, &policy, &opened, &lasting].concat();
    let offline = [&named[..], &policy, &opened].concat();
    let expected = |command: &str| match command {
        "run" => all.clone(),
        "validate" => all.iter().copied().filter(|flag| *flag != "no-reload").collect(),
        "dev" => [&offline[..], &["config", "workers"]].concat(),
        "rbac" => [&["config", "name"][..], &named, &opened].concat(),
        "render" | "diff" => [&offline[..], &["config"]].concat(),
        "test" | "fuzz" => offline.clone(),
        "values" => [&["settings", "namespace"][..], &opened].concat(),
        "compile" | "crds" | "inspect" | "replay" | "worlds" => opened.clone(),
        "build" => code.to_vec(),
        "push" => [&code[..], &access].concat(),
        "pull" => pulled.clone(),
        "tag" | "sign" | "verify" => access.to_vec(),
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
        super::commands().try_get_matches_from(words).expect_err(line).kind()
    };
    for line in
        ["render it.wasm -f it --name it", "test it.wasm it --config it", "fuzz it.wasm -f it --workers 3", "dev --no-reload"]
    {
        assert_eq!(refused(line), ErrorKind::UnknownArgument, "{line}");
    }
    for command in ["run", "validate", "dev", "render -f it", "diff"] {
        // For `gyre diff`, a plugin is a version of one in the file.
        let plugin = if command == "diff" { "--plugin-dir it" } else { "it.wasm" };
        for other in ["--adopt", plugin, "--namespace it", "--reconciler it", "--delete-parents"] {
            let line = format!("{command} --config it {other}");
            assert_eq!(refused(&line), ErrorKind::ArgumentConflict, "{line}");
        }
    }
}

#[test]
fn every_command_is_in_one_group_and_its_line_is_short() {
    let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    for command in commands() {
        let name = command.get_name();
        assert_eq!(grouped.iter().filter(|grouped| **grouped == name).count(), 1, "{name}");
    }
    let help = super::commands().render_help().to_string();
    let listed = help.lines().take_while(|line| !line.starts_with("Terms:"));
    assert!(listed.clone().all(|line| line.chars().count() <= 100), "{help}");
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: BTreeSet<&str> = names.collect();
    assert!(commands().iter().all(|command| names.contains(command.get_name())), "{help}");
}

#[test]
fn a_variable_is_named_after_its_flag() {
    for command in commands() {
        for argument in command.get_arguments() {
            let (Some(flag), Some(variable)) = (argument.get_long(), argument.get_env()) else { continue };
            let variable = variable.to_str().unwrap();
            // Those of OpenTelemetry are set for all programs.
            let expected = format!("GYRE_{}", flag.replace('-', "_").to_uppercase());
            assert!(variable == expected || variable.starts_with("OTEL_"), "--{flag}: {variable}");
        }
    }
}

/// The error of a command line, with its tips, or `None` if it parses.
fn error_of(line: &str) -> Option<String> {
    let words = super::arguments::as_written_here(line.split(' ').map(OsString::from).collect(), super::commands);
    let error = super::commands().try_get_matches_from(&words).err()?;
    let is_incomplete = matches!(error.kind(), ErrorKind::MissingRequiredArgument | ErrorKind::DisplayVersion);
    (!is_incomplete).then(|| super::arguments::explained(error, &words, super::commands()).to_string())
}

#[test]
fn a_former_spelling_has_an_error_that_names_the_present_one() {
    let mut count = 0;
    for (former, now) in rows(RENAMED).filter(|(former, _)| former.starts_with("gyre ")) {
        count += 1;
        assert_eq!(error_of(now), None, "{now}");
        let error = error_of(former).unwrap_or_else(|| panic!("{former} is accepted"));
        let is_named = error.contains(&format!("`{now}`")) || error.contains(&format!("called `{now}` now"));
        assert!(is_named || error.contains("with a unit"), "{former}: {error}");
    }
    assert!(count > 20, "{count}");
}

#[test]
fn a_former_key_is_refused_and_the_present_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gyre.yaml");
    let problems = |host: &str| {
        fs::write(&file, format!("host: {{{host}}}\nmounts: []\n")).unwrap();
        let sandbox = gyre_sandbox::Sandbox::new(gyre_sandbox::Options::default()).unwrap();
        config::load_file(&file, &sandbox, &[]).err().map(|problems| problems.to_string())
    };
    let keys: Vec<_> = rows(RENAMED).filter(|(former, _)| former.contains(": ")).collect();
    assert!(keys.len() >= 3, "{keys:?}");
    for (former, now) in keys {
        assert_eq!(problems(now), None, "{now}");
        let error = problems(former).unwrap_or_else(|| panic!("{former} is accepted"));
        assert!(error.contains("with a unit"), "{former}: {error}");
    }
}

#[test]
fn a_former_variable_is_read_by_nothing_and_the_present_one_is() {
    let arguments: Vec<clap::Arg> =
        commands().iter().flat_map(|command| command.get_arguments().cloned().collect::<Vec<_>>()).collect();
    let is_read = |variable: &str| arguments.iter().any(|argument| argument.get_env().is_some_and(|env| env == variable));
    assert_eq!(variables().count(), 16);
    for (former, now) in variables() {
        assert!(is_read(now) && !is_read(former), "{former} {now}");
    }
}

#[test]
fn a_word_of_another_program_has_a_tip_that_is_a_command_or_a_flag() {
    for (other, now) in rows(SYNONYMS) {
        let Some(flag) = other.strip_prefix("* ") else {
            let error = error_of(other).unwrap_or_else(|| panic!("{other} is accepted"));
            for alternative in now.split(" or ") {
                assert_eq!(error_of(alternative), None, "{alternative}");
                assert!(error.contains(&format!("`{alternative}`")), "{other}: {error}");
            }
            continue;
        };
        let mut count = 0;
        for command in commands() {
            let name = command.get_name();
            let named = now.split(' ').next().unwrap_or_default();
            let has = |spelling: &str| {
                command.get_arguments().any(|argument| {
                    let short = argument.get_short().map(|short| format!("-{short}"));
                    let long = argument.get_long().map(|long| format!("--{long}"));
                    [short, long].into_iter().flatten().any(|known| known == spelling)
                })
            };
            if now.starts_with("gyre ") || !has(named) {
                continue;
            }
            count += 1;
            // An error about something else, or an alias, is no wrong tip.
            if let Some(error) = error_of(&format!("gyre {name} {flag}")).filter(|error| error.contains("unexpected argument"))
            {
                assert!(error.contains("tip: use `") || error.contains("now"), "gyre {name} {flag}: {error}");
            }
        }
        assert!(count > 0 || now.starts_with("gyre "), "no command has the flag of {other} | {now}");
    }
}

#[test]
fn a_wrong_reference_has_an_error_with_a_remedy() {
    for (line, expected) in [
        ("gyre run oci://registry.example.com/team/echo", "neither a tag nor a digest: add a tag or a digest"),
        ("gyre inspect oci://echo:1.4", "is not the name of a repository: use lower-case letters"),
        ("gyre render https://registry.example.com/echo.wasm echo.yaml", "plugins do not come from https://"),
        ("gyre pull echo.wasm", "does not begin with \"oci://\": write it as oci://HOST/REPOSITORY:TAG"),
    ] {
        let error = error_of(line).unwrap_or_else(|| panic!("{line} is accepted"));
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn a_tip_is_not_about_another_flag() {
    for (line, absent) in [
        ("gyre run --accept", "--adopt"),
        ("gyre render --frobnicate", "tip:"),
        ("gyre frobnicate", "tip:"),
        ("gyre test --config it", "as a value"),
    ] {
        let error = error_of(line).unwrap_or_else(|| panic!("{line} is accepted"));
        assert!(!error.contains(absent), "{line}: {error}");
    }
    for (line, tip) in [
        ("gyre rum", "'run'"),
        ("gyre run --worker 3", "'--workers'"),
        ("gyre run --set a=b", "`--settings`"),
        ("gyre up", "`gyre run`"),
    ] {
        let error = error_of(line).unwrap_or_else(|| panic!("{line} is accepted"));
        assert!(error.contains(tip), "{line}: {error}");
    }
}

/// The first guesses of people who know cargo, kubectl, helm, kwctl and spin.
#[test]
fn first_guesses_are_accepted() {
    let guesses = [
        "gyre new greeter",
        "gyre init greeter --kind Greeting",
        "gyre new greeter --kind Greeting",
        "gyre new --kind Greeting --group example.com",
        "gyre new operators/greeter",
        "gyre build",
        "gyre build plugins/echo",
        "gyre build -o echo.wasm",
        "gyre build --output echo.wasm",
        "gyre test",
        "gyre test .",
        "gyre fuzz",
        "gyre fuzz echo.wasm",
        "gyre generate crd.yaml",
        "gyre generate types -f crd.yaml -o src/certificate.rs",
        "gyre generate crds echo.wasm",
        "gyre gen rbac echo.wasm --namespace team-a",
        "gyre helm values echo.wasm -o values.yaml",
        "gyre chart values echo.wasm",
        "gyre types --crd crd.yaml",
        "gyre check gyre.yaml",
        "gyre types crd.yaml --to src/certificate.rs",
        "gyre codegen crd.yaml --lang rust -o src/certificate.rs",
        "gyre helm-values echo.wasm",
        "gyre helm echo.wasm -o values.yaml",
        "gyre render",
        "gyre dev",
        "gyre dev . -f samples/",
        "gyre dev --kubeconfig admin.kubeconfig",
        "gyre dev . --context staging",
        "gyre status",
        "gyre status --watch",
        "gyre status -w",
        "gyre status -o json",
        "gyre list",
        "gyre mounts -w",
        "gyre values echo.wasm",
        "gyre values echo.wasm -o values.yaml",
        "gyre test echo.wasm cases/",
        "gyre test echo.wasm cases/ --update",
        "gyre test echo.wasm cases/ --accept",
        "gyre render echo.wasm -f echo.yaml",
        "gyre render echo.wasm echo.yaml",
        "gyre run echo.wasm -f echo.yaml --dry-run",
        "gyre preview echo.wasm -f echo.yaml",
        "gyre template echo.wasm --file echo.yaml",
        "gyre render echo.wasm -f echo.yaml -o json",
        "gyre render echo.wasm -f echo.yaml --format json",
        "gyre fuzz echo.wasm -f echo.yaml",
        "gyre fuzz echo.wasm echo.yaml",
        "gyre dev echo.wasm",
        "gyre run a.wasm b.wasm",
        "gyre run a.wasm b.wasm --kubeconfig admin.kubeconfig --context staging",
        "gyre run --config gyre.yaml",
        "gyre run -c gyre.yaml",
        "gyre run -f gyre.yaml",
        "gyre run gyre.yaml",
        "gyre validate gyre.yaml",
        "gyre validate --config gyre.yaml",
        "gyre validate -f gyre.yaml",
        "gyre crds echo.wasm",
        "gyre crd echo.wasm -o yaml",
        "gyre rbac echo.wasm",
        "gyre rbac echo.wasm -o yaml",
        "gyre diff new.wasm",
        "gyre diff old.wasm new.wasm",
        "gyre diff new.wasm --from old.wasm",
        "gyre run old.wasm --shadow new.wasm",
        "gyre codegen crd.yaml",
        "gyre record echo --to calls.jsonl",
        "gyre record echo -o calls.jsonl",
        "gyre replay echo.wasm calls.jsonl",
        "gyre replay calls.jsonl echo.wasm",
        "gyre replay echo.wasm -f calls.jsonl",
        "gyre generate helm-values echo.wasm -o values.yaml",
        "gyre check -c gyre.yaml",
        "gyre ps --watch",
        "gyre get plugins --watch",
        "gyre get mounts",
        "gyre run echo.wasm --call-memory 128Mi --call-deadline 5s",
        "gyre run echo.wasm --memory 128Mi --timeout 5s",
        "gyre run echo.wasm --max-memory 128Mi --deadline 5s",
        "gyre run echo.wasm --namespace team-a",
        "gyre run echo.wasm -n team-a",
        "gyre run echo.wasm --settings echo={}",
        "gyre run echo.wasm --settings {}",
        "gyre run echo.wasm --log-level debug",
        "gyre completions bash",
        "gyre completion zsh",
        "gyre inspect echo.wasm",
        "gyre describe echo.wasm",
        "gyre inspect echo.wasm -o json",
        "gyre inspect oci://registry.example.com/team/echo:1.4",
        "gyre run oci://registry.example.com/team/echo:1.4",
        "gyre render oci://registry.example.com/team/echo:1.4 echo.yaml",
        "gyre diff oci://registry.example.com/team/echo:1.5",
        "gyre run old.wasm --shadow oci://registry.example.com/team/echo:1.5",
        "gyre replay calls.jsonl oci://registry.example.com/team/echo:1.4",
        "gyre push echo.wasm oci://registry.example.com/team/echo:1.4",
        "gyre publish echo.wasm oci://registry.example.com/team/echo:1.4",
        "gyre pull oci://registry.example.com/team/echo:1.4 -o echo.wasm",
        "gyre tag oci://registry.example.com/team/echo:1.4 latest",
        "gyre sign --key cosign.key oci://registry.example.com/team/echo:1.4",
        "gyre verify --key cosign.pub oci://registry.example.com/team/echo:1.4",
    ];
    let wrong: Vec<String> = guesses.iter().filter_map(|line| Some(format!("{line}: {}", error_of(line)?))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_yaml_file_among_the_plugins_is_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gyre.yaml");
    fs::write(&file, "host: {homeNamespace: of-file}\nmounts: []\n").unwrap();
    for (command, flag) in [("run", ""), ("validate", ""), ("run", "--config")] {
        let words = ["gyre", command, flag, file.to_str().unwrap()];
        let parsed = parse(words.iter().filter(|word| !word.is_empty()).map(OsString::from).collect()).unwrap();
        let (mount, host) = match parsed.command {
            Command::Run(arguments) => (arguments.mount, arguments.host),
            Command::Validate(arguments) => (arguments.mount, arguments.host),
            other => panic!("{other:?}"),
        };
        assert_eq!((mount.source.config.as_ref(), host.home_namespace.as_str()), (Some(&file), "of-file"));
    }
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let guides = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let others = [
        "CONTRIBUTING.md",
        "README.md",
        "charts/gyre/README.md",
        "host/src/commands/new/template/rust/README.md",
        "host/src/commands/new/template/go/README.md",
    ];
    guides.chain(others.iter().map(|path| root.join(path))).collect()
}

/// The text of a document, without the table of former names.
fn text_of(document: &Path) -> String {
    let text = fs::read_to_string(document).unwrap();
    let Some((before, rest)) = text.split_once("### Earlier names\n") else { return text };
    before.to_owned() + rest.split_once("\n## ").unwrap().1
}

#[test]
fn the_table_of_former_names_is_in_the_documents() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operating.md")).unwrap();
    let (_, table) = text.split_once("### Earlier names\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let shown: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = rows(RENAMED).map(|(former, now)| format!("| `{former}` | `{now}` |")).collect();
    assert_eq!(shown, expected);
}

#[test]
fn every_gyre_command_in_the_documents_parses() {
    let mut wrong_lines = Vec::new();
    let mut count = 0;
    for path in documents() {
        let text = text_of(&path);
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

const OTHER_FLAGS: [&str; 12] = [
    "--bundle",
    "--engine",
    "--no-check",
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
const OTHER_VARIABLES: [&str; 10] = [
    "DOCKER_CONFIG",
    "COSIGN_PASSWORD",
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
        let text = text_of(&path);
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
