use std::fs;
use std::path::{Path, PathBuf};

use gyre_chart_tests::helm::{self, Helm, Release};
use gyre_chart_tests::{blessing, chart, golden, root};

use crate::laws;

pub(crate) fn folders(of: &str) -> Vec<PathBuf> {
    let folder = root().join("tests/chart").join(of);
    let mut folders: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(folders.len() > 5, "{folders:?}");
    folders
}

pub(crate) fn render(helm: &Helm, case: &Path) -> String {
    let release = Release::of(&case.join("values.yaml")).unwrap();
    helm.template(&release).unwrap().unwrap_or_else(|error| panic!("{}: {error}", case.display()))
}

#[test]
fn the_chart_is_without_lint() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let output = helm.command(&["lint", "--strict", "--quiet"]).arg(chart()).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("[WARNING]") && !said.contains("[ERROR]"), "{said}");
    Ok(())
}

#[test]
fn values_render_to_what_is_expected() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let dashboard = "dashboards/gyre.json";
    let files = [(dashboard, fs::read_to_string(chart().join(dashboard))?.trim().to_owned() + "\n")];
    let objects = |rendered: &str| golden::by_name(&helm::documents(rendered)?, &files);
    let default = root().join("tests/chart/cases/default");
    if blessing() {
        fs::write(default.join("expected.yaml"), without_trailing_space(&render(&helm, &default)))?;
    }
    let whole = objects(&fs::read_to_string(default.join("expected.yaml"))?)?;
    let mut wrong = Vec::new();
    for case in folders("cases") {
        let rendered = render(&helm, &case);
        for said_by_go in ["<no value>", "<nil>", "%!"] {
            assert!(!rendered.contains(said_by_go), "{}: {said_by_go}", case.display());
        }
        let rendered = objects(&rendered)?;
        let path = case.join("difference.yaml");
        if blessing() && case != default {
            fs::write(&path, serde_saphyr::to_string(&golden::difference(&whole, &rendered))?)?;
        }
        let difference = fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
        let expected = golden::apply(&serde_saphyr::from_str(&difference)?, &whole);
        if rendered != expected {
            let difference = serde_saphyr::to_string(&golden::difference(&expected, &rendered))?;
            wrong.push(format!("{}: differs from what is expected in\n{difference}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "GYRE_BLESS=1 writes down what comes out:\n{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn wrong_values_are_refused_with_a_reason() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let mut wrong = Vec::new();
    for case in folders("wrong") {
        let release = Release::of(&case.join("values.yaml"))?;
        let error = match helm.template(&release)? {
            Ok(_) => {
                wrong.push(format!("{}: is rendered", case.display()));
                continue;
            }
            Err(error) => reason(&error),
        };
        let path = case.join("expected.txt");
        if blessing() {
            fs::write(&path, &error)?;
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if error != expected {
            wrong.push(format!("{}: refused with\n{error}expected\n{expected}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "GYRE_BLESS=1 writes down what comes out:\n{}", wrong.join("\n"));
    Ok(())
}

/// Returns the lines of a helm error about values, without places and sorted.
fn reason(error: &str) -> String {
    let error = error.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with("Use --debug"));
    let mut lines: Vec<&str> = error.map(|line| line.split_once("): ").map_or(line, |(_, reason)| reason)).collect();
    lines.sort_unstable();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn without_trailing_space(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn everything_that_is_rendered_keeps_the_laws() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    for case in folders("cases") {
        let objects = helm::documents(&render(&helm, &case))?;
        let broken = laws::broken(&objects);
        assert!(broken.is_empty(), "{}:\n{}", case.display(), broken.join("\n"));
    }
    Ok(())
}

/// A Deployment's selector is immutable, and the Lease separates old and new while both run.
#[test]
fn an_upgrade_from_echoperator_replaces_its_objects() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let objects = helm::documents(&render(&helm, &root().join("tests/chart/cases/echoperator-upgrade")))?;
    let find = |kind: &str, name: &str| {
        let found = objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("no {kind} {name}"))
    };
    let selector = serde_json::json!({"app.kubernetes.io/name": "echoperator", "app.kubernetes.io/instance": "echoperator"});
    assert_eq!(find("Deployment", "echoperator")["spec"]["selector"]["matchLabels"], selector);
    assert_eq!(find("Deployment", "echoperator")["spec"]["replicas"], 5);
    assert_eq!(find("Service", "echoperator-metrics")["spec"]["selector"], selector);
    assert_eq!(find("Service", "echoperator-metrics")["spec"]["ports"][0]["name"], "metrics");
    assert_eq!(find("ServiceMonitor", "echoperator")["metadata"]["namespace"], "observability");
    assert_eq!(find("ServiceMonitor", "echoperator")["metadata"]["labels"]["release"], "prometheus");
    find("ServiceAccount", "echoperator");
    find("ClusterRole", "echoperator");
    let environment = serde_json::json!({
        "GYRE_HOME_NAMESPACE": helm::NAMESPACE,
        "GYRE_WORKERS": "8",
        "GYRE_HA": "true",
        "GYRE_HA_LEASE_NAME": "echoperator",
        "GYRE_HA_LEASE_DURATION": "30s",
        "GYRE_HA_RENEW_DEADLINE": "20s",
        "GYRE_HA_RETRY_PERIOD": "4s",
        "GYRE_HA_SCOPE": "host",
        "GYRE_METRICS": "true",
        "GYRE_METRICS_PATH": "/prometheus",
        "GYRE_METRICS_PORT": "9100",
        "GYRE_LOG_FORMAT": "json",
        "GYRE_LOG_LEVEL": "debug",
    });
    assert_eq!(find("ConfigMap", "echoperator")["data"], environment);
    Ok(())
}

/// The chart extends `config`, and helm validates the result by the host's schema.
#[test]
fn the_rendered_configuration_matches_its_schema() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    for case in folders("cases") {
        let objects = helm::documents(&render(&helm, &case))?;
        let files: Vec<&str> = objects.iter().filter_map(|object| object["data"]["gyre.yaml"].as_str()).collect();
        let [file] = files[..] else { panic!("{}: {} configurations", case.display(), files.len()) };
        let indented: String = file.lines().map(|line| format!("  {line}\n")).collect();
        let values = tempfile::NamedTempFile::new()?;
        fs::write(values.path(), format!("config:\n{indented}"))?;
        let result = helm.template(&Release::of(values.path())?)?;
        assert!(result.is_ok(), "{}: {result:?}\n{file}", case.display());
    }
    Ok(())
}

/// Returns the notes that helm prints after an installation.
fn notes(helm: &Helm, values: &serde_json::Value) -> anyhow::Result<String> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), values.to_string())?;
    let mut command = helm.command(&["install", "gyre", "--dry-run=client", "--namespace", helm::NAMESPACE, "--values"]);
    let output = command.arg(file.path()).arg(chart()).output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    Ok(text.split_once("NOTES:\n").map(|(_, notes)| notes.to_owned()).unwrap_or_default())
}

#[test]
fn the_notes_propose_an_echo_only_where_it_is_reconciled() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let greeter = serde_json::json!({"name": "greeter", "configMap": {"name": "greeter"}});
    let mounts = |mounts: serde_json::Value| serde_json::json!({"config": {"mounts": mounts}, "plugins": [greeter]});
    for (values, namespace) in [
        (serde_json::json!({}), Some("default")),
        (serde_json::json!({"namespaces": ["team-a", "team-b"]}), Some("team-a")),
        (serde_json::json!({"crds": {"enabled": false}}), None),
        (mounts(serde_json::json!([])), None),
        (mounts(serde_json::json!([{"plugin": "/plugins/xca.wasm"}])), None),
        (mounts(serde_json::json!([{"plugin": "/plugins/echo.wasm", "namespaces": ["team-c"]}])), Some("team-c")),
        (mounts(serde_json::json!([{"plugin": "/plugins/echo.wasm", "selector": "a=b"}])), None),
        (serde_json::json!({"config": {"mounts": [], "pluginDirectory": "/plugins"}}), Some("default")),
    ] {
        let notes = notes(&helm, &values)?;
        assert!(notes.contains("rollout status"), "{notes}");
        let proposed = notes.lines().find_map(|line| line.trim().strip_suffix("get echos,jobs"));
        let expected = namespace.map(|namespace| format!("kubectl --namespace {namespace} "));
        assert_eq!(proposed, expected.as_deref(), "{values}: {notes}");
        assert_eq!(notes.contains("\"kind\": \"Echo\""), namespace.is_some(), "{values}: {notes}");
    }
    Ok(())
}

/// Two or three small plugins fit; what cannot is refused before Helm tries to store it.
#[test]
fn binaries_that_helm_cannot_store_are_refused() -> anyhow::Result<()> {
    let Some(helm) = Helm::or_skip()? else { return Ok(()) };
    let binary = |kilobytes: usize| format!("AGFzb{}", "Q".repeat(kilobytes * 4000 / 3 - 5));
    let rendered = |sizes: &[usize]| -> anyhow::Result<Result<String, String>> {
        let plugins: Vec<serde_json::Value> = sizes
            .iter()
            .enumerate()
            .map(|(index, size)| serde_json::json!({"name": format!("p{index}"), "binary": binary(*size)}))
            .collect();
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), serde_json::json!({"plugins": plugins}).to_string())?;
        helm.template(&Release::of(file.path())?)
    };
    assert!(rendered(&[200, 200, 200])?.is_ok());
    for sizes in [&[800][..], &[400, 400], &[250, 250, 250]] {
        let error = rendered(sizes)?.expect_err("it does not fit");
        assert!(error.contains("a Secret of at most 1 MiB") && error.contains("p0"), "{sizes:?}: {error}");
    }
    Ok(())
}
