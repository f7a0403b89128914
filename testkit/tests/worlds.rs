//! Changes to a world, with plugins for tests.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail, and a plugin too")]

mod toy;

use std::time::Duration;

use gyre_sdk::k8s::{ConfigMap, Namespace, Secret};
use gyre_sdk::{
    ChildKind, Cluster, Condition, ConditionStatus, Event, Failure, Kind, Manifest, NoStatus, Object, Plan, Propagation,
    ReadKind, Reconciler, Strategy, log,
};
use gyre_test::{Plugin, Result, World, assert_yaml_eq, assert_yaml_includes, object};
use serde::Deserialize;
use serde_json::{Value, json};

use self::toy::TOY;

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    does: String,
}

#[derive(Default, Deserialize, gyre_sdk::Schema)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    text: String,
}

type Parent = Object<Spec, NoStatus>;

fn manifest(version: &str) -> Manifest {
    Manifest::new("toys", version, TOY).crd(toy::definition())
}

fn config_map(name: &str, text: &str) -> ConfigMap {
    ConfigMap::new(name).with_data([("text", text)])
}

/// Returns a ConfigMap and a Secret, and does what `spec.does` says.
struct First;

impl Reconciler for First {
    type Parent = Parent;
    type Settings = Settings;

    fn manifest() -> Manifest {
        manifest("0.1.0").child::<ConfigMap>(Strategy::Apply).child::<Secret>(Strategy::Apply).reads::<Namespace>()
    }

    fn reconcile(toy: &Parent, settings: &Settings, cluster: &Cluster) -> gyre_sdk::Result<Plan> {
        let name = toy.metadata.name.as_str();
        match toy.spec.does.as_str() {
            "panic" => panic!("as {name} says"),
            "flood" => (0..1_000_000).for_each(|_| log::info("again", &[])),
            "read on" => loop {
                cluster.get::<Namespace>("default")?;
            },
            "read what it may not" => drop(cluster.get::<Secret>("other")?),
            "wait" => return Err(Failure::transient("it takes time").retry_after(Duration::from_secs(7))),
            "stumble" => return Err(Failure::transient("it may work")),
            "say" => return Ok(sayings()),
            "fail" => return Err(Failure::terminal("it does not work")),
            "flap" => {
                return Ok(Plan::no_children()
                    .status(json!({"at": cluster.now().to_second()}))
                    .requeue_after(Duration::from_secs(1)));
            }
            _ => {}
        }
        let written = Condition::new("Ready", true, "Written", "It is written");
        Ok(Plan::children([config_map(name, &settings.text)]).apply(Secret::new(name)).condition(written))
    }

    fn validate_settings(settings: &Settings) -> Result<(), String> {
        if settings.text == "rude" { Err("the text is rude".to_owned()) } else { Ok(()) }
    }
}

fn sayings() -> Plan {
    Plan::no_children()
        .keep_child(ConfigMap::named("bear").in_namespace("default"))
        .condition(Condition::new("One", true, "A", "first"))
        .condition(Condition::new("Two", false, "B", "second"))
        .condition(Condition::new("Three", ConditionStatus::Unknown, "C", "third"))
        .event(Event::normal("Said", "so"))
        .event(Event::warning("Warned", "of it"))
}

/// The next version, which renames one child, drops the other, and needs a finalizer.
struct Second;

impl Reconciler for Second {
    type Parent = Parent;
    type Settings = Settings;

    fn manifest() -> Manifest {
        manifest("0.2.0").child::<ConfigMap>(Strategy::Apply).finalizes()
    }

    fn reconcile(toy: &Parent, settings: &Settings, _: &Cluster) -> gyre_sdk::Result<Plan> {
        Ok(Plan::children([config_map(&format!("{}-2", toy.metadata.name), &settings.text)]))
    }

    fn finalize(toy: &Parent, _: &Settings, cluster: &Cluster) -> gyre_sdk::Result<Plan> {
        let yesterday = cluster.now() - Duration::from_secs(24 * 60 * 60);
        if toy.metadata.deletion_timestamp.is_none_or(|deleted| deleted <= yesterday) {
            return Ok(Plan::finalized());
        }
        let last = Plan::children([config_map(&format!("{}-bye", toy.metadata.name), "good-bye")]);
        Ok(last.requeue_after(Duration::from_secs(60 * 60)))
    }
}

fn toy(does: &str) -> gyre_test::Object {
    object("toys.gyre.dev/v1", "Toy", "default/bear").spec(json!({ "does": does }))
}

