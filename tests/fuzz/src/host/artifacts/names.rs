//! References and digests.

use std::net::Ipv6Addr;
use std::sync::OnceLock;

use gyre_devcluster::random::Random;
use gyre_registry::{Digest, Reference, is_reference};
use regex::Regex;
use reqwest::Url;

use super::{about, changed, check_message};
use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Log, Tally, count, law, shown};

const SCHEME: &str = "oci://";
const DIGEST: &str = "sha256:b1f0fc11766f5794fecb4e428cac6b31d2fd4e8a58d17c7040d0dc8efcd0176d";
/// The longest name of a repository with its host.
const LONGEST_NAME: usize = 255;
const NAMES: usize = 8;

/// Hosts of registries, and texts that URLs may read as other hosts.
const HOSTS: &[&str] = &[
    "registry.example.com",
    "registry.example.com:5000",
    "Registry.Example.COM",
    "localhost:5000",
    "10.0.0.1:5000",
    "[fd00::1]:5000",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:0:0:1]:443",
    "127.1",
    "0x7f.1",
    "a.0X7F",
    "2130706433",
    "010.0.0.1",
    "registry.example.com.",
    "registry.example.com:0",
    "registry.example.com:65536",
    "registry.example.com:",
    "user@registry.example.com",
    "user:word@registry.example.com",
    "registry.example.com?",
    "registry.example.com#",
    "registry.example.com\\evil.example.org",
    "xn--bcher-kva.example",
    "xn--a.example",
    "b\u{fc}cher.example",
    "\u{ff52}egistry.example.com",
    "-a.example.com",
    "a..b",
    "a_b.example.com",
    "",
];

const REPOSITORIES: &[&str] = &[
    "team/echo",
    "echo",
    "a/b/c--d_e__f.g",
    "a___b",
    "a..b",
    "-a",
    "a/",
    "/a",
    "a//b",
    "../a",
    "a/..",
    "A/b",
    "a%2fb",
    "a?b",
    "a#b",
    "\u{e4}",
    "",
];

const TAGS: &[&str] = &[":1.4", ":_", ":latest", ":A-b.c_d", ":.a", ":-a", ":", "::1", ":1/2", ":\u{e4}", ""];

/// The grammar of the specifications, independent of the parsers.
struct Grammar {
    repository: Regex,
    tag: Regex,
    digest: Regex,
}

fn grammar() -> &'static Grammar {
    static GRAMMAR: OnceLock<Grammar> = OnceLock::new();
    let component = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
    GRAMMAR.get_or_init(|| Grammar {
        repository: Regex::new(&format!("^{component}(?:/{component})*$")).unwrap(),
        tag: Regex::new("^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$").unwrap(),
        digest: Regex::new("^sha256:[0-9a-f]{64}$").unwrap(),
    })
}

pub(super) fn run(random: &mut Random, log: &mut dyn Log, tally: &mut Tally) -> Result<(), Failure> {
    for _ in 0..NAMES {
        let text = reference(random);
        log.step(&|| format!("reference {}", shown(&text)));
        check_reference(random, &text, tally).map_err(|failure| about(&failure, text.as_bytes()))?;
        let text = digest(random);
        log.step(&|| format!("digest {}", shown(&text)));
        check_digest(&text, tally).map_err(|failure| about(&failure, text.as_bytes()))?;
    }
    Ok(())
}

fn reference(random: &mut Random) -> String {
    let scheme = if random.chance(0.95) { SCHEME } else { *random.pick(&["OCI://", "oci:/", "https://", "docker://", ""]) };
    let host = if random.chance(0.5) { HOSTS[0] } else { *random.pick(HOSTS) };
    let mut repository = if random.chance(0.5) { REPOSITORIES[0] } else { *random.pick(REPOSITORIES) }.to_owned();
    if random.chance(0.1) {
        // About the longest name that is allowed.
        let letters = LONGEST_NAME - host.len().min(200) - 6 + random.size(10);
        repository = "a".repeat(letters);
    }
    let mut tag = if random.chance(0.6) { TAGS[0] } else { *random.pick(TAGS) }.to_owned();
    if random.chance(0.1) {
        tag = format!(":{}", "t".repeat(120 + random.size(20)));
    }
    let digest = if random.chance(0.4) { format!("@{}", digest(random)) } else { String::new() };
    let text = format!("{scheme}{host}/{repository}{tag}{digest}");
    if random.chance(0.3) { changed(random, &text) } else { text }
}

fn digest(random: &mut Random) -> String {
    match random.below(8) {
        0 => DIGEST.to_uppercase(),
        1 => DIGEST.replacen("sha256", "sha512", 1),
        2 => format!("{DIGEST}{}", random.pick(&["0", " ", "\n", "\u{e4}", DIGEST])),
        3 => mutate::text(random),
        4 => changed(random, DIGEST),
        _ => Digest::of(&random.next_u64().to_be_bytes()).to_string(),
    }
}

