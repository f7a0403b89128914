//! Plugins of registries, from a cache that is filled as by a pull.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use gyre_registry::{Cache, Digest, FoundSignature, Pulled, PulledFrom, Reference, Settings, SignatureKind};
use gyre_signatures::{SigningKey, generate_key, sign};
use serde_json::json;

use super::*;

pub(super) const REFERENCE: &str = "oci://registry.example.com/team/echo:1.4";

/// Puts a component into a cache, and makes it the version of a reference. Returns the digest of
/// its manifest.
pub(super) fn put(folder: &Path, reference: &str, component: &[u8]) -> Digest {
    let cache = Cache::open(folder, 1 << 30).unwrap();
    let layer = Digest::of(component);
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": { "mediaType": "application/vnd.oci.empty.v1+json", "digest": Digest::of(b"{}"), "size": 2 },
        "layers": [{ "mediaType": "application/wasm", "digest": layer, "size": component.len() }],
    });
    let manifest = manifest.to_string();
    let digest = Digest::of(manifest.as_bytes());
    let path = cache.component_path(&layer);
    fs::write(&path, component).unwrap();
    let root = path.ancestors().nth(2).unwrap();
    fs::write(root.join("manifests").join(format!("{}.json", digest.hex())), manifest).unwrap();
    let annotations = Default::default();
    let pulled = Pulled { manifest: digest, component: layer, path, annotations, from: PulledFrom::Cache };
    cache.point(&reference.parse::<Reference>().unwrap(), &pulled).unwrap();
    digest
}

fn echo() -> Vec<u8> {
    fs::read(gyre_artifacts::ECHO).unwrap()
}

fn lax_echo() -> Vec<u8> {
    patch(&echo(), "\"additionalProperties\":false", "\"additionalProperties\":true ")
}

/// Opens a configuration of one mount with these keys.
fn opened(directory: &Path, keys: &str) -> Result<Source, String> {
    let file = directory.join("gyre.yaml");
    fs::write(&file, format!("host: {{pluginCache: cache}}\nmounts:\n- {{{keys}}}\n")).unwrap();
    open(&file, &[]).map_err(|error| outcome(directory, Err(error)))
}

/// Returns the digests of the only mount: of the component, and of the manifest.
fn digests(programs: &[Program]) -> (String, String) {
    let [program] = programs else { panic!("one mount") };
    (format!("sha256:{}", program.plugin.digest()), program.artifact_digest().unwrap_or_default().to_owned())
}

#[test]
fn a_start_takes_the_version_in_the_cache_and_asks_only_if_it_has_to() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    // Nothing listens there.
    let reference = "oci://127.0.0.1:9/team/echo:1.4";
    let manifest = put(&directory.join("cache"), reference, &echo());
    let expected = (Digest::of(&echo()).to_string(), manifest.to_string());
    for pull in ["Never", "IfNotPresent", "Always"] {
        let source = opened(directory, &format!("plugin: \"{reference}\", pull: {pull}")).unwrap();
        assert_eq!(digests(&source.programs()), expected, "{pull}");
    }
    let pinned = put(&directory.join("cache"), &format!("{reference}@{manifest}"), &echo());
    assert_eq!(pinned, manifest);
    opened(directory, &format!("plugin: \"{reference}@{manifest}\", pull: Always")).unwrap();
    let absent = opened(directory, "plugin: \"oci://127.0.0.1:9/team/echo:1.5\"").map(drop).unwrap_err();
    assert!(absent.contains("cannot read the plugin oci://127.0.0.1:9/team/echo:1.5: "), "{absent}");
    let absent = opened(directory, "plugin: \"oci://127.0.0.1:9/team/echo:1.5\", pull: Never").map(drop).unwrap_err();
    assert!(absent.contains("it is not in cache, and pull is Never; pull it with gyre pull"), "{absent}");
}

#[test]
fn a_digest_pins_the_component_of_a_file_and_of_a_registry() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    put(&directory.join("cache"), REFERENCE, &echo());
    fs::write(directory.join("echo.wasm"), echo()).unwrap();
    let (right, wrong) = (Digest::of(&echo()), Digest::of(b"other"));
    for plugin in ["echo.wasm".to_owned(), format!("{REFERENCE:?}, pull: Never")] {
        opened(directory, &format!("plugin: {plugin}, digest: \"{right}\"")).unwrap();
        let refused = opened(directory, &format!("plugin: {plugin}, digest: \"{wrong}\"")).map(drop).unwrap_err();
        assert!(refused.contains("mounts[0].digest: the plugin "), "{refused}");
        assert!(refused.contains(&format!("has the digest {right}, not {wrong}; give the plugin")), "{refused}");
    }
}