#[test]
fn a_new_version_takes_over_and_tears_down_the_children_of_the_old_one() -> Result {
    let mut world = World::of(Plugin::native::<First>()).settings(json!({"text": "hello"})).with(toy("")).start()?;
    world.settle()?.assert_plan(
        "create ConfigMap default/bear
         create Secret default/bear
         status Toy default/bear",
    );
    world.upgrade(Plugin::native::<Second>())?;
    let run = world.settle()?;
    run.assert_plan(
        "finalizers Toy default/bear
         create ConfigMap default/bear-2
         delete ConfigMap default/bear
         delete Secret default/bear
         status Toy default/bear",
    );
    assert_yaml_includes!(run.children(), "[{metadata: {name: bear-2}, data: {text: hello}}]");

    world.delete("Toy bear")?;
    world.settle()?.assert_plan(
        "create ConfigMap default/bear-bye
         delete ConfigMap default/bear-2
         status Toy default/bear",
    );
    world.advance(Duration::from_secs(23 * 60 * 60))?;
    world.settle()?.assert_nothing_done();
    assert!(world.find("Toy bear")?.is_some());
    world.advance(Duration::from_secs(2 * 60 * 60))?;
    world.settle()?;
    let left: Vec<Value> = world.list("ConfigMap")?.into_iter().map(|object| object["metadata"]["name"].clone()).collect();
    assert!(world.find("Toy bear")?.is_none() && left.iter().all(|name| name == "kube-root-ca.crt"), "{left:?}");
    Ok(())
}

#[test]
fn a_component_takes_over_too() -> Result {
    let version = |version| Plugin::from_bytes(&gyre_artifacts::versioned(version).unwrap());
    let parent = object("guests.gyre.dev/v1", "Versioned", "default/hello").spec(json!({"text": "hello"}));
    let mut world = World::of(version(1)?).with(parent).start()?;
    world.settle()?;
    world.upgrade(version(2)?)?;
    world.settle()?.assert_plan(
        "update ConfigMap default/hello-one
         update ConfigMap default/hello-two",
    );
    assert_yaml_includes!(world.get("ConfigMap hello-one")?, "data: {version: '0000000002'}");
    Ok(())
}

#[test]
fn a_reconciler_of_a_component_with_several_is_named() -> Result {
    let path = gyre_artifacts::probes::TWOFOLD;
    let names = |name: &str| Plugin::wasm_reconciler(path, name).map(|plugin| plugin.manifest()["name"].clone());
    assert_eq!((names("twofold")?, names("backward")?), (json!("twofold"), json!("backward")));
    for error in [Plugin::wasm(path).map(drop), names("threefold").map(drop)] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("twofold") && error.contains("backward"), "{error}");
    }
    Ok(())
}

#[test]
fn a_restarted_host_writes_nothing() -> Result {
    let mut world = World::of(Plugin::native::<First>()).with(toy("")).start()?;
    world.settle()?;
    world.restart()?;
    let run = world.settle()?;
    run.assert_nothing_done();
    assert_eq!(run.calls().len(), 1, "it has asked all the same");
    Ok(())
}

fn error(does: &str) -> String {
    let mut world = World::of(Plugin::native::<First>()).with(toy(does)).start().unwrap();
    world.settle().unwrap_err().to_string()
}

#[test]
fn a_panic_is_reported_like_a_trap() -> Result {
    assert_eq!(error("panic"), "about Toy default/bear: the plugin trapped: it panicked: as bear says");
    let mut world = World::of(Plugin::native::<First>()).with(toy("panic")).start()?;
    let run = world.settle_with_faults()?;
    let ready = run.condition("Toy bear", "Ready")?;
    assert_yaml_includes!(ready, "{status: 'False', reason: Trapped}");
    assert_eq!(run.events()[0].reason, "Trapped");
    // The world can still be used.
    world.edit("Toy bear", |toy| toy["spec"]["does"] = json!(""))?;
    assert_yaml_includes!(world.settle()?.condition("Toy bear", "Ready")?, "{status: 'True'}");
    Ok(())
}

#[test]
fn native_code_is_held_to_the_limits_of_a_mount() {
    assert_eq!(error("flood"), "about Toy default/bear: the plugin logged more than 65536 bytes or 1000 lines in a call");
    assert_eq!(error("read on"), "about Toy default/bear: the plugin read more than 1000 times in a call");
}

#[test]
fn native_code_reads_what_its_manifest_names_and_no_more() -> Result {
    let mut world = World::of(Plugin::native::<First>()).with(toy("read what it may not")).start()?;
    let run = world.settle()?;
    let message = "Secret.v1 was read, which the plugin's manifest does not declare: add `.reads::<Secret>()` to it, or read a child with \
         `cluster.child::<Secret>(name)`";
    assert_yaml_includes!(run.condition("Toy bear", "Ready")?, &json!({"status": "False", "message": message}));
    Ok(())
}

#[test]
fn settling_fails_with_the_field_that_never_converges() {
    let error = error("flap");
    assert!(
        error.starts_with("The host keeps writing although nothing else changes.\nToy default/bear: status.at: "),
        "{error}"
    );
}