fn check_reference(random: &mut Random, text: &str, tally: &mut Tally) -> Result<(), Failure> {
    let reference = match text.parse::<Reference>() {
        Ok(reference) => reference,
        Err(error) => {
            count(tally, "no-reference");
            return check_message(&error, error.remedy());
        }
    };
    count(tally, "reference");
    law(is_reference(text), || "it is read as a reference, and taken for a file".to_owned())?;
    check_printed(&reference)?;
    let printed = reference.to_string();
    // Only the host has no case.
    let after_host = SCHEME.len() + reference.registry().len();
    let is_same = printed.eq_ignore_ascii_case(text) && printed.get(after_host..) == text.get(after_host..);
    law(is_same, || format!("it is printed as {printed:?}"))?;
    let name = format!("{}/{}", reference.registry(), reference.repository());
    law(name.len() <= LONGEST_NAME, || format!("its name has {} bytes", name.len()))?;
    let Grammar { repository, tag, .. } = grammar();
    law(repository.is_match(reference.repository()), || format!("the repository is {:?}", reference.repository()))?;
    law(reference.tag().is_none_or(|found| tag.is_match(found)), || format!("the tag is {:?}", reference.tag()))?;
    law(reference.tag().is_some() || reference.digest().is_some(), || "it has no version".to_owned())?;
    check_host(reference.registry())?;
    let pinned = reference.clone().with_digest(Digest::of(text.as_bytes()));
    law(pinned.digest() == Some(&Digest::of(text.as_bytes())), || format!("it is pinned to {:?}", pinned.digest()))?;
    check_printed(&pinned)?;
    check_tag(random, reference)
}

fn check_printed(reference: &Reference) -> Result<(), Failure> {
    let printed = reference.to_string();
    let read = printed.parse::<Reference>();
    law(read.as_ref() == Ok(reference), || format!("{printed:?} is read as {read:?}"))
}

fn check_tag(random: &mut Random, reference: Reference) -> Result<(), Failure> {
    let text = match random.below(3) {
        0 => mutate::text(random),
        1 => changed(random, "1.4"),
        _ => (*random.pick(TAGS)).trim_start_matches(':').to_owned(),
    };
    let is_tag = grammar().tag.is_match(&text);
    match reference.with_tag(&text) {
        Ok(tagged) => {
            law(is_tag && tagged.tag() == Some(text.as_str()) && tagged.digest().is_none(), || format!("{text:?} is a tag"))?;
            check_printed(&tagged)
        }
        Err(error) => {
            law(!is_tag, || format!("{text:?} is no tag"))?;
            check_message(&error, error.remedy())
        }
    }
}

/// Checks that a URL has the host that people read.
fn check_host(registry: &str) -> Result<(), Failure> {
    // A label may begin as Punycode does and be none, which URLs refuse.
    let Ok(url) = Url::parse(&format!("https://{registry}/")) else { return Ok(()) };
    let host = url.host_str().unwrap_or_default();
    let (is_same, port) = match registry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => {
            let read = host.trim_start_matches('[').trim_end_matches(']').parse::<Ipv6Addr>();
            (address.parse::<Ipv6Addr>() == read, port)
        }
        None => {
            let (name, port) = registry.split_at(registry.find(':').unwrap_or(registry.len()));
            (host == name, port)
        }
    };
    law(is_same, || format!("{registry:?} means the host {host:?} in a URL"))?;
    let port = port.strip_prefix(':').and_then(|port| port.parse::<u16>().ok()).unwrap_or(443);
    let rest = (url.port_or_known_default(), url.username(), url.path(), url.query());
    law(rest == (Some(port), "", "/", None), || format!("{registry:?} means {rest:?} in a URL"))
}

fn check_digest(text: &str, tally: &mut Tally) -> Result<(), Failure> {
    let is_digest = grammar().digest.is_match(text);
    match text.parse::<Digest>() {
        Ok(digest) => {
            count(tally, "digest");
            law(is_digest && digest.to_string() == text, || format!("it is read as {digest}"))?;
            let json = serde_json::to_string(&digest).map_err(|error| Failure(error.to_string()))?;
            let read = serde_json::from_str::<Digest>(&json);
            law(read.as_ref().is_ok_and(|read| *read == digest), || format!("{json} is read as {read:?}"))
        }
        Err(error) => {
            count(tally, "no-digest");
            law(!is_digest, || "a digest is refused".to_owned())?;
            check_message(&error, error.remedy())
        }
    }
}
