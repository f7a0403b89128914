//! Parses requests: the path, the query, the body and the form of the answer.

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod expected;
pub(crate) mod options;
pub(crate) mod protobuf;

use percent_encoding::percent_decode_str;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/G`.
    Group(String),
    /// `/api/v1` and `/apis/G/V`.
    Version { group: String, version: String },
    /// Objects of a kind, or one object.
    Resource(ResourcePath),
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`.
    OpenApiIndex,
    /// `/openapi/v3/…`.
    OpenApi(String),
    /// `/version`.
    ServerVersion,
    /// `/healthz`, `/readyz`, `/livez` and the paths below.
    Health(String),
    /// `/`.
    Root,
    /// Any other path.
    Unknown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// The old form `/api/v1/watch/…` of `?watch=true`.
    pub(crate) is_watch: bool,
}

impl Target {
    pub(crate) fn parse(path: &str) -> Self {
        let segments: Vec<String> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
            .collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            [] => Self::Root,
            ["api"] => Self::CoreVersions,
            ["api", version] => Self::Version { group: String::new(), version: (*version).to_owned() },
            ["api", version, rest @ ..] => ResourcePath::parse("", version, rest).map_or(Self::Unknown, Self::Resource),
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group((*group).to_owned()),
            ["apis", group, version] => Self::Version { group: (*group).to_owned(), version: (*version).to_owned() },
            ["apis", group, version, rest @ ..] => {
                ResourcePath::parse(group, version, rest).map_or(Self::Unknown, Self::Resource)
            }
            ["openapi", "v2"] => Self::OpenApiV2,
            ["openapi", "v3"] => Self::OpenApiIndex,
            ["openapi", "v3", rest @ ..] => Self::OpenApi(rest.join("/")),
            ["version"] => Self::ServerVersion,
            ["healthz" | "readyz" | "livez", ..] => Self::Health(segments.join("/")),
            _ => Self::Unknown,
        }
    }
}

impl ResourcePath {
    fn parse(group: &str, version: &str, rest: &[&str]) -> Option<Self> {
        let (is_watch, rest) = match rest {
            ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
            rest => (false, rest),
        };
        let path = Self { group: group.to_owned(), version: version.to_owned(), is_watch, ..Self::default() };
        let owned = |text: &&str| Some((*text).to_owned());
        // Only `status` and `finalize` are subresources of namespaces; other names are kinds.
        Some(match rest {
            ["namespaces", name, subresource @ ("status" | "finalize")] if group.is_empty() => {
                Self { plural: "namespaces".to_owned(), name: owned(name), subresource: owned(subresource), ..path }
            }
            ["namespaces", namespace, plural, rest @ ..] => {
                let path = Self { namespace: owned(namespace), plural: (*plural).to_owned(), ..path };
                path.with_name(rest)?
            }
            [plural, rest @ ..] => Self { plural: (*plural).to_owned(), ..path }.with_name(rest)?,
            [] => return None,
        })
    }

    fn with_name(self, rest: &[&str]) -> Option<Self> {
        let owned = |text: &&str| Some((*text).to_owned());
        match rest {
            [] => Some(self),
            [name] => Some(Self { name: owned(name), ..self }),
            [name, subresource] => Some(Self { name: owned(name), subresource: owned(subresource), ..self }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> String {
        match Target::parse(path) {
            Target::Resource(path) => format!(
                "{}|{}|{}|{}|{}|{}",
                path.group,
                path.version,
                path.namespace.unwrap_or_default(),
                path.plural,
                path.name.unwrap_or_default(),
                path.subresource.unwrap_or_default()
            ),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn paths_name_what_the_api_conventions_say() {
        for (path, expected) in [
            ("/api/v1/namespaces", "|v1||namespaces||"),
            ("/api/v1/namespaces/a", "|v1||namespaces|a|"),
            ("/api/v1/namespaces/a/status", "|v1||namespaces|a|status"),
            ("/api/v1/namespaces/a/finalize", "|v1||namespaces|a|finalize"),
            ("/api/v1/namespaces/a/pods", "|v1|a|pods||"),
            ("/api/v1/namespaces/a/pods/b/status", "|v1|a|pods|b|status"),
            ("/api/v1/pods", "|v1||pods||"),
            ("/apis/batch/v1/namespaces/a/jobs/b", "batch|v1|a|jobs|b|"),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
                "rbac.authorization.k8s.io|v1||clusterroles|system:node|",
            ),
            ("/api/v1/watch/namespaces/a/pods", "|v1|a|pods||"),
            ("/api/v1/namespaces/a/pods/b/c/d", "Unknown"),
            ("/apis", "Groups"),
            ("//api//", "CoreVersions"),
            ("/nonsense", "Unknown"),
        ] {
            assert_eq!(resource(path), expected, "{path}");
        }
    }
}
