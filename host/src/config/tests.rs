//! Each configuration has its programs or problems beside it. `GYRE_BLESS=1` rewrites them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use gyre_engine::program::bounds;
use gyre_engine::program::{Policy, Program};
use gyre_input::document::Document;

use super::*;
use crate::config::arguments::mounts::RunMounts;

mod registry;

/// The arguments of `gyre run`.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    mount: RunMounts,
    #[command(flatten)]
    election: ElectionArguments,
}

fn arguments(arguments: &[&str]) -> MountArguments {
    let fixed = ["gyre", "--code-cache", "off"];
    Arguments::try_parse_from(fixed.iter().chain(arguments)).unwrap_or_else(|error| panic!("{error}")).mount.into()
}

fn open(file: &Path, flags: &[&str]) -> Result<Source, Error> {
    let fixed = ["gyre", "--code-cache", "off", "--config", file.to_str().unwrap()];
    let command = with_defaults(Arguments::command(), file);
    let matches = command.try_get_matches_from(fixed.iter().chain(flags)).unwrap_or_else(|error| panic!("{error}"));
    let Arguments { mount, election } = Arguments::from_arg_matches(&matches).unwrap();
    Source::open_host(&mount.into(), &election)
}

fn stage(cases: &Path) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let plugins = directory.path().join("plugins");
    fs::create_dir(&plugins).unwrap();
    fs::copy(gyre_artifacts::ECHO, directory.path().join("echo.wasm")).unwrap();
    fs::copy(gyre_artifacts::SCHEDULED_ECHO, plugins.join("scheduled_echo.wasm")).unwrap();
    fs::copy(gyre_artifacts::ECHO, plugins.join("echo.wasm")).unwrap();
    for (name, plugin) in [
        ("choosy", gyre_artifacts::probes::CHOOSY),
        ("tenants", gyre_artifacts::TENANTS),
        ("twofold", gyre_artifacts::probes::TWOFOLD),
        ("website", gyre_artifacts::WEBSITE),
        ("worldwide", gyre_artifacts::probes::WORLDWIDE),
    ] {
        fs::copy(plugin, directory.path().join(format!("{name}.wasm"))).unwrap();
    }
    let endless = patch(&fs::read(gyre_artifacts::ECHO).unwrap(), "\"type\":\"boolean\"", "\"$ref\":\"#/x\"    ");
    fs::write(directory.path().join("endless.wasm"), endless).unwrap();
    registry::put(&directory.path().join("cache"), registry::REFERENCE, &fs::read(gyre_artifacts::ECHO).unwrap());
    let elsewhere = patch(&fs::read(gyre_artifacts::ECHO).unwrap(), "mmontes.io/v1alpha1", "mmontes.no/v1alpha1");
    fs::write(directory.path().join("elsewhere.wasm"), elsewhere).unwrap();
    let gateway = patch(&fs::read(gyre_artifacts::GATEWAY).unwrap(), "gateway0.1.0", "website0.1.0");
    fs::write(directory.path().join("gateway-called-website.wasm"), gateway).unwrap();
    fs::write(directory.path().join("module.wasm"), b"\0asm\x01\0\0\0").unwrap();
    fs::write(directory.path().join("text.wasm"), "not a component").unwrap();
    for entry in fs::read_dir(cases).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, directory.path().join(path.file_name().unwrap())).unwrap();
    }
    directory
}

fn patch(component: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = component.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
    [&component[..at], to.as_bytes(), &component[at + to.len()..]].concat()
}

fn outcome(directory: &Path, source: Result<Source, Error>) -> String {
    let text = match source {
        Ok(source) => {
            let mut text = format!("deployment {}\n", source.name());
            for Setting { key, text: said } in &source.shared.process.host {
                writeln!(text, "host {key} {said}").unwrap();
            }
            for program in source.programs().iter() {
                write!(text, "{}", describe(program)).unwrap();
            }
            text
        }
        Err(Error::Refused(problems)) => format!("{problems}\n"),
        Err(error) => panic!("{error}"),
    };
    text.replace(&format!("{}/", directory.display()), "")
}

