//! Credentials: docker's `config.json`, answers of realms, and `WWW-Authenticate` headers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gyre_devcluster::random::Random;
use gyre_registry::bounds;
use gyre_registry::challenge::{self, Challenge};
use gyre_registry::credentials::{DockerConfig, Login};
use gyre_registry::token::Token;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::{about, changed, check_line, check_message, mutated};
use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Log, Tally, count, law, shown};

const TEXTS: usize = 4;
/// A part of every secret here.
const SECRET: &str = "do-not-tell";

const DOCKER: &[&str] = &["docker.io", "index.docker.io", "registry-1.docker.io"];
const REGISTRIES: &[&str] = &[
    "registry.example.com",
    "registry.example.com:5000",
    "registry.example.com:443",
    "other.example.com",
    "evilexample.com",
    "docker.io",
    "registry-1.docker.io",
    "10.0.0.1:5000",
    "[fd00::1]:5000",
    "localhost:5000",
];
const REPOSITORIES: &[&str] = &["team/echo", "team", "teams/echo", "echo", "team/echo/x"];

/// The keys of entries.
const KEYS: &[&str] = &[
    "registry.example.com",
    "registry.example.com:5000",
    "registry.example.com:443",
    "https://registry.example.com/v2/",
    "HTTPS://Registry.Example.Com",
    "registry.example.com/team",
    "registry.example.com/team/echo",
    "registry.example.com/team/echo/",
    "other.example.com",
    "*.example.com",
    "*.*.com",
    "reg*.example.com",
    "*istry.exam*e.com",
    "*",
    "**.example.com",
    "*example.com",
    "*.example.com:5000",
    "https://index.docker.io/v1/",
    "docker.io",
    "10.0.0.1:5000",
    "*.0.0.1:5000",
    "[fd00::1]:5000",
    "",
    "/team",
    "://",
];

/// Parameters of challenges that anything asks for.
const PARAMETERS: &[&str] = &["realm", "service", "scope", "error"];
const CHALLENGES: &[&str] = &[
    r#"Bearer realm="https://auth.example.com/token",service="registry.example.com",scope="repository:team/echo:pull""#,
    r#"Basic realm="a \"registry\"", Bearer realm="https://auth.example.com/token""#,
    "Negotiate YWJj==, Basic realm=a",
    "Bearer",
    r#"bearer realm = "a" , realm="b""#,
    " ,, ",
];
const MOST_CHALLENGES: usize = 16;
/// The longest validity of a token, in seconds.
const MOST_SECONDS: u64 = 24 * 60 * 60;

pub(super) fn run(random: &mut Random, log: &mut dyn Log, tally: &mut Tally) -> Result<(), Failure> {
    for _ in 0..TEXTS {
        match random.below(3) {
            0 => check_config(random, log, tally)?,
            1 => check_token(random, log, tally)?,
            _ => check_challenge(random, log, tally)?,
        }
    }
    Ok(())
}

/// Returns the entry of a registry. The number makes its secrets differ from those of others.
fn entry(random: &mut Random, number: usize) -> Value {
    let (user, word) = (format!("user-{number}"), format!("{SECRET}-{number}"));
    let auth = STANDARD.encode(format!("{user}:{word}"));
    match random.below(9) {
        0 | 1 => json!({ "auth": auth }),
        2 => json!({ "auth": auth.trim_end_matches('=') }),
        3 => json!({ "username": user, "password": word, "email": "a@b" }),
        4 => json!({ "identitytoken": word, "auth": auth }),
        5 => json!({ "registrytoken": word }),
        6 => json!({ "auth": STANDARD.encode(format!("<token>:{word}")) }),
        7 => json!({ "username": user, "auth": auth }),
        _ => json!({}),
    }
}

fn check_config(random: &mut Random, log: &mut dyn Log, tally: &mut Tally) -> Result<(), Failure> {
    let mut auths = Map::new();
    for number in 0..random.size(8) {
        let key = key(random);
        auths.insert(key, entry(random, number));
    }
    let helpers: Map<String, Value> =
        (0..random.size(3)).map(|number| (key(random), json!(format!("helper-{number}")))).collect();
    let mut value = json!({ "auths": auths, "credHelpers": helpers, "HttpHeaders": { "User-Agent": "docker" } });
    if random.chance(0.3) {
        value["credsStore"] = json!("desktop");
    }
    if random.chance(0.4) {
        mutate::structure(random, &mut value);
    }
    let sound = value.to_string().into_bytes();
    let mut bytes = sound.clone();
    if random.chance(0.3) {
        mutate::bytes(random, &mut bytes);
    }
    if random.chance(0.01) {
        bytes.resize(bounds::DOCKER_CONFIG as usize + random.size(2), b' ');
    }
    log.step(&|| format!("config.json {}", shown(&String::from_utf8_lossy(&bytes))));
    // Changed bytes may put a secret where a name of a host or a user is.
    let is_hidden = |text: &str| bytes != sound || !text.contains(SECRET);
    let checked = match DockerConfig::parse(&bytes) {
        Ok(config) => {
            count(tally, "docker-config");
            law(is_hidden(&format!("{config:?}")), || "a secret is shown".to_owned())
                .and_then(|()| law(bytes.len() as u64 <= bounds::DOCKER_CONFIG, || "it is too large".to_owned()))
                .and_then(|()| check_logins(&config, &bytes, tally))
        }
        Err(error) => {
            count(tally, "no-docker-config");
            law(is_hidden(&error.to_string()), || format!("a secret is shown: {error}"))
                .and_then(|()| check_message(&error, error.remedy()))
        }
    };
    checked.map_err(|failure| about(&failure, &bytes))
}