#[test]
fn a_failure_that_the_plugin_returns_is_no_fault() -> Result {
    let mut world = World::of(Plugin::native::<First>()).with(toy("fail")).start()?;
    let run = world.settle()?;
    assert_yaml_includes!(run.condition("Toy bear", "Ready")?, "{status: 'False', message: it does not work}");
    Ok(())
}

#[test]
fn every_part_of_a_response_reaches_the_host() -> Result {
    let mut world = World::of(Plugin::native::<First>()).with(toy("")).start()?;
    world.settle()?;
    world.edit("Toy bear", |toy| toy["spec"]["does"] = json!("say"))?;
    let run = world.settle()?;
    assert_yaml_includes!(run.condition("Toy bear", "One")?, "{status: 'True', reason: A, message: first}");
    assert_yaml_includes!(run.condition("Toy bear", "Two")?, "{status: 'False', reason: B, message: second}");
    assert_yaml_includes!(run.condition("Toy bear", "Three")?, "{status: Unknown, reason: C, message: third}");
    let events: Vec<String> = run.events().iter().map(ToString::to_string).collect();
    assert_eq!(events, ["Toy default/bear: Normal Said: so", "Toy default/bear: Warning Warned: of it"]);
    assert!(world.find("ConfigMap bear")?.is_some() && world.find("Secret bear")?.is_none(), "{run:?}");
    for (does, reason, message) in
        [("wait", "PluginRetryAfter", "it takes time"), ("stumble", "PluginTransient", "it may work")]
    {
        world.edit("Toy bear", |toy| toy["spec"]["does"] = json!(does))?;
        let run = world.settle()?;
        assert_yaml_includes!(run.condition("Toy bear", "Ready")?, &json!({"reason": reason, "message": message}));
        let failure = &run.calls()[0]["answer"]["result"]["failure"];
        assert_eq!(failure["afterMs"] == json!(7000), does == "wait", "{failure}");
    }
    Ok(())
}

#[test]
fn a_native_manifest_is_converted_completely() {
    struct Kinds;
    impl Reconciler for Kinds {
        type Parent = Parent;
        type Settings = Settings;

        fn manifest() -> Manifest {
            let child = |kind, strategy, propagation| ChildKind::new(Kind::new("v1", kind), strategy).propagation(propagation);
            manifest("0.1.0")
                .child_kind(child("Secret", Strategy::Apply, Propagation::Orphan))
                .child_kind(child("Pod", Strategy::Recreate, Propagation::Foreground))
                .child_kind(child("Service", Strategy::CreateOnly, Propagation::Background))
                .read_kind(ReadKind::of::<ConfigMap>().in_namespace("team-a").labels("a=b").metadata_only())
                .finalizes()
        }

        fn reconcile(_: &Parent, _: &Settings, _: &Cluster) -> gyre_sdk::Result<Plan> {
            Ok(Plan::no_children())
        }
    }
    assert_yaml_includes!(
        Plugin::native::<Kinds>().manifest(),
        "
        name: toys
        version: 0.1.0
        parent: {group: toys.gyre.dev, version: v1, kind: Toy}
        children:
        - {kind: {group: '', version: v1, kind: Secret}, strategy: apply, propagation: Orphan}
        - {kind: {group: '', version: v1, kind: Pod}, strategy: recreate, propagation: Foreground}
        - {kind: {group: '', version: v1, kind: Service}, strategy: create-only, propagation: Background}
        reads:
        - {kind: {group: '', version: v1, kind: ConfigMap}, namespace: team-a, label_selector: a=b, metadata_only: true}
        finalizes: true
        settings_schema: {properties: {text: {type: string}}}
        "
    );
}

#[test]
fn settings_are_checked_as_those_of_a_mount() {
    let refused = |settings: Value| {
        let started = World::of(Plugin::native::<First>()).settings(settings).start();
        started.err().map(|error| error.to_string())
    };
    assert_eq!(refused(json!({"text": "hello"})), None);
    let unknown = "the plugin toys: the settings: unknown setting \"txt\"; did you mean text?";
    assert_eq!(refused(json!({"txt": "hello"})).as_deref(), Some(unknown));
    let rude = "the plugin toys: the settings: the plugin rejects the settings: the text is rude; change them to what the plugin toys accepts";
    assert_eq!(refused(json!({"text": "rude"})).as_deref(), Some(rude));
}