fn describe(program: &Program) -> String {
    let Program {
        name,
        plugin,
        artifact,
        settings,
        policy: Policy { limits, workers, max_retries, quarantine_after, requeue_floor, events, on_conflict, deletion_guard },
        namespaces,
        selector,
        grants,
        reads,
        impersonate,
        shadow,
    } = program;
    format!(
        "{name}: the plugin {}\n{}  settings {}\n  {limits:?}\n  workers {workers}, retries {max_retries:?}, quarantine after \
         {quarantine_after:?}, requeue after {requeue_floor:?}, events {events:?}, on conflict {on_conflict:?}\n  deletions {deletion_guard:?}\n  namespaces {namespaces:?}\n  selector {selector:?}\n  grants {:?}, adoption {:?}\n  writes to {:?}\n  {reads:?}\n  as {}\n{}",
        plugin.manifest().name,
        artifact.iter().map(|artifact| format!("  from {}\n", artifact.reference)).collect::<String>(),
        String::from_utf8_lossy(settings),
        grants.children().map(|child| child.kind.to_string()).collect::<Vec<_>>(),
        grants.adoption(),
        grants.write_namespaces(),
        impersonate.as_ref().map_or("the host".to_owned(), ToString::to_string),
        shadow
            .iter()
            .map(|shadow| format!("  shadow {}", describe(shadow).replace("\n", "\n  ").trim_end_matches(' ')))
            .collect::<String>(),
    )
}

#[test]
fn every_configuration_has_the_outcome_in_its_golden_file() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/tests");
    let directory = stage(&cases);
    let mut inputs: Vec<PathBuf> = fs::read_dir(&cases).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    inputs.sort();
    let mut wrong = Vec::new();
    for input in inputs {
        let staged = directory.path().join(input.file_name().unwrap());
        let found = outcome(directory.path(), open(&staged, &[]));
        let expected = input.with_extension("txt");
        if std::env::var_os("GYRE_BLESS").is_some() {
            fs::write(&expected, &found).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", expected.display()));
        }
    }
    assert!(wrong.is_empty(), "not as expected (GYRE_BLESS=1 takes them):\n{}", wrong.join("\n"));
}

#[test]
fn invalid_times_name_their_key_unless_a_flag_overrides_it() {
    let directory = stage(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/tests"));
    let checked = |host: &str, flags: &[&str]| {
        let file = directory.path().join("times.yaml");
        fs::write(&file, format!("mounts: []\nhost:\n{host}\n")).unwrap();
        let found = outcome(directory.path(), open(&file, flags));
        if found.starts_with("deployment") { "right".to_owned() } else { found }
    };
    let (short, long, ha) = ("  haLeaseDuration: 5s", "  haLeaseDuration: 20s", "  ha: true");
    let of_file = "times.yaml:3:20: host.haLeaseDuration: the lease duration (5s) must be longer than the renew deadline (10s); \
                   change host.haLeaseDuration or host.haRenewDeadline\n";
    assert_eq!(checked(&format!("{short}\n{ha}"), &[]), of_file);
    assert_eq!(checked(short, &["--ha"]), of_file);
    assert_eq!(checked(short, &[]), "right", "nobody is elected");
    assert_eq!(checked(short, &["--ha", "--ha-lease-duration=20s"]), "right");
    let mixed = checked(long, &["--ha", "--ha-renew-deadline=30s"]);
    assert!(mixed.ends_with("change host.haLeaseDuration or --ha-renew-deadline (or GYRE_HA_RENEW_DEADLINE)\n"), "{mixed}");
    // Times of flags are reported when arguments are parsed.
    assert_eq!(checked(ha, &["--ha-lease-duration=5s"]), "right");
}

#[test]
fn configurations_in_the_documents_are_valid() {
    let check = |document: &str, expected: &str| {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(document)).unwrap();
        let example = text.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("plugins")).unwrap();
        fs::copy(gyre_artifacts::ECHO, directory.path().join("echo.wasm")).unwrap();
        let file = directory.path().join("gyre.yaml");
        fs::write(&file, example).unwrap();
        let found = outcome(directory.path(), Source::open(&arguments(&["--config", file.to_str().unwrap()])));
        assert!(found.starts_with(expected), "{document}: {found}");
    };
    check("README.md", "deployment gyre\necho: the plugin echo\n  settings {\"restricted\":true}");
    check("docs/operating.md", "deployment gyre\nhost ha true\nhost logFormat json\necho-team-a: ");
}