fn key(random: &mut Random) -> String {
    let key = *random.pick(KEYS);
    if random.chance(0.15) { changed(random, key) } else { key.to_owned() }
}

/// Checks that each login is the one of the most specific entry about the registry.
fn check_logins(config: &DockerConfig, bytes: &[u8], tally: &mut Tally) -> Result<(), Failure> {
    let Some(Value::Object(content)) = serde_json::from_slice(bytes).ok() else { return Ok(()) };
    let entries = content.get("auths").and_then(Value::as_object);
    let keys: Vec<(Key, &String, &Value)> =
        entries.into_iter().flatten().map(|(name, entry)| (Key::of(name), name, entry)).collect();
    for registry in REGISTRIES {
        check_helper(config, &content, registry)?;
        for repository in REPOSITORIES {
            let login = config.login(registry, repository);
            let alone = |name: &str, entry: &Value| {
                let auths = Map::from_iter([(name.to_owned(), entry.clone())]);
                let config = DockerConfig::parse(json!({ "auths": auths }).to_string().as_bytes());
                config.map_or(Login::Anonymous, |config| config.login(registry, repository))
            };
            let owners = keys.iter().filter(|(key, ..)| key.covers(registry, repository));
            let owners: Vec<(&Key, Login)> = owners.map(|(key, name, entry)| (key, alone(name, entry))).collect();
            let with_login = || owners.iter().filter(|(_, login)| *login != Login::Anonymous);
            let best = with_login().map(|(key, _)| key.rank()).max();
            let is_own = match best {
                None => login == Login::Anonymous,
                Some(best) => with_login().any(|(key, found)| key.rank() == best && *found == login),
            };
            count(tally, if login == Login::Anonymous { "anonymous" } else { "login" });
            law(is_own, || format!("{registry}/{repository} gets {login:?} of {} entries about it", owners.len()))?;
        }
    }
    Ok(())
}

fn check_helper(config: &DockerConfig, content: &Map<String, Value>, registry: &str) -> Result<(), Failure> {
    let helpers = content.get("credHelpers").and_then(Value::as_object);
    let helpers: Vec<(&String, &Value)> = helpers.into_iter().flatten().collect();
    let of_registry = helpers.iter().filter(|(name, _)| aliases(registry).contains(&Key::of(name).host.as_str()));
    let allowed: Vec<&str> =
        of_registry.map(|(_, helper)| *helper).chain(content.get("credsStore")).filter_map(Value::as_str).collect();
    let helper = config.helper(registry);
    law(helper.is_none_or(|helper| allowed.contains(&helper)), || format!("{registry} has the helper {helper:?}"))
}

/// The names of a registry, which Docker's own has several of.
fn aliases(registry: &str) -> Vec<&str> {
    let registry = registry.strip_suffix(":443").unwrap_or(registry);
    let is_docker = DOCKER.contains(&registry);
    std::iter::once(registry).chain(DOCKER.iter().copied().filter(|_| is_docker)).collect()
}

/// The key of an entry, read independently of the code that is tested.
struct Key {
    host: String,
    path: String,
    pattern: Option<Regex>,
}

impl Key {
    fn of(name: &str) -> Self {
        let place = name.split_once("://").map_or(name, |(_, place)| place);
        let (host, path) = place.split_once('/').unwrap_or((place, ""));
        let host = host.to_ascii_lowercase();
        let host = host.strip_suffix(":443").unwrap_or(&host).to_owned();
        let path = match path.trim_matches('/') {
            "v1" | "v2" => "",
            path => path,
        };
        let pattern = format!("^{}$", regex::escape(&host).replace("\\*", "[^.]*"));
        Self { path: path.to_owned(), pattern: Regex::new(&pattern).ok().filter(|_| host.contains('*')), host }
    }

    fn covers(&self, registry: &str, repository: &str) -> bool {
        let is_meant = |name: &&str| self.host == **name || self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(name));
        let is_within = self.path.is_empty() || format!("{repository}/").starts_with(&format!("{}/", self.path));
        is_within && aliases(registry).iter().any(is_meant)
    }

    /// The precedence: names before patterns, and then the longest path.
    fn rank(&self) -> (bool, usize) {
        (!self.host.contains('*'), self.path.len())
    }
}

