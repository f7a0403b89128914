//! The sender of a request. Without authentication, a bearer token is the name of a user.

use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::status::Status;

/// A user, as in the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name, e.g. `system:admin`.
    pub name: String,
    /// The groups, e.g. `system:masters`.
    pub groups: Vec<String>,
}

/// The sender of a request, in the extensions of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// The user.
    pub user: User,
    /// The impersonated user.
    pub impersonated: Option<User>,
}

impl Requester {
    /// Returns the sender of a request with these headers.
    ///
    /// # Errors
    ///
    /// If the headers impersonate something other than a user.
    pub fn of(headers: &HeaderMap) -> Result<Self, Status> {
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let name = token.map(str::trim).filter(|token| !token.is_empty()).unwrap_or("system:admin");
        let groups = ["system:masters", "system:authenticated"].map(str::to_owned).to_vec();
        let user = User { name: name.to_owned(), groups };
        Ok(Self { user, impersonated: impersonated(headers)? })
    }

    /// Returns the impersonated user if there is one, else the user.
    pub fn effective(&self) -> &User {
        self.impersonated.as_ref().unwrap_or(&self.user)
    }
}

fn impersonated(headers: &HeaderMap) -> Result<Option<User>, Status> {
    let texts = |name: &str| headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok()).map(str::to_owned);
    let mut groups: Vec<String> = texts("impersonate-group").collect();
    let Some(name) = texts("impersonate-user").next().filter(|name| !name.is_empty()) else {
        return match groups.as_slice() {
            [] => Ok(None),
            groups => Err(Status::internal(format!("requested {groups:?} without impersonating a user"))),
        };
    };
    let account = name.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
    if let (Some((namespace, _)), true) = (account, groups.is_empty()) {
        groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    }
    if name != "system:anonymous" && !groups.iter().any(|group| group == "system:authenticated") {
        groups.push("system:authenticated".to_owned());
    }
    Ok(Some(User { name, groups }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &'static str)], user: &str, impersonated: Option<(&str, &[&str])>) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), http::HeaderValue::from_static(value)))
            .collect();
        let requester = Requester::of(&headers).unwrap();
        assert_eq!(requester.user.name, user);
        let found = requester.impersonated.as_ref().map(|user| (user.name.as_str(), user.groups.clone()));
        assert_eq!(found, impersonated.map(|(name, groups)| (name, groups.iter().map(|group| (*group).to_owned()).collect())));
    }

    #[test]
    fn a_token_is_the_name_of_a_user() {
        check(&[], "system:admin", None);
        check(&[("authorization", "Basic eDp5")], "system:admin", None);
        check(&[("authorization", "Bearer gyre-host-x")], "gyre-host-x", None);
    }

    #[test]
    fn users_act_in_the_name_of_others() {
        check(&[("impersonate-user", "a")], "system:admin", Some(("a", &["system:authenticated"])));
        let headers = [("impersonate-user", "a"), ("impersonate-group", "g")];
        check(&headers, "system:admin", Some(("a", &["g", "system:authenticated"])));
        let groups = ["system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"];
        let name = "system:serviceaccount:n:a";
        check(&[("authorization", "Bearer t"), ("impersonate-user", name)], "t", Some((name, &groups)));
    }

    #[test]
    fn a_group_without_a_user_is_refused() {
        let headers = HeaderMap::from_iter([(http::HeaderName::from_static("impersonate-group"), "g".parse().unwrap())]);
        assert_eq!(Requester::of(&headers).unwrap_err().code, 500);
    }
}