#[test]
fn a_test_can_write_the_status_of_a_child() -> Result {
    let mut world = World::of(Plugin::wasm(gyre_artifacts::WEBSITE)?).file("../plugins/website/samples").start()?;
    world.settle()?;
    world.set_status(
        "Deployment hello",
        json!({"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2}),
    )?;
    assert_yaml_eq!(world.get("Deployment hello")?["status"]["readyReplicas"], "2");
    let run = world.settle()?;
    assert!(run.children().is_empty(), "{run:?}");
    Ok(())
}

#[test]
fn errors_are_sentences() -> Result {
    let mut world = World::of(Plugin::native::<First>()).with(toy("")).start()?;
    let run = world.settle()?;
    let said = |result: Result| result.unwrap_err().to_string();
    let event = "several API groups have the kind Event: write one of events.k8s.io/v1, v1 before it";
    assert_eq!(said(world.find("Event x").map(drop)), event);
    let unserved = "the kind Ballon is not served: add its CustomResourceDefinition";
    assert_eq!(said(world.find("Ballon x").map(drop)), unserved);
    assert_eq!(said(world.get("ConfigMap team-a/x").map(drop)), "there is no ConfigMap team-a/x");
    let named = "\"bear\" names no object: write it as in \"Job default/hello\"";
    assert_eq!(said(world.delete("bear")), named);
    assert_eq!(said(run.status("Toy lion").map(drop)), "there is no parent Toy lion; there is Toy default/bear");
    assert_eq!(said(run.condition("Toy bear", "Bright").map(drop)), "there is no condition Bright; there is Ready");
    let other = "no plugin echo is mounted, so there is nothing to upgrade";
    assert_eq!(said(world.upgrade(Plugin::wasm(gyre_artifacts::ECHO)?)), other);
    let immutable = said(world.edit("ConfigMap bear", |config_map| config_map["data"] = json!(7)));
    assert!(immutable.starts_with("cannot change ConfigMap default/bear: "), "{immutable}");
    let time = World::of(Plugin::native::<First>()).at("noon").start().map(drop);
    assert!(said(time).starts_with("\"noon\" is no time such as 2026-01-01T00:00:00Z: "));
    let file = World::of(Plugin::native::<First>()).file("tests/absent.yaml").start().map(drop);
    assert!(said(file).starts_with("cannot read tests/absent.yaml: "));
    let wasm = Plugin::wasm("tests/worlds.rs").map(drop);
    let no_wasm =
        "cannot load the plugin tests/worlds.rs: the plugin is not WebAssembly: it begins with \"//! Changes to a\"; ";
    let wasm = said(wasm);
    assert!(wasm.starts_with(no_wasm), "{wasm}");
    let misspelt = object("toys.gyre.dev/v1", "Ty", "default/bear");
    let put = "Ty bear: no matches for kind \"Ty\" in version \"toys.gyre.dev/v1\"; correct its apiVersion and kind, or add its \
               CustomResourceDefinition to the files";
    assert_eq!(said(world.put(misspelt)), put);
    Ok(())
}

#[test]
fn plugins_live_side_by_side_each_with_its_settings() -> Result {
    let busybox = |tag: &str| json!({"image": format!("busybox:{tag}")});
    let mut world = World::of(Plugin::native::<echo::EchoReconciler>())
        .settings(busybox("one"))
        .beside(Plugin::wasm(gyre_artifacts::SCHEDULED_ECHO)?)
        .settings(busybox("two"))
        .file("../plugins/echo/samples")
        .file("../plugins/scheduled-echo/samples")
        .start()?;
    let run = world.settle()?;
    let images: Vec<String> = run.children().iter().map(images).collect();
    assert_eq!(images.len(), 2);
    assert!(images.contains(&"Job busybox:one".to_owned()) && images.contains(&"CronJob busybox:two".to_owned()), "{images:?}");
    Ok(())
}

fn images(child: &Value) -> String {
    let template = child.pointer("/spec/jobTemplate").unwrap_or(child);
    let image = template.pointer("/spec/template/spec/containers/0/image").and_then(Value::as_str).unwrap_or_default();
    format!("{} {image}", child["kind"].as_str().unwrap_or_default())
}

#[test]
fn a_test_can_limit_a_mount() -> Result {
    let mounted = |children: u32| {
        World::of(Plugin::native::<First>()).mounted(json!({"limits": {"children": children}})).with(toy("")).start()
    };
    mounted(2)?.settle()?;
    let error = mounted(1)?.settle().unwrap_err().to_string();
    assert_eq!(error, "about Toy default/bear: the plugin returned 2 children, more than 1");
    Ok(())
}

#[test]
fn children_may_exist_before_the_plugin() -> Result {
    let parent = toy("");
    let child = object("v1", "ConfigMap", "default/bear").field("data", json!({"text": "old"})).child_of(&parent, "toys");
    let other = object("v1", "ConfigMap", "default/lion").child_of(&parent, "toys");
    let mut world = World::of(Plugin::native::<First>()).with(parent).with(child).with(other).start()?;
    world.settle()?.assert_plan(
        "update ConfigMap default/bear
         create Secret default/bear
         delete ConfigMap default/lion
         status Toy default/bear",
    );
    Ok(())
}
