//! The authorization of requests to one registry: basic, or tokens from the realm that it names.
//!
//! A client cannot know how a registry wants to be asked, so the first request is anonymous, and
//! its answer says so. Later requests bring what the registry wants.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use form_urlencoded::Serializer;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, StatusCode};
use parking_lot::Mutex;
use reqwest::Url;
use tokio::time::Instant;
use tracing::debug;

use crate::bounds;
use crate::challenge;
use crate::credentials::{self, DockerConfig, Login};
use crate::error::{Error, Missing};
use crate::realm::is_same_site;
use crate::settings::Settings;
use crate::token::Token;
use crate::transport::{Request, Response, Transport, host_of};

/// The name of this client for realms.
const CLIENT: &str = "gyre";
/// The keys of a request for a token that say what it is for, and for whom.
const OF_TOKENS: [&str; 3] = ["scope", "service", "account"];
/// The part of a token's validity in which it is used. Clocks need not agree, but take the same
/// time, and a request takes some of it.
const USED_PART: f64 = 0.9;

/// The use that a request makes of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    Pull,
    Push,
}

impl Access {
    fn actions(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "pull,push",
        }
    }
}

/// A header, and why it has no credentials, if it has none.
#[derive(Clone, Debug)]
pub(crate) struct Authorization {
    pub(crate) header: Option<HeaderValue>,
    pub(crate) missing: Option<Missing>,
}

/// The authorizations of a registry.
#[derive(Debug)]
pub(crate) struct Authorizations {
    /// The registry, as in references.
    registry: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    scheme: Option<Scheme>,
    tokens: BTreeMap<(String, Access), (Authorization, Instant)>,
}

/// How the registry wants to be asked.
#[derive(Clone, Debug)]
enum Scheme {
    Basic,
    Bearer { realm: Url, service: Option<String> },
}

/// Reads the credentials, for each login again. `None` means that there is no file.
pub(crate) fn read_credentials(settings: &Settings) -> Result<Option<DockerConfig>, Error> {
    let Some(path) = &settings.credentials else {
        let Some(path) = settings.default_credentials() else { return Ok(None) };
        return Ok(DockerConfig::read(&path)?);
    };
    // A file that is named must be there.
    let absent = || credentials::Error::Read { path: path.clone(), source: std::io::ErrorKind::NotFound.into() };
    Ok(Some(DockerConfig::read(path)?.ok_or_else(absent)?))
}

impl Authorizations {
    pub(crate) fn new(registry: String) -> Self {
        Self { registry, state: Mutex::default() }
    }

    /// The authorization of a request, as far as the registry has said what it wants. Without one,
    /// the answer says it again, so nothing that went wrong before stays.
    pub(crate) async fn get(
        &self,
        transport: &Transport,
        settings: &Settings,
        repository: &str,
        access: Access,
    ) -> Option<Authorization> {
        let scheme = {
            let state = self.state.lock();
            let valid = |access: Access| {
                let (authorization, until) = state.tokens.get(&(repository.to_owned(), access))?;
                (*until > Instant::now()).then(|| authorization.clone())
            };
            if let Some(authorization) = valid(access).or_else(|| valid(Access::Push)) {
                return Some(authorization);
            }
            state.scheme.clone()?
        };
        match self.log_in(transport, settings, repository, access, scheme).await {
            Ok(authorization) => Some(authorization),
            Err(error) => {
                debug!(registry = self.registry, %error, "the registry is asked again what it wants");
                self.state.lock().scheme = None;
                None
            }
        }
    }

    /// The authorization that an answer asks for, which replaces the one that was sent.
    ///
    /// # Errors
    ///
    /// If the answer cannot be understood, or a token cannot be obtained.
    pub(crate) async fn renew(
        &self,
        transport: &Transport,
        settings: &Settings,
        repository: &str,
        access: Access,
        response: Response,
    ) -> Result<Authorization, Error> {
        let scheme = scheme(transport, &response)?;
        drop(response);
        let authorization = self.log_in(transport, settings, repository, access, scheme.clone()).await?;
        self.state.lock().scheme = Some(scheme);
        Ok(authorization)
    }

