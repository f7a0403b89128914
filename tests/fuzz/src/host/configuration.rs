//! Configuration files, read like `gyre run`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use gyre::config::load_file;
use gyre_core::grants::Namespaces;
use gyre_core::names::is_dns_label;
use gyre_devcluster::random::Random;
use gyre_engine::program::{Policy, Program};
use gyre_input::problem::Problems;
use gyre_sandbox::{Limits, Sandbox};
use serde_json::{Map, Value, json};

use super::plugin::Script;
use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Log, Tally, count, law, shown};

macro_rules! seeds {
    ($($name:literal),* $(,)?) => {
        &[$(include_str!(concat!("../../../../host/src/config/tests/", $name, ".yaml"))),*]
    };
}

const RIGHT: &[&str] = seeds!["anchors", "directory", "everything", "host", "json", "least", "shadow"];
const WRONG: &[&str] = seeds![
    "duplicate-key",
    "host-times",
    "host-wrong",
    "missing-files",
    "no-mounts",
    "no-yaml",
    "same-name",
    "same-parent",
    "settings-by-plugin",
    "settings-by-schema",
    "settings-twice",
    "shadows-that-are-wrong",
    "two-documents",
    "unknown-keys",
    "wider-grants",
    "wrong-types",
];

/// The plugins that the files name: the file, which is the identity, the name and the parent.
const PLUGINS: &[(&str, &str, &str)] = &[
    ("echo.wasm", "echo", "mmontes.io/v1alpha1/Echo"),
    ("plugins/scheduled_echo.wasm", "scheduled-echo", "mmontes.io/v1alpha1/ScheduledEcho"),
    ("choosy.wasm", "choosy", "example.com/v1/Choosy"),
    ("website.wasm", "website", "example.com/v1/Website"),
    ("elsewhere.wasm", "echo", "mmontes.no/v1alpha1/Echo"),
];

const PROBLEM: usize = 3 << 10;
const LARGEST: usize = 1 << 20;

/// The line terminators of any reader.
const LINE_ENDS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

struct Stage {
    sandbox: Sandbox,
    known: Vec<Program>,
}

fn stage() -> Result<&'static Stage, Failure> {
    static STAGE: OnceLock<Result<Stage, String>> = OnceLock::new();
    let made = STAGE.get_or_init(|| {
        let options = gyre_sandbox::Options { concurrent_calls: 1, ..gyre_sandbox::Options::default() };
        let sandbox = Sandbox::new(options).map_err(|error| error.to_string())?;
        let mut known = Vec::new();
        for (file, name, parent) in PLUGINS {
            let schema = json!({ "type": "object", "additionalProperties": false, "properties": {
                "restricted": { "type": "boolean" }, "image": { "type": "string", "minLength": 1, "description": "which image" },
                "greeting": { "enum": ["hello", "forbidden"] }, "list": { "type": "array", "maxItems": 3 },
            } });
            let script = Script { settings_schema: (*name != "website").then_some(schema), ..Script::new(name, parent) };
            let plugin = script.plugin(file).map_err(|failure| failure.to_string())?;
            known.push(Program::new(plugin, Namespaces::All));
        }
        Ok(Stage { sandbox, known })
    });
    made.as_ref().map_err(|error| Failure(error.clone()))
}

/// Loads the file of this seed twice.
pub(crate) fn run(seed: u64, log: &mut dyn Log) -> Result<Tally, Failure> {
    let mut random = Random::new(seed);
    let bytes = file(&mut random);
    log.step(&|| shown(&String::from_utf8_lossy(&bytes)));
    let stage = stage()?;
    let directory = tempfile::tempdir().map_err(|error| Failure(error.to_string()))?;
    let path = furnish(directory.path(), &bytes).map_err(|error| Failure(error.to_string()))?;
    let load = || load_file(&path, &stage.sandbox, &stage.known);
    let loaded = load();
    let mut tally = Tally::new();
    check(directory.path(), &bytes, &loaded, &mut tally)
        .and_then(|()| {
            log.step(&|| "the same file again".to_owned());
            check_same(&loaded, &load())
        })
        .map_err(|failure| Failure(format!("{failure}\n  {}", shown(&String::from_utf8_lossy(&bytes)))))?;
    Ok(tally)
}

