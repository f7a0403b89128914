//! Authentication and authorization of clients by TokenReview and SubjectAccessReview.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gyre_sandbox::Digest;
use http::{HeaderMap, StatusCode, header};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::error::error_chain;

/// How long a permission is cached, as controller-runtime caches tokens.
const ALLOWED_FOR: Duration = Duration::from_secs(60);
/// How long a refusal is cached; a missing permission may be granted soon.
const REFUSED_FOR: Duration = Duration::from_secs(10);
/// The maximum number of cached answers. There are one or two scrapers, and perhaps intruders.
const KEPT: usize = 256;
const ASKED_AT_ONCE: usize = 4;
/// The time limit of reviews; scrapers give up earlier.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

type Answer = Result<(), Refusal>;

/// Recent answers of the API server. Only digests of tokens are stored.
#[derive(Default)]
struct Answers(HashMap<(Digest, String), (Instant, Answer)>);

impl Answers {
    fn find(&self, token: &Digest, path: &str, now: Instant) -> Option<Answer> {
        let (until, answer) = self.0.get(&(*token, path.to_owned()))?;
        (now < *until).then(|| answer.clone())
    }

    fn insert(&mut self, token: Digest, path: &str, answer: Answer, now: Instant) {
        self.0.retain(|_, (until, _)| now < *until);
        // Anybody can cause refusals, so they only replace each other.
        if self.0.len() >= KEPT && !self.0.contains_key(&(token, path.to_owned())) {
            let soonest = self.0.iter().min_by_key(|(_, (until, _))| *until).map(|(key, _)| key.clone());
            soonest.and_then(|key| self.0.remove(&key));
        }
        let kept_for = if answer.is_ok() { ALLOWED_FOR } else { REFUSED_FOR };
        self.0.insert((token, path.to_owned()), (now + kept_for, answer));
    }
}

pub(super) struct Access {
    answers: Mutex<Answers>,
    questions: Semaphore,
}

impl Access {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { answers: Mutex::default(), questions: Semaphore::new(ASKED_AT_ONCE) })
    }

    /// Checks that the client may `get` the path. Without `client`, the API server cannot be asked
    /// yet.
    pub(super) async fn check(&self, client: Option<&Client>, headers: &HeaderMap, path: &str) -> Answer {
        let token = bearer(headers).ok_or_else(unknown)?;
        let client = client.ok_or_else(|| unanswered("the API server has not answered yet"))?;
        let digest = Digest::of(token.as_bytes());
        if let Some(answer) = self.answers().find(&digest, path, Instant::now()) {
            return answer;
        }
        let _turn = self.questions.acquire().await;
        if let Some(answer) = self.answers().find(&digest, path, Instant::now()) {
            return answer;
        }
        let answer = match tokio::time::timeout(ANSWERED_WITHIN, review(client, token, path)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                warn!(error = %error_chain(&error), "cannot ask the API server who may get {path}");
                return Err(unanswered("the API server cannot be asked whether this is permitted; see the log of the host"));
            }
            Err(_) => return Err(unanswered("the API server did not answer whether this is permitted")),
        };
        self.answers().insert(digest, path, answer.clone(), Instant::now());
        answer
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock()
    }
}

fn unknown() -> Refusal {
    Refusal { status: StatusCode::UNAUTHORIZED, message: "Unauthorized: this needs a bearer token".to_owned() }
}

fn unanswered(message: &str) -> Refusal {
    Refusal { status: StatusCode::INTERNAL_SERVER_ERROR, message: message.to_owned() }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

async fn review(client: &Client, token: &str, path: &str) -> kube::Result<Answer> {
    let review = TokenReview {
        spec: TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() },
        ..TokenReview::default()
    };
    let review = Api::all(client.clone()).create(&PostParams::default(), &review).await?;
    let status = review.status.unwrap_or_default();
    let user = match status.user {
        Some(user) if status.authenticated == Some(true) => user,
        _ => {
            debug!(error = status.error, "the API server does not accept the token");
            return Ok(Err(unknown()));
        }
    };
    let name = user.username.clone().unwrap_or_default();
    let review = Api::all(client.clone()).create(&PostParams::default(), &may_get(user, path)).await?;
    let status = review.status.unwrap_or_default();
    if status.allowed && status.denied != Some(true) {
        return Ok(Ok(()));
    }
    debug!(user = name, reason = status.reason, "not permitted to get {path}");
    Ok(Err(Refusal { status: StatusCode::FORBIDDEN, message: format!("Forbidden: {name} may not get {path}") }))
}

fn may_get(user: UserInfo, path: &str) -> SubjectAccessReview {
    let non_resource_attributes = Some(NonResourceAttributes { path: Some(path.to_owned()), verb: Some("get".to_owned()) });
    let UserInfo { extra, groups, uid, username } = user;
    let spec = SubjectAccessReviewSpec {
        extra,
        groups,
        uid,
        user: username,
        non_resource_attributes,
        ..SubjectAccessReviewSpec::default()
    };
    SubjectAccessReview { spec, ..SubjectAccessReview::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: usize) -> Digest {
        Digest::of(&number.to_be_bytes())
    }

    fn refused() -> Answer {
        Err(unknown())
    }

    #[tokio::test(start_paused = true)]
    async fn answers_are_kept_briefly_and_for_one_path() {
        let mut answers = Answers::default();
        answers.insert(digest(0), "/metrics", Ok(()), Instant::now());
        answers.insert(digest(1), "/metrics", refused(), Instant::now());
        let find = |answers: &Answers, number, path| answers.find(&digest(number), path, Instant::now());
        assert_eq!(find(&answers, 0, "/metrics"), Some(Ok(())));
        assert_eq!(find(&answers, 0, "/debug/state"), None);
        assert_eq!(find(&answers, 1, "/metrics"), Some(refused()));
        tokio::time::advance(REFUSED_FOR).await;
        assert_eq!(find(&answers, 1, "/metrics"), None);
        assert_eq!(find(&answers, 0, "/metrics"), Some(Ok(())));
        tokio::time::advance(ALLOWED_FOR).await;
        assert_eq!(find(&answers, 0, "/metrics"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn invented_tokens_take_bounded_memory_and_evict_no_permission() {
        let mut answers = Answers::default();
        answers.insert(digest(0), "/metrics", Ok(()), Instant::now());
        for number in 1..10_000 {
            answers.insert(digest(number), "/metrics", refused(), Instant::now());
        }
        assert_eq!(answers.0.len(), KEPT);
        assert_eq!(answers.find(&digest(0), "/metrics", Instant::now()), Some(Ok(())));
    }

    #[test]
    fn a_bearer_token_is_found() {
        let token = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(token("Bearer abc.def"), Some("abc.def".to_owned()));
        assert_eq!(token("bearer  abc "), Some("abc".to_owned()));
        for other in ["", "Bearer", "Bearer ", "Basic abc", "abc"] {
            assert_eq!(token(other), None, "{other}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }
}