#[test]
fn the_limits_in_the_contract_are_those_of_the_code() {
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/contract.md")).unwrap();
    let grouped = |number: u64| {
        let digits = number.to_string();
        let group = |(index, digit): (usize, char)| {
            let begins = index > 0 && (digits.len() - index).is_multiple_of(3);
            if begins { format!(",{digit}") } else { digit.to_string() }
        };
        digits.chars().enumerate().map(group).collect::<String>()
    };
    let bytes = |bytes: u64| match bytes {
        0 => "0".to_owned(),
        bytes if bytes >= 1 << 30 => format!("{} GiB", bytes >> 30),
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes => format!("{} KiB", bytes >> 10),
    };
    let time = |time: &Duration| match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds => format!("{seconds} s"),
    };
    let of_bytes = |range: std::ops::RangeInclusive<u64>| (bytes(*range.start()), bytes(*range.end()));
    let of_count = |range: std::ops::RangeInclusive<u32>| (grouped((*range.start()).into()), grouped((*range.end()).into()));
    let limits = gyre_sandbox::Limits::default();
    assert_eq!((limits.conditions, &bounds::CONDITIONS), (limits.events, &bounds::EVENTS), "they share a row");
    let count = |count: usize| grouped(count as u64);
    for (keys, default, (least, most)) in [
        ("`deadline`", time(&limits.deadline), (time(bounds::DEADLINE.start()), time(bounds::DEADLINE.end()))),
        ("`memory`", bytes(limits.memory_bytes as u64), of_bytes(bounds::MEMORY)),
        ("`output`", bytes(limits.output_bytes as u64), of_bytes(bounds::OUTPUT)),
        ("`outputDepth`", count(limits.output_depth), of_count(bounds::DEPTH)),
        ("`children`", count(limits.children), of_count(bounds::CHILDREN)),
        ("`conditions`, `events`", count(limits.conditions) + " each", of_count(bounds::CONDITIONS)),
        ("`reads`", count(limits.reads), of_count(bounds::READS)),
        ("`readBytes`", bytes(limits.read_bytes as u64), of_bytes(bounds::READ_BYTES)),
        ("`textBytes`", bytes(limits.text_bytes as u64), of_bytes(bounds::TEXT_BYTES)),
        ("`log`", bytes(limits.log_bytes as u64), of_bytes(bounds::LOG)),
        ("`logLines`", count(limits.log_lines), of_count(bounds::LOG_LINES)),
        ("`reuse`", "never".to_owned(), ("never, or 1".to_owned(), grouped((*bounds::REUSE.end()).into()))),
    ] {
        let row = format!("| {keys} | {default} | {least} to {most} | ");
        assert!(guide.contains(&row), "no row begins with: {row}");
    }
    let schema = schema();
    let limits = gyre_input::schema::keys(&schema["$defs"]["limits"]);
    assert!(limits.len() > 10, "{limits:?}");
    for limit in limits {
        assert!(guide.contains(&format!("`{limit}`")), "the limit {limit} is missing");
    }
}

/// Editors do not know the schema's own keywords.
#[test]
fn the_schema_finds_errors_with_a_standard_validator() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/tests");
    let check = |name: &str, expected: bool| {
        let text = fs::read_to_string(cases.join(name)).unwrap();
        let document = Document::parse(DocumentSource::File(name.into()), &text).unwrap();
        assert_eq!(validator.is_valid(&Part::whole(document).node().unwrap().to_json()), expected, "{name}");
    };
    for name in [
        "anchors.yaml",
        "directory.yaml",
        "everything.yaml",
        "host.yaml",
        "json.yaml",
        "least.yaml",
        "nothing-mounted.yaml",
        "registry.yaml",
        "shadow.yaml",
    ] {
        check(name, true);
    }
    for name in [
        "empty.yaml",
        "host-wrong.yaml",
        "no-mounts.yaml",
        "registry-wrong.yaml",
        "scalar.yaml",
        "settings-twice.yaml",
        "shadows-that-are-wrong.yaml",
        "unknown-keys.yaml",
        "wrong-types.yaml",
    ] {
        check(name, false);
    }
}