    async fn log_in(
        &self,
        transport: &Transport,
        settings: &Settings,
        repository: &str,
        access: Access,
        scheme: Scheme,
    ) -> Result<Authorization, Error> {
        let config = read_credentials(settings)?;
        let login = config.as_ref().map_or(Login::Anonymous, |config| config.login(&self.registry, repository));
        let missing = match (&login, &config) {
            (Login::Anonymous, None) => Some(Missing::File),
            (Login::Anonymous, Some(config)) => {
                Some(config.helper(&self.registry).map_or(Missing::Entry, |helper| Missing::Helper(helper.to_owned())))
            }
            _ => None,
        };
        let repository_of_error = repository.to_owned();
        let anonymous = |missing| Error::Anonymous { host: self.registry.clone(), repository: repository_of_error, missing };
        match (scheme, login) {
            (Scheme::Basic, Login::Password { user, password }) => {
                Ok(Authorization { header: Some(basic(&user, &password)?), missing: None })
            }
            (Scheme::Basic, Login::Anonymous) => Err(anonymous(missing.unwrap_or(Missing::Entry))),
            (Scheme::Basic, Login::Identity(_) | Login::Token(_)) => Err(anonymous(Missing::Password)),
            (Scheme::Bearer { .. }, Login::Token(token)) => {
                Ok(Authorization { header: Some(secret(format!("Bearer {token}"))?), missing: None })
            }
            (Scheme::Bearer { realm, service }, login) => {
                let (login, missing) = self.login_at(&realm, login, missing);
                let ask = Ask { realm, service, repository, access };
                let token = ask.token(transport, login, missing.as_ref()).await?;
                let authorization = Authorization { header: Some(secret(format!("Bearer {}", token.value()))?), missing };
                let used = transport.seconds(token.expires_in().as_secs_f64() * USED_PART);
                let entry = (authorization.clone(), Instant::now() + used);
                let mut state = self.state.lock();
                // Those that have ended are of repositories that nobody may ask about again.
                state.tokens.retain(|_, (_, until)| *until > Instant::now());
                state.tokens.insert((repository.to_owned(), access), entry);
                Ok(authorization)
            }
        }
    }

    /// The login at a realm: none at another site. Also an entry for the realm's host is not for
    /// it, because the registry gets the token.
    fn login_at(&self, realm: &Url, login: Login, missing: Option<Missing>) -> (Login, Option<Missing>) {
        let registry = host_without_port(&self.registry);
        let host = realm.host_str().unwrap_or_default();
        if login == Login::Anonymous || is_same_site(registry, host) {
            return (login, missing);
        }
        (Login::Anonymous, Some(Missing::Realm))
    }
}

/// A request for a token.
struct Ask<'a> {
    realm: Url,
    service: Option<String>,
    repository: &'a str,
    access: Access,
}

impl Ask<'_> {
    async fn token(&self, transport: &Transport, login: Login, missing: Option<&Missing>) -> Result<Token, Error> {
        let host = host_of(&self.realm);
        let response = transport.send(&self.request(login)?, None).await?;
        match response.status() {
            StatusCode::OK => {}
            status if status.is_redirection() => {
                return Err(Error::Redirects { host, what: "the request for a token" });
            }
            status => return Err(self.refused(status, missing, response.message().await)),
        }
        let bytes = response.bytes("the token", bounds::TOKEN).await?;
        Token::parse(&bytes).map_err(|source| Error::Token { realm: host, source })
    }

    /// The request: a GET with the password, or a POST with the identity token.
    fn request(&self, login: Login) -> Result<Request, Error> {
        let scope = format!("repository:{}:{}", self.repository, self.access.actions());
        let service = self.service.as_deref();
        if let Login::Identity(token) = login {
            let mut form = Serializer::new(String::new());
            form.append_pair("grant_type", "refresh_token").append_pair("client_id", CLIENT);
            form.append_pair("scope", &scope).append_pair("refresh_token", &token);
            form.append_pair("service", service.unwrap_or_default());
            let request = Request::new(Method::POST, self.realm.clone()).body(Bytes::from(form.finish()));
            return Ok(request.header(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded")));
        }
        let mut url = self.realm.clone();
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("client_id", CLIENT).append_pair("scope", &scope);
            if let Some(service) = service {
                query.append_pair("service", service);
            }
        }
        let request = Request::new(Method::GET, url);
        match login {
            Login::Password { user, password } => Ok(request.header(AUTHORIZATION, basic(&user, &password)?)),
            _ => Ok(request),
        }
    }

    fn refused(&self, status: StatusCode, missing: Option<&Missing>, message: String) -> Error {
        let (host, repository) = (host_of(&self.realm), self.repository.to_owned());
        match (status, missing) {
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Some(missing)) => {
                Error::Anonymous { host, repository, missing: missing.clone() }
            }
            (StatusCode::UNAUTHORIZED, None) => Error::Unauthorized { host, repository, message },
            (StatusCode::FORBIDDEN, None) => Error::Denied { host, repository, message },
            _ => Error::Status { host, status: status.as_u16(), what: "a token".to_owned(), message },
        }
    }
}