#[test]
fn a_component_that_was_changed_in_the_cache_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    put(&directory.join("cache"), REFERENCE, &echo());
    let path = Cache::open(&directory.join("cache"), 1).unwrap().component_path(&Digest::of(&echo()));
    fs::write(path, lax_echo()).unwrap();
    let refused = opened(directory, &format!("plugin: {REFERENCE:?}, pull: Never")).map(drop).unwrap_err();
    assert!(refused.contains("it is not what was pulled"), "{refused}");
}

#[test]
fn only_what_is_signed_as_demanded_is_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let manifest = put(&directory.join("cache"), REFERENCE, &echo());
    let keys = ["team", "other"].map(|name| {
        let pair = generate_key(b"").unwrap();
        fs::write(directory.join(format!("{name}.pub")), &pair.public_pem).unwrap();
        SigningKey::from_pem(&pair.private_pem, Some(b"")).unwrap()
    });
    let [team, other] = &keys;
    let mount = |verify: &str| opened(directory, &format!("plugin: {REFERENCE:?}, pull: Never, verify: {verify}")).map(drop);
    let unsigned = mount("{keys: [team.pub]}").unwrap_err();
    assert!(unsigned.contains("is not signed, and a signature by the key team.pub"), "{unsigned}");

    let signed_by = |key: &SigningKey, of: &Digest| {
        // Without the signatures that are kept already.
        fs::remove_dir_all(directory.join("cache")).unwrap();
        put(&directory.join("cache"), REFERENCE, &echo());
        let bytes = sign(key, &of.to_string(), &Default::default()).unwrap();
        let (kind, digest, media_type, annotations) =
            (SignatureKind::Bundle, Digest::of(&bytes), String::new(), Default::default());
        let signature = FoundSignature { kind, digest, media_type, artifact_type: None, bytes, annotations };
        Cache::open(&directory.join("cache"), 1 << 30).unwrap().keep_signatures(&manifest, &[signature]).unwrap();
    };
    signed_by(team, &manifest);
    mount("{keys: [team.pub]}").unwrap();
    mount("{keys: [other.pub, team.pub]}").unwrap();
    for (key, of, verify, expected) in [
        (team, manifest, "{keys: [team.pub], annotations: {env: production}}", "without the annotation env=production"),
        (team, Digest::of(b"other"), "{keys: [team.pub]}", "a signature of sha256:"),
        (other, manifest, "{keys: [team.pub]}", "not by an accepted key"),
    ] {
        signed_by(key, &of);
        let refused = mount(verify).unwrap_err();
        assert!(refused.contains(expected), "{verify}: {refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_version_in_the_cache_is_taken_like_a_changed_file() {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("cache");
    let first = put(&cache, REFERENCE, &echo());
    let source = Source::open(&arguments(&[REFERENCE, "--plugin-cache", cache.to_str().unwrap()])).unwrap();
    let (sender, mut programs) = channel::channel(source.programs());
    assert_eq!(digests(&programs.borrow()).1, first.to_string());
    tokio::spawn(source.reload_on_changes(Duration::from_secs(1), sender, |_| ()));
    let second = put(&cache, REFERENCE, &lax_echo());
    programs.changed().await.unwrap();
    assert_eq!(digests(&programs.borrow()), (Digest::of(&lax_echo()).to_string(), second.to_string()));
}

/// Starts a registry that names this manifest for each tag, and has no content. Returns a
/// reference and the port.
fn named(manifest: Digest) -> (String, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let head = format!(
                "HTTP/1.1 200 OK\r\nDocker-Content-Digest: {manifest}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = (&stream).write_all(head.as_bytes());
        }
    });
    (format!("oci://127.0.0.1:{port}/team/echo:1.4"), port)
}

/// The manifest that later starts use.
fn pointed(directory: &Path, reference: &str) -> Digest {
    let cache = Cache::open(&directory.join("cache"), 1 << 30).unwrap();
    cache.read(&reference.parse().unwrap()).unwrap().unwrap().manifest
}