#[test]
fn flags_result_in_programs() {
    let directory = stage(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config/tests"));
    let path = |name: &str| directory.path().join(name).display().to_string();
    let check = |flags: &[&str], expected: &str| {
        let found = outcome(directory.path(), Source::open(&arguments(flags)));
        assert!(found.contains(expected), "{flags:?}:\n{found}");
    };
    let (echo, plugins, everything) = (path("echo.wasm"), path("plugins"), path("everything.yaml"));
    check(&[&echo], "echo: the plugin echo\n  settings {}\n");
    check(&[&echo, "--adopt", "--namespace", "a"], "adoption Allowed");
    check(&[&echo, "--namespace", "a"], "namespaces Only({\"a\"})");
    check(&[&echo, "--quarantine-after", "never"], "quarantine after None");
    check(&[&echo, "--min-requeue-after", "250ms"], "requeue after 250ms");
    check(&[&echo, "--max-retries", "3", "--workers", "9"], "workers 9, retries Some(3)");
    check(&[&echo, "--call-memory", "10Mi", "--call-deadline", "100ms"], "memory_bytes: 10485760, deadline: 100ms");
    check(&[&echo, "--settings", "echo={\"restricted\":true}"], "settings {\"restricted\":true}");
    check(&[&echo, "--settings", "{\"restricted\":true}"], "settings {\"restricted\":true}");
    check(
        &["--plugin-dir", &plugins, "--settings", "{\"restricted\":true}"],
        "--settings: it does not say which plugin it is for: write its name and = before the object; mounted are echo and scheduled-echo",
    );
    check(&["--plugin-dir", &plugins, "--name", "front"], "deployment front\necho: ");
    check(&["--plugin-dir", &plugins], "scheduled-echo: ");
    check(&["--config", &everything, "--workers", "9"], "echo-b: the plugin echo\n  settings {\"restricted\":true}");
    check(&["--config", &everything, "--workers", "9"], "workers 9, retries Some(10), quarantine after None");
    check(&["--config", &everything, "--workers", "9"], "workers 2, retries None, quarantine after Some(3)");
    check(
        &[&echo, "--settings", "echo={\"restricted\":1}"],
        "--settings echo: restricted: 1 is not of type \"boolean\"; the plugin echo says of it: If true, pods meet",
    );
    check(&[&echo, "--settings", "ecko={}"], "--settings ecko: the plugin ecko is not mounted; mounted are echo\n");
    check(&["none.wasm"], "none.wasm: cannot read the plugin none.wasm: No such file or directory");
    check(
        &[&echo, "--plugin-dir", &plugins],
        "plugins/echo.wasm: a mount is called echo already, at echo.wasm; give this one another name",
    );
    check(&["--config", "none.yaml"], "--config: cannot read none.yaml: No such file or directory");
}

struct Followed {
    directory: tempfile::TempDir,
    programs: channel::Receiver<Arc<[Program]>>,
    reports: tokio::sync::mpsc::UnboundedReceiver<String>,
}

impl Followed {
    fn start() -> Self {
        Self::with_grace(Duration::ZERO)
    }

    fn with_grace(grace: Duration) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("plugins")).unwrap();
        fs::copy(gyre_artifacts::ECHO, directory.path().join("echo.wasm")).unwrap();
        let file = directory.path().join("gyre.yaml");
        fs::write(&file, CONFIGURATION).unwrap();
        let source = Source::open(&arguments(&["--config", file.to_str().unwrap()])).unwrap().with_grace(grace);
        let (sender, programs) = channel::channel(source.programs());
        let (report, reports) = tokio::sync::mpsc::unbounded_channel();
        let send_report = move |reload: Reload<'_>| {
            let _ = report.send(match reload {
                Reload::Taken => "taken".to_owned(),
                Reload::Refused(problems) => problems.to_string(),
                Reload::NotPulled(why) => why.to_owned(),
            });
        };
        tokio::spawn(source.reload_on_changes(Duration::from_secs(1), sender, send_report));
        Self { directory, programs, reports }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.directory.path();
        fs::write(path.join("new"), content).unwrap();
        fs::rename(path.join("new"), path.join(name)).unwrap();
    }

    async fn report(&mut self) -> String {
        let report = tokio::time::timeout(Duration::from_secs(600), self.reports.recv()).await.unwrap().unwrap();
        report.replace(&format!("{}/", self.directory.path().display()), "")
    }

    fn programs(&self) -> Arc<[Program]> {
        Arc::clone(&self.programs.borrow())
    }

    fn names(&self) -> Vec<String> {
        self.programs().iter().map(|program| program.name.to_string()).collect()
    }
}