/// The scheme that an answer asks for: tokens if it can be.
fn scheme(transport: &Transport, response: &Response) -> Result<Scheme, Error> {
    let host = || host_of(transport.base());
    let mut challenges = Vec::new();
    for header in response.headers().get_all(WWW_AUTHENTICATE) {
        let text = header.to_str().unwrap_or_default();
        challenges.extend(challenge::parse(text).map_err(|source| Error::Challenge { host: host(), source })?);
    }
    let mut bearers = challenges.iter().filter(|challenge| challenge.scheme == "bearer");
    if let Some((bearer, realm)) = bearers.find_map(|bearer| Some((bearer, bearer.parameter("realm")?))) {
        let realm = Url::parse(realm).map_err(|_| transport.no_place(realm))?;
        // Otherwise the registry could choose what the token, which it gets, is for.
        if realm.query_pairs().any(|(name, _)| OF_TOKENS.iter().any(|key| name.eq_ignore_ascii_case(key))) {
            return Err(Error::Challenge { host: host(), source: challenge::Error::Realm });
        }
        let service = bearer.parameter("service").map(str::to_owned);
        return Ok(Scheme::Bearer { realm, service });
    }
    if challenges.iter().any(|challenge| challenge.scheme == "basic") {
        return Ok(Scheme::Basic);
    }
    let shown = |scheme: &str| gyre_core::text::cut(scheme, 40);
    let schemes = challenges.iter().take(3).map(|challenge| shown(&challenge.scheme)).collect();
    Err(Error::Scheme { host: host(), schemes })
}

fn host_without_port(registry: &str) -> &str {
    let end = registry.rfind(']').map_or_else(|| registry.find(':'), |bracket| Some(bracket + 1));
    end.and_then(|end| registry.get(..end)).unwrap_or(registry)
}

fn basic(user: &str, password: &str) -> Result<HeaderValue, Error> {
    secret(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

/// A header that no log shows.
fn secret(value: String) -> Result<HeaderValue, Error> {
    let mut header = HeaderValue::try_from(value).map_err(|_| credentials::Error::Letters)?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_registry_is_without_its_port() {
        for (registry, expected) in [
            ("registry.example.com", "registry.example.com"),
            ("registry.example.com:5000", "registry.example.com"),
            ("[fd00::1]:5000", "[fd00::1]"),
            ("[fd00::1]", "[fd00::1]"),
        ] {
            assert_eq!(host_without_port(registry), expected);
        }
    }

    fn ask() -> Ask<'static> {
        Ask {
            realm: "https://auth.example.com/token?a=b".parse().unwrap(),
            service: Some("registry & co".to_owned()),
            repository: "team/echo",
            access: Access::Push,
        }
    }

    #[test]
    fn a_token_is_asked_for_with_the_scope_of_the_request() {
        let password = Login::Password { user: "me".to_owned(), password: "word".to_owned() };
        let request = ask().request(password).unwrap();
        let expected = "https://auth.example.com/token?a=b&client_id=gyre\
            &scope=repository%3Ateam%2Fecho%3Apull%2Cpush&service=registry+%26+co";
        assert_eq!((request.method, request.url.as_str()), (Method::GET, expected));
        assert_eq!(request.headers[AUTHORIZATION], "Basic bWU6d29yZA==");
        assert!(request.headers[AUTHORIZATION].is_sensitive());
        let request = ask().request(Login::Anonymous).unwrap();
        assert_eq!((request.url.as_str(), request.headers.len()), (expected, 0));
        let request = ask().request(Login::Identity("a b".to_owned())).unwrap();
        assert_eq!((request.method, request.url.query()), (Method::POST, Some("a=b")));
        let body = String::from_utf8(request.body.unwrap().to_vec()).unwrap();
        assert!(body.contains("grant_type=refresh_token") && body.contains("refresh_token=a+b"), "{body}");
    }
}