fn furnish(directory: &Path, bytes: &[u8]) -> std::io::Result<std::path::PathBuf> {
    fs::create_dir(directory.join("plugins"))?;
    for (file, ..) in PLUGINS {
        fs::write(directory.join(file), file)?;
    }
    fs::write(directory.join("plugins/echo.wasm"), "echo.wasm")?;
    fs::write(directory.join("text.wasm"), "not a component")?;
    fs::write(directory.join("restricted.json"), r#"{"restricted": true}"#)?;
    fs::write(directory.join("settings.json"), r#"{"restrictd": true, "image": ""}"#)?;
    fs::write(directory.join("greeting.json"), r#"{"greeting": "hello"}"#)?;
    let path = directory.join("gyre.yaml");
    fs::write(&path, bytes)?;
    Ok(path)
}

fn file(random: &mut Random) -> Vec<u8> {
    let seeds = if random.chance(0.6) { RIGHT } else { WRONG };
    let seed = *random.pick(seeds);
    let mut bytes = match random.below(10) {
        0..3 => lines(random, seed).into_bytes(),
        3..8 => match serde_saphyr::from_str::<Value>(seed) {
            Ok(mut value) => {
                mutate::structure(random, &mut value);
                // JSON is YAML, except for unpaired surrogates.
                if random.chance(0.9) { value.to_string().into_bytes() } else { mutate::json_text(random, &value) }
            }
            Err(_) => seed.as_bytes().to_vec(),
        },
        8 => yaml(random).into_bytes(),
        _ => seed.as_bytes().to_vec(),
    };
    if random.chance(0.15) {
        mutate::bytes(random, &mut bytes);
    }
    bytes.truncate(LARGEST);
    bytes
}

fn lines(random: &mut Random, seed: &str) -> String {
    let mut lines: Vec<String> = seed.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(4) {
        let (index, other) = (random.size(lines.len()), random.size(lines.len()));
        let Some(line) = lines.get_mut(index) else { continue };
        match random.below(8) {
            0 => drop(lines.remove(index)),
            1 => lines.insert(other, lines[index].clone()),
            2 => lines.swap(index, other),
            3 => line.insert_str(0, "  "),
            4 => *line = line.trim_start().to_owned(),
            5 => line.insert(0, '\t'),
            6 => {
                let value = mutate::text(random);
                *line = format!("{}: {value}", line.split(':').next().unwrap_or_default());
            }
            _ => {
                let value = mutate::value(random);
                *line = format!("{}: {value}", line.split(':').next().unwrap_or_default());
            }
        }
    }
    let end = *random.pick(&["\n", "\n", "\n", "\r\n", "\r"]);
    lines.join(end)
}

/// Returns YAML with expensive or rare features.
fn yaml(random: &mut Random) -> String {
    let mut text = String::new();
    match random.below(9) {
        0 => {
            // Each line contains the previous one several times.
            let (depth, width) = (random.below(40), 1 + random.below(9));
            text.push_str("a0: &a0 [x]\n");
            for level in 1..=depth {
                let items = vec![format!("*a{}", level - 1); width as usize].join(", ");
                let _ = writeln!(text, "a{level}: &a{level} [{items}]");
            }
            let _ = write!(text, "mounts: *a{depth}");
        }
        1 => {
            let depth = random.below(40);
            text.push_str("a0: &a0 {x: 1}\n");
            for level in 1..=depth {
                let _ = writeln!(text, "a{level}: &a{level} {{<<: *a{}, k{level}: *a{}}}", level - 1, level - 1);
            }
            let _ = write!(text, "mounts: [*a{depth}]");
        }
        2 => text = "mounts: &m [*m]".to_owned(),
        3 => {
            let opening = *random.pick(&["[", "{a: ", "- ", "? ", "[[]", "&a [", "!x [", "|\n", "'"]);
            text = format!("mounts: {}", opening.repeat(random.size(20_000)));
        }
        4 => {
            let count = random.size(20_000);
            text = (0..count).map(|number| format!("k{number}: {number}\n")).collect();
        }
        5 => {
            let count = random.size(2_000);
            text = "mounts:\n".to_owned() + &"- plugin: echo.wasm\n".repeat(count);
        }
        6 => {
            let tag = *random
                .pick(&["!!binary", "!!str", "!!int", "!!float", "!!map", "!!set", "!custom", "!<tag:x>", "!!null", "!"]);
            text = format!("mounts: {tag} {}\nname: {tag} \"{}\"", mutate::text(random), mutate::text(random).escape_default());
        }
        7 => {
            let odd = [
                "0x1F",
                "0o17",
                "017",
                "1_000",
                ".inf",
                "-.inf",
                ".nan",
                "~",
                "yes",
                "on",
                "1e400",
                "99999999999999999999",
                "2026-01-01",
                "12:30:45",
                "=",
                "<<",
            ];
            text = format!(
                "defaults: {{workers: {}, maxRetries: {}, minRequeueAfter: {}}}\nmounts: []",
                random.pick(&odd),
                random.pick(&odd),
                random.pick(&odd)
            );
        }
        _ => {
            let style = *random.pick(&["|", ">", "|+", ">-", "|9", ">1-"]);
            let name = "x".repeat(random.size(300_000));
            text = format!("%YAML 1.2\n---\nname: {style}\n  {name}\n\n  {name}\n...\n");
        }
    }
    text
}

type Loaded = Result<Vec<Program>, Problems>;

fn check(directory: &Path, bytes: &[u8], loaded: &Loaded, tally: &mut Tally) -> Result<(), Failure> {
    match loaded {
        Ok(programs) => {
            count(tally, "loaded");
            check_bounds(programs)
        }
        Err(problems) => {
            count(tally, "refused");
            law(!problems.0.is_empty(), || "it is refused, and nothing is wrong".to_owned())?;
            let prefix = format!("{}/", directory.display());
            // Only a file without a readable line is wrong as a whole.
            let lines = std::str::from_utf8(bytes).ok().map(|text| text.split(LINE_ENDS).count());
            problems.0.iter().try_for_each(|problem| check_place(&prefix, lines, &problem.to_string()))
        }
    }
}

fn check_bounds(programs: &[Program]) -> Result<(), Failure> {
    let mut names: Vec<&str> = programs.iter().map(|program| &*program.name).collect();
    for program in programs {
        let Program { name, settings, policy, .. } = program;
        let Policy { limits, workers, max_retries, quarantine_after, .. } = policy;
        law(is_dns_label(name), || format!("a mount is called {name:?}"))?;
        law((1..=256).contains(workers), || format!("{workers} workers"))?;
        law(*max_retries != Some(0) && *quarantine_after != Some(0), || format!("{max_retries:?}, {quarantine_after:?}"))?;
        let Limits { memory_bytes, output_depth, .. } = limits;
        law((1 << 20..=1 << 30).contains(memory_bytes) && (1..=128).contains(output_depth), || format!("{limits:?}"))?;
        let settings = serde_json::from_slice::<Map<String, Value>>(settings);
        law(settings.is_ok(), || format!("the settings of {name}: {settings:?}"))?;
    }
    names.sort_unstable();
    names.dedup();
    law(names.len() == programs.len(), || format!("{} programs are called {names:?}", programs.len()))
}

/// Checks that a problem is one short line, which begins with a file and one of its lines, if any.
fn check_place(prefix: &str, lines: Option<usize>, text: &str) -> Result<(), Failure> {
    law(text.len() <= PROBLEM, || format!("{} bytes are said of a problem: {}", text.len(), shown(text)))?;
    law(!text.contains(char::is_control), || format!("control characters in {text:?}"))?;
    let rest = text.strip_prefix(prefix).ok_or_else(|| Failure(format!("it names no file: {text}")))?;
    let Some(rest) = rest.strip_prefix("gyre.yaml:") else { return Ok(()) };
    let mut parts = rest.split(':').map(|part| part.parse::<usize>().ok());
    match (lines, parts.next().flatten(), parts.next().flatten()) {
        (None, ..) => Ok(()),
        (Some(lines), Some(line), Some(column)) => {
            law((1..=lines + 1).contains(&line) && column >= 1, || format!("there are {lines} lines: {text}"))
        }
        _ => Err(Failure(format!("it names no line: {text}"))),
    }
}

fn check_same(one: &Loaded, other: &Loaded) -> Result<(), Failure> {
    let is_same = match (one, other) {
        (Ok(one), Ok(other)) => one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_same(other)),
        (Err(one), Err(other)) => one == other,
        _ => false,
    };
    law(is_same, || "it means something else when it is read again".to_owned())
}