const CONFIGURATION: &str = "\
pluginDirectory: plugins
mounts:
- {name: one, plugin: echo.wasm, namespaces: [one]}
- {name: two, plugin: echo.wasm, namespaces: [two]}
";

#[tokio::test(start_paused = true)]
async fn a_change_is_taken_and_unchanged_programs_stay_the_same() {
    let mut followed = Followed::start();
    let before = followed.programs();
    followed.write("gyre.yaml", CONFIGURATION.replace("[two]", "[three]"));
    assert_eq!(followed.report().await, "taken");
    let after = followed.programs();
    assert!(Arc::ptr_eq(&before[0].settings, &after[0].settings), "the same program");
    assert!(before[0].is_same(&after[0]) && !before[1].is_same(&after[1]));

    let lax =
        patch(&fs::read(gyre_artifacts::ECHO).unwrap(), "\"additionalProperties\":false", "\"additionalProperties\":true ");
    followed.write("echo.wasm", lax);
    assert_eq!(followed.report().await, "taken");
    assert_ne!(followed.programs()[0].plugin.digest(), before[0].plugin.digest());
}

#[tokio::test(start_paused = true)]
async fn plugins_come_and_go_with_their_directory() {
    let mut followed = Followed::start();
    followed.write("plugins/scheduled.wasm", fs::read(gyre_artifacts::SCHEDULED_ECHO).unwrap());
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["one", "two", "scheduled-echo"]);
    fs::remove_file(followed.directory.path().join("plugins/scheduled.wasm")).unwrap();
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_vanishes_from_its_directory_stays_mounted_for_the_grace_period() {
    let mut followed = Followed::with_grace(PLUGIN_DIR_GRACE);
    let plugin = followed.directory.path().join("plugins/scheduled.wasm");
    let content = fs::read(gyre_artifacts::SCHEDULED_ECHO).unwrap();
    followed.write("plugins/scheduled.wasm", &content);
    assert_eq!(followed.report().await, "taken");
    let mounted = followed.programs();
    let is_silent = |followed: &mut Followed| followed.reports.try_recv().is_err();

    // A file that comes back in time.
    fs::remove_file(&plugin).unwrap();
    tokio::time::sleep(PLUGIN_DIR_GRACE - Duration::from_secs(10)).await;
    followed.write("plugins/scheduled.wasm", &content);
    tokio::time::sleep(PLUGIN_DIR_GRACE * 2).await;
    assert!(is_silent(&mut followed) && Arc::ptr_eq(&mounted, &followed.programs()));

    // Another change is taken meanwhile.
    fs::remove_file(&plugin).unwrap();
    tokio::time::sleep(PLUGIN_DIR_GRACE / 2).await;
    followed.write("gyre.yaml", CONFIGURATION.replace("[two]", "[three]"));
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["one", "two", "scheduled-echo"]);
    assert!(followed.programs()[2].is_same(&mounted[2]));

    let noticed = tokio::time::Instant::now();
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["one", "two"]);
    let passed = noticed.elapsed() + PLUGIN_DIR_GRACE / 2;
    assert!(
        passed >= PLUGIN_DIR_GRACE - Duration::from_secs(5) && passed <= PLUGIN_DIR_GRACE + Duration::from_secs(15),
        "{passed:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_changed_file_has_no_grace_period_and_a_renamed_plugin_is_the_same() {
    let mut followed = Followed::with_grace(PLUGIN_DIR_GRACE);
    let plugins = followed.directory.path().join("plugins");
    followed.write("plugins/scheduled.wasm", fs::read(gyre_artifacts::SCHEDULED_ECHO).unwrap());
    assert_eq!(followed.report().await, "taken");
    let mounted = followed.programs();
    fs::rename(plugins.join("scheduled.wasm"), plugins.join("scheduled-2.wasm")).unwrap();
    tokio::time::sleep(PLUGIN_DIR_GRACE * 2).await;
    assert!(followed.reports.try_recv().is_err() && Arc::ptr_eq(&mounted, &followed.programs()));

    let before = tokio::time::Instant::now();
    followed.write("gyre.yaml", CONFIGURATION.replace("pluginDirectory: plugins\n", ""));
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["one", "two"]);
    assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_vanished_plugin_stays_mounted_beside_the_same_plugin_for_other_namespaces() {
    let configuration = |namespaces: &str| {
        let head = "pluginDirectory: plugins\ndefaults: {namespaces: [b]}\nmounts:\n";
        format!("{head}- {{name: echo-team-a, plugin: echo.wasm, namespaces: [{namespaces}]}}\n")
    };
    let mut followed = Followed::with_grace(PLUGIN_DIR_GRACE);
    let (plugin, content) = ("plugins/echo.wasm", fs::read(gyre_artifacts::ECHO).unwrap());
    followed.write("gyre.yaml", configuration("a"));
    assert_eq!(followed.report().await, "taken");
    followed.write(plugin, &content);
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["echo-team-a", "echo"]);

    let removed = tokio::time::Instant::now();
    fs::remove_file(followed.directory.path().join(plugin)).unwrap();
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["echo-team-a"]);
    assert!(removed.elapsed() >= PLUGIN_DIR_GRACE, "{:?}", removed.elapsed());

    // A mount with a common namespace replaces it at once.
    followed.write(plugin, &content);
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["echo-team-a", "echo"]);
    fs::remove_file(followed.directory.path().join(plugin)).unwrap();
    tokio::time::sleep(PLUGIN_DIR_GRACE / 2).await;
    followed.write("gyre.yaml", configuration("a, b"));
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["echo-team-a"]);
}

