//! The attributes of a request, from its method and path, for the audit log and the faults.

use http::Method;
use http::request::Parts;

/// The attributes of a request as in `RequestInfoFactory.NewRequestInfo`; empty where absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// A Kubernetes verb, e.g. `list`; for non-resource paths the HTTP method in lower case.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The plural of the kind; empty for non-resource paths.
    pub resource: String,
    /// The subresource, e.g. `status`.
    pub subresource: String,
    /// The namespace of the object.
    pub namespace: String,
    /// The name of the object, if the path contains it.
    pub name: String,
}

impl Attributes {
    /// Returns the attributes of a request.
    pub fn of(request: &Parts) -> Self {
        let path = request.uri.path().trim_matches('/');
        let mut segments = path.split('/');
        let mut attributes = Self { verb: request.method.as_str().to_lowercase(), ..Self::default() };
        match (segments.next(), path.split('/').count()) {
            (Some("api"), 3..) => {}
            (Some("apis"), 4..) => attributes.group = segments.next().unwrap_or_default().to_owned(),
            _ => return attributes,
        }
        attributes.version = segments.next().unwrap_or_default().to_owned();
        let mut segments: Vec<&str> = segments.collect();
        attributes.verb = verb(&request.method).to_owned();
        if let ["watch" | "proxy", _, ..] = segments.as_slice() {
            attributes.verb = segments.remove(0).to_owned();
        }
        let parts = match segments.as_slice() {
            ["namespaces", namespace, rest @ ..] => {
                attributes.namespace = (*namespace).to_owned();
                match rest {
                    [] | ["status" | "finalize", ..] => segments.as_slice(),
                    rest => rest,
                }
            }
            parts => parts,
        };
        let part = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
        (attributes.resource, attributes.name, attributes.subresource) = (part(0), part(1), part(2));
        if attributes.name.is_empty() {
            attributes.without_a_name(request.uri.query().unwrap_or_default());
        }
        attributes
    }

    fn without_a_name(&mut self, query: &str) {
        match self.verb.as_str() {
            "get" => {
                let is_watch = parameter(query, "watch").is_some_and(|value| !["false", "0"].contains(&&*value.to_lowercase()));
                self.verb = if is_watch { "watch" } else { "list" }.to_owned();
                let selector = parameter(query, "fieldSelector").unwrap_or_default();
                let name = selector.split(',').find_map(|term| term.strip_prefix("metadata.name="));
                self.name = name.map_or_else(String::new, |name| name.trim_start_matches('=').to_owned());
            }
            "delete" => "deletecollection".clone_into(&mut self.verb),
            _ => {}
        }
    }

    /// Returns whether it is a write.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }
}

fn verb(method: &Method) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::GET | Method::HEAD => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    }
}

pub(crate) fn parameter(query: &str, name: &str) -> Option<String> {
    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &str, uri: &str, expected: [&str; 7]) {
        let (parts, ()) = http::Request::builder().method(method).uri(uri).body(()).unwrap().into_parts();
        let found = Attributes::of(&parts);
        let Attributes { verb, group, version, resource, subresource, namespace, name } = &found;
        assert_eq!([verb, group, version, resource, subresource, namespace, name], expected, "{method} {uri}");
    }

    #[test]
    fn attributes_are_those_that_the_real_server_finds() {
        check("GET", "/api/v1/pods", ["list", "", "v1", "pods", "", "", ""]);
        check("GET", "/api/v1/namespaces/a/pods/b/log", ["get", "", "v1", "pods", "log", "a", "b"]);
        check("GET", "/api/v1/namespaces/a", ["get", "", "v1", "namespaces", "", "a", "a"]);
        check("PUT", "/api/v1/namespaces/a/finalize", ["update", "", "v1", "namespaces", "finalize", "a", "a"]);
        check("GET", "/apis/batch/v1/jobs?watch=1", ["watch", "batch", "v1", "jobs", "", "", ""]);
        check("GET", "/apis/batch/v1/jobs?watch=false", ["list", "batch", "v1", "jobs", "", "", ""]);
        check("GET", "/apis/batch/v1/watch/namespaces/a/jobs", ["watch", "batch", "v1", "jobs", "", "a", ""]);
        check("GET", "/apis/batch/v1/jobs?fieldSelector=metadata.name%3Dx", ["list", "batch", "v1", "jobs", "", "", "x"]);
        check("DELETE", "/apis/batch/v1/namespaces/a/jobs", ["deletecollection", "batch", "v1", "jobs", "", "a", ""]);
        check("POST", "/apis/batch/v1/namespaces/a/jobs", ["create", "batch", "v1", "jobs", "", "a", ""]);
        check("PATCH", "/apis/batch/v1/namespaces/a/jobs/b/status", ["patch", "batch", "v1", "jobs", "status", "a", "b"]);
        check("POST", "/apis/batch/v1", ["post", "", "", "", "", "", ""]);
        check("GET", "/healthz", ["get", "", "", "", "", "", ""]);
        check("GET", "/", ["get", "", "", "", "", "", ""]);
    }
}