fn check_token(random: &mut Random, log: &mut dyn Log, tally: &mut Tally) -> Result<(), Failure> {
    let mut answer = json!({ "token": SECRET, "expires_in": 300, "issued_at": "2026-11-22T00:00:00Z" });
    if random.chance(0.3) {
        answer["access_token"] = json!(SECRET);
    }
    let special = |random: &mut Random| match random.below(4) {
        0 => json!(random.pick(&["a\r\nHost: b", "\u{e4}", "a b", "", "\u{0}"])),
        1 => json!(random.pick(&[-1.0, 0.0, 1e300, 0.5])),
        2 => Value::Null,
        _ => mutate::value(random),
    };
    let mut bytes = mutated(random, answer.to_string().as_bytes(), special);
    if random.chance(0.05) {
        bytes.resize(bounds::TOKEN as usize + random.size(2), b' ');
    }
    log.step(&|| format!("token {}", shown(&String::from_utf8_lossy(&bytes))));
    let checked = match Token::parse(&bytes) {
        Ok(token) => {
            count(tally, "token");
            check_accepted_token(&bytes, &token)
        }
        Err(error) => {
            count(tally, "no-token");
            let text = error.to_string();
            law(!text.contains(SECRET), || format!("a secret is shown: {text}")).and_then(|()| check_line(&text))
        }
    };
    checked.map_err(|failure| about(&failure, &bytes))
}

fn check_accepted_token(bytes: &[u8], token: &Token) -> Result<(), Failure> {
    law(bytes.len() as u64 <= bounds::TOKEN, || format!("it has {} bytes", bytes.len()))?;
    let validity = token.expires_in();
    law(validity.as_secs_f64() <= MOST_SECONDS as f64, || format!("it is valid for {validity:?}"))?;
    law(!format!("{token:?}").contains(SECRET), || "a secret is shown".to_owned())?;
    let Some(Value::Object(answer)) = serde_json::from_slice(bytes).ok() else { return Ok(()) };
    let given = |key: &str| answer.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let sent = given("token").or(given("access_token"));
    law(sent.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_graphic())), || format!("the token is {sent:?}"))
}

fn check_challenge(random: &mut Random, log: &mut dyn Log, tally: &mut Tally) -> Result<(), Failure> {
    if random.chance(0.3) {
        return check_quoted(random, log);
    }
    let mut header = (*random.pick(CHALLENGES)).to_owned();
    if random.chance(0.2) {
        header = format!("{header}, ").repeat(random.size(20));
    }
    if random.chance(0.7) {
        header = changed(random, &header);
    }
    log.step(&|| format!("challenge {}", shown(&header)));
    let checked = match challenge::parse(&header) {
        Ok(challenges) => {
            count(tally, "challenge");
            check_challenges(&header, &challenges)
        }
        Err(error) => {
            count(tally, "no-challenge");
            check_line(&error.to_string())
        }
    };
    checked.map_err(|failure| about(&failure, header.as_bytes()))
}

/// Checks that values of any letters are read as they were quoted.
fn check_quoted(random: &mut Random, log: &mut dyn Log) -> Result<(), Failure> {
    let (realm, service) = (mutate::text(random), mutate::text(random));
    let header = format!("Bearer realm={},service={}", quoted(&realm), quoted(&service));
    log.step(&|| format!("challenge {}", shown(&header)));
    if header.len() > bounds::CHALLENGE {
        return law(challenge::parse(&header).is_err(), || format!("{} bytes are read", header.len()));
    }
    let read = challenge::parse(&header).map_err(|error| Failure(format!("{error}: {header:?}")))?;
    let found: Vec<_> =
        read.iter().map(|read| (read.scheme.as_str(), read.parameter("realm"), read.parameter("service"))).collect();
    let expected = [("bearer", Some(realm.as_str()), Some(service.as_str()))];
    law(found == expected, || format!("{header:?} is read as {read:?}"))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn check_challenges(header: &str, challenges: &[Challenge]) -> Result<(), Failure> {
    law(header.len() <= bounds::CHALLENGE, || format!("it has {} bytes", header.len()))?;
    law(challenges.len() <= MOST_CHALLENGES, || format!("it has {} challenges", challenges.len()))?;
    for Challenge { scheme, .. } in challenges {
        let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase());
        law(is_scheme, || format!("a scheme is {scheme:?}"))?;
    }
    let written: Vec<String> = challenges.iter().map(written).collect();
    let written = written.join(", ");
    if written.len() > bounds::CHALLENGE {
        return Ok(());
    }
    let read = challenge::parse(&written);
    let is_same = read.as_ref().is_ok_and(|read| {
        let same = |one: &Challenge, other: &Challenge| {
            one.scheme == other.scheme && PARAMETERS.iter().all(|name| one.parameter(name) == other.parameter(name))
        };
        read.len() == challenges.len() && read.iter().zip(challenges).all(|(one, other)| same(one, other))
    });
    law(is_same, || format!("{challenges:?} is written as {written:?}, which is read as {read:?}"))
}

fn written(challenge: &Challenge) -> String {
    let value = |name: &&str| Some(format!("{name}={}", quoted(challenge.parameter(name)?)));
    let parameters: Vec<String> = PARAMETERS.iter().filter_map(value).collect();
    format!("{} {}", challenge.scheme, parameters.join(","))
}