#[tokio::test(start_paused = true)]
async fn a_dangling_link_is_left_out_after_its_plugin_was_unmounted() {
    let mut followed = Followed::with_grace(PLUGIN_DIR_GRACE);
    let folder = followed.directory.path().to_owned();
    let content = fs::read(gyre_artifacts::SCHEDULED_ECHO).unwrap();
    followed.write("target", &content);
    symlink("../target", folder.join("plugins/scheduled.wasm")).unwrap();
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["one", "two", "scheduled-echo"]);
    fs::remove_file(folder.join("target")).unwrap();
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["one", "two"]);

    followed.write("gyre.yaml", CONFIGURATION.replace("[two]", "[three]"));
    assert_eq!(followed.report().await, "taken");
    followed.write("target", &content);
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), ["one", "two", "scheduled-echo"]);
}

#[test]
fn a_plugin_is_reported_as_given_up_only_once_it_is_unmounted() {
    let directory = tempfile::tempdir().unwrap();
    let (file, plugins) = (directory.path().join("gyre.yaml"), directory.path().join("plugins"));
    fs::create_dir(&plugins).unwrap();
    fs::copy(gyre_artifacts::ECHO, plugins.join("echo.wasm")).unwrap();
    let right = "pluginDirectory: plugins\nmounts: []\n";
    fs::write(&file, right).unwrap();
    let source = Source::open(&arguments(&["--config", file.to_str().unwrap()])).unwrap();
    fs::remove_file(plugins.join("echo.wasm")).unwrap();
    let load = |text: &str| {
        fs::write(&file, text).unwrap();
        let loaded = source.shared.load(&mut Pulls::default(), &source.programs, &source.directory, Time::default());
        (loaded.result.is_ok(), loaded.scan.given_up)
    };
    assert_eq!(load("pluginDirectory: plugins\nmounts: [{plugin: none.wasm}]\n"), (false, Vec::new()));
    assert_eq!(load(right), (true, vec![plugins.join("echo.wasm")]));
}

/// Updates files like the kubelet: with a new directory, and a link that is replaced.
fn turn(folder: &Path, version: u32, files: &[&str]) {
    let content = folder.join(format!("..{version}"));
    fs::create_dir(&content).unwrap();
    for name in files {
        fs::write(content.join(name), format!("restricted: {}", version.is_multiple_of(2))).unwrap();
    }
    symlink(format!("..{version}"), folder.join("..new")).unwrap();
    fs::rename(folder.join("..new"), folder.join("..data")).unwrap();
    let _ = fs::remove_dir_all(folder.join(format!("..{}", version.wrapping_sub(2))));
}