#[test]
fn a_start_uses_what_the_registry_names_only_if_the_configuration_is_accepted_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    // Its content is in the cache, as after a pull that was refused.
    let new = put(&directory.join("cache"), REFERENCE, &lax_echo());
    let (reference, port) = named(new);
    let old = put(&directory.join("cache"), &reference, &echo());
    let opened = |keys: &str| {
        let file = directory.join("gyre.yaml");
        let host = format!("{{pluginCache: cache, insecureRegistries: \"127.0.0.1:{port}\"}}");
        fs::write(&file, format!("host: {host}\nmounts:\n- {{plugin: {reference:?}, pull: Always{keys}}}\n")).unwrap();
        open(&file, &[]).map_err(|error| outcome(directory, Err(error))).unwrap()
    };
    let refuses_new = opened(&format!(", digest: \"{}\"", Digest::of(&echo())));
    assert_eq!(digests(&refuses_new.programs()).1, old.to_string());
    drop(refuses_new.in_use());
    assert_eq!(pointed(directory, &reference), old);

    let accepts_new = opened("");
    assert_eq!(digests(&accepts_new.programs()).1, new.to_string());
    assert_eq!(pointed(directory, &reference), old, "a command does not decide what a host uses");
    drop(accepts_new.in_use());
    assert_eq!(pointed(directory, &reference), new);
}

#[test]
fn a_version_that_is_tried_is_used_later_only_if_it_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let new = put(&directory.join("cache"), "oci://registry.example.com/team/echo:2", &lax_echo());
    let old = put(&directory.join("cache"), REFERENCE, &echo());
    let source = opened(directory, &format!("plugin: {REFERENCE:?}, digest: \"{}\"", Digest::of(&echo())));
    let source = source.unwrap();
    let cache = Cache::open(&directory.join("cache"), 1 << 30).unwrap();
    let pulled = cache.read(&"oci://registry.example.com/team/echo:2".parse().unwrap()).unwrap().unwrap();
    let tried = Version { reference: REFERENCE.parse().unwrap(), pulled, before: None };
    let mut pulls = Pulls::from_cache(&source.shared.store, &source.references, Some(tried));
    let loaded = source.shared.load(&mut pulls, &source.programs(), &source.directory, Time::default());
    let problems = loaded.result.err().unwrap().to_string();
    assert!(problems.contains("has the digest"), "{problems}");
    pulls.accept_missing();
    assert_eq!(pointed(directory, REFERENCE), old);
    pulls.accept();
    assert_eq!(pointed(directory, REFERENCE), new);
}

#[test]
fn an_answer_is_outdated_if_the_cache_has_named_a_third_version_since_the_question() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("cache");
    let store = Store::new(Settings::default(), Some(folder.clone()), 1 << 30);
    let put = |component: &[u8]| {
        put(&folder, REFERENCE, component);
        Cache::open(&folder, 1 << 30).unwrap().read(&REFERENCE.parse().unwrap()).unwrap().unwrap()
    };
    let (old, new) = (put(&echo()), put(&lax_echo()));
    let is_outdated = |answer: &Pulled, before: Option<&Pulled>| {
        let (pulled, before) = (answer.clone(), before.map(|before| before.manifest));
        store.is_outdated(&Version { reference: REFERENCE.parse().unwrap(), pulled, before })
    };
    for (answer, before, expected) in [
        (&old, None, true),
        (&old, Some(&old), true),
        // The tag was moved back.
        (&old, Some(&new), false),
        (&new, None, false),
        (&new, Some(&old), false),
    ] {
        assert_eq!(is_outdated(answer, before), expected, "{answer:?} {before:?}");
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(!is_outdated(&old, None), "nothing takes its place");
}

#[test]
fn mounts_of_a_reference_are_all_pulled_or_none() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    put(&directory.join("cache"), REFERENCE, &echo());
    for (pull, is_refused) in [("Never", false), ("IfNotPresent", true)] {
        let first = format!("plugin: {REFERENCE:?}, pull: Never, namespaces: [a], name: a");
        let mounts = format!("{first}}}\n- {{plugin: {REFERENCE:?}, pull: {pull}, namespaces: [b], name: b");
        let problems = opened(directory, &mounts).map(drop).err().unwrap_or_default();
        assert_eq!(problems.contains("mounts[1].pull: another mount of "), is_refused, "{problems}");
    }
}