#[test]
fn all_files_are_loaded_from_one_version_of_a_config_map() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    fs::copy(gyre_artifacts::ECHO, folder.join("echo.wasm")).unwrap();
    let names = ["a.yaml", "b.yaml", "c.yaml", "d.yaml"];
    turn(folder, 0, &names);
    let mut configuration = "mounts:\n".to_owned();
    for name in names {
        symlink(format!("..data/{name}"), folder.join(name)).unwrap();
        let namespace = &name[..1];
        writeln!(configuration, "- {{name: {namespace}, plugin: echo.wasm, namespaces: [{namespace}], settingsFrom: {name}}}")
            .unwrap();
    }
    let file = folder.join("gyre.yaml");
    fs::write(&file, configuration).unwrap();
    let source = Source::open(&arguments(&["--config", file.to_str().unwrap()])).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let mut versions = BTreeSet::new();
    std::thread::scope(|scope| {
        let is_over = &is_over;
        scope.spawn(move || {
            for version in 1.. {
                turn(folder, version, &names);
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
            }
        });
        for _ in 0..500 {
            // Files that changed each time are refused, and read again later.
            let loaded = source.shared.load(&mut Pulls::default(), &source.programs, &Directory::default(), Time::default());
            if let Ok(programs) = loaded.result {
                let settings: BTreeSet<_> = programs.iter().map(|program| Arc::clone(&program.settings)).collect();
                assert_eq!(settings.len(), 1, "{settings:?}");
                versions.extend(settings);
            }
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(versions.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_configuration_is_refused_as_a_whole_until_it_is_corrected() {
    let mut followed = Followed::start();
    let before = followed.programs();
    let without_two = CONFIGURATION.replace("[two]", "[one]");
    for (file, content, expected) in [
        ("gyre.yaml", without_two.as_bytes(), "gyre.yaml:4:3: mounts[1]: the mount one at gyre.yaml:3:3 reconciles Echo"),
        ("gyre.yaml", b"mounts: [", "gyre.yaml:1:9: unclosed"),
        (
            "gyre.yaml",
            b"name: other\nmounts: []",
            "gyre.yaml:1:7: name: the deployment has no name, and cannot get the name other while it runs",
        ),
        (
            "gyre.yaml",
            b"mounts: [{plugin: echo.wasm, limits: {memory: 65Mi}}]",
            "gyre.yaml:1:10: mounts[0]: the memory limit exceeds 64Mi, for which this process was started",
        ),
        ("gyre.yaml", CONFIGURATION.as_bytes(), "taken"),
        (
            "plugins/bad.wasm",
            b"no plugin",
            "plugins/bad.wasm: cannot load the plugin plugins/bad.wasm: the plugin is not WebAssembly",
        ),
    ] {
        followed.write(file, content);
        let report = followed.report().await;
        assert!(report.starts_with(expected), "{report}");
        assert!(Arc::ptr_eq(&before, &followed.programs()), "the programs before go on");
    }
    fs::remove_file(followed.directory.path().join("plugins/bad.wasm")).unwrap();
    assert_eq!(followed.report().await, "taken");
    assert!(Arc::ptr_eq(&before, &followed.programs()), "it says what it said before");
    followed.write("gyre.yaml", "mounts: []");
    assert_eq!(followed.report().await, "taken");
    assert_eq!(followed.names(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn reloading_ends_when_the_receiver_is_dropped() {
    let Followed { mut reports, programs, .. } = Followed::start();
    drop(programs);
    assert_eq!(reports.recv().await, None);
}

#[test]
fn the_documents_list_every_key_under_host() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operating.md")).unwrap();
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("These are the keys under `host`")).collect();
    let table = rows.iter().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|')).skip(2);
    let first = table.map(|row| row.split('|').nth(1).unwrap_or_default());
    let listed: BTreeSet<&str> = first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let flags = process::flags();
    assert_eq!(listed, flags.iter().map(|flag| flag.key.as_str()).collect());
}
