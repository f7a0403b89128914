//! Requests to the API of one registry, each with the authorization that it needs.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use reqwest::Url;
use tokio_rustls::rustls::ClientConfig;

use crate::authorization::{Access, Authorization, Authorizations};
use crate::bounds;
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::Descriptor;
use crate::media_type;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::transport::{Request, Response, Transfer, Transport, host_of};

/// The host of the API of `docker.io`, which is only a name for people.
const DOCKER: (&str, &str) = ("docker.io", "registry-1.docker.io");

const DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");
/// The header by which a registry says that it lists a manifest among the referrers of its subject.
const SUBJECT: HeaderName = HeaderName::from_static("oci-subject");

/// The client of one registry.
#[derive(Debug)]
pub(crate) struct Session {
    /// The registry, as in references.
    registry: String,
    settings: Arc<Settings>,
    transport: Transport,
    authorizations: Authorizations,
}

/// The subject of a request, for authorization and errors.
#[derive(Clone, Copy, Debug)]
struct Target<'a> {
    repository: &'a str,
    access: Access,
    /// The tag, digest or action.
    what: &'a str,
}

impl Session {
    pub(crate) fn new(registry: &str, tls: &ClientConfig, settings: Arc<Settings>) -> Result<Self, Error> {
        let scheme = if settings.insecure.contains(registry) { "http" } else { "https" };
        let host = if registry == DOCKER.0 { DOCKER.1 } else { registry };
        let base = format!("{scheme}://{host}/");
        let base = Url::parse(&base).map_err(|_| Error::Place { host: registry.to_owned(), place: base })?;
        Ok(Self {
            registry: registry.to_owned(),
            transport: Transport::new(base, tls, &settings)?,
            authorizations: Authorizations::new(registry.to_owned()),
            settings,
        })
    }

    /// The digest of a manifest, if the registry says it without the manifest.
    pub(crate) async fn digest(&self, repository: &str, target: &str) -> Result<Option<Digest>, Error> {
        let to = Target { repository, access: Access::Pull, what: target };
        let request = self.request(Method::HEAD, &format!("{repository}/manifests/{target}"))?;
        let response = self.call(request.header(ACCEPT, accepted()), to, None).await?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(None);
        }
        let response = self.expect(response, &[StatusCode::OK], to).await?;
        Ok(announced(&response))
    }

    /// The bytes of a manifest or an index, which have the digest that was asked for or announced.
    pub(crate) async fn manifest(&self, repository: &str, target: &str) -> Result<(Digest, Vec<u8>), Error> {
        let to = Target { repository, access: Access::Pull, what: target };
        let request = self.request(Method::GET, &format!("{repository}/manifests/{target}"))?;
        let response = self.call(request.header(ACCEPT, accepted()), to, None).await?;
        let response = self.expect(response, &[StatusCode::OK], to).await?;
        let (host, announced) = (response.host.clone(), announced(&response));
        let bytes = response.bytes("the manifest", bounds::MANIFEST).await?;
        let found = Digest::of(&bytes);
        match target.parse().ok().or(announced) {
            Some(expected) if expected != found => Err(Error::Digest { host, expected, found }),
            _ => Ok((found, bytes)),
        }
    }

    /// The body of a blob, which is neither hashed nor counted yet.
    pub(crate) async fn blob(&self, repository: &str, blob: &Descriptor) -> Result<Transfer, Error> {
        let what = blob.digest.to_string();
        let to = Target { repository, access: Access::Pull, what: &what };
        let request = self.request(Method::GET, &format!("{repository}/blobs/{what}"))?;
        let response = self.call(request, to, None).await?;
        let response = self.expect(response, &[StatusCode::OK], to).await?;
        match response.length() {
            Some(found) if found != blob.size => {
                Err(Error::Size { host: response.host, digest: blob.digest, expected: blob.size, found })
            }
            _ => Ok(response.transfer(blob.size)),
        }
    }

    /// The bytes of a small blob.
    pub(crate) async fn small_blob(&self, repository: &str, blob: &Descriptor, limit: u64) -> Result<Vec<u8>, Error> {
        if blob.size > limit {
            return Err(Error::TooLarge { host: self.host(), what: "a config or a signature", limit });
        }
        let mut transfer = self.blob(repository, blob).await?;
        let mut bytes = Vec::new();
        while let Some(piece) = transfer.next().await? {
            bytes.extend_from_slice(&piece);
            check_size(&transfer, blob, bytes.len() as u64)?;
        }
        check_end(&transfer, blob, bytes.len() as u64, Digest::of(&bytes))?;
        Ok(bytes)
    }

    /// Uploads a blob, unless the repository has it.
    pub(crate) async fn push_blob(
        &self,
        repository: &str,
        blob: &Descriptor,
        bytes: Bytes,
        progress: Option<&dyn Progress>,
    ) -> Result<(), Error> {
        let what = blob.digest.to_string();
        let to = Target { repository, access: Access::Push, what: &what };
        let request = self.request(Method::HEAD, &format!("{repository}/blobs/{what}"))?;
        if self.call(request, to, None).await?.status() == StatusCode::OK {
            return Ok(());
        }
        let request = self.request(Method::POST, &format!("{repository}/blobs/uploads/"))?;
        let start = request.url.clone();
        let response = self.call(request.header(CONTENT_LENGTH, HeaderValue::from_static("0")), to, None).await?;
        let response = self.expect(response, &[StatusCode::ACCEPTED], to).await?;
        let place = response.header(LOCATION).unwrap_or_default().to_owned();
        if place.is_empty() {
            return Err(self.transport.no_place(&place));
        }
        let mut url = self.transport.place(&start, &place)?;
        url.query_pairs_mut().append_pair("digest", &what);
        let request = Request::new(Method::PUT, url).body(bytes);
        let request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        let response = self.call(request, to, progress).await?;
        self.expect(response, &[StatusCode::CREATED, StatusCode::NO_CONTENT], to).await?;
        Ok(())
    }

    /// Uploads a manifest or an index. Returns whether the registry lists it among the referrers of
    /// its subject.
    pub(crate) async fn push_manifest(
        &self,
        repository: &str,
        target: &str,
        media_type: &'static str,
        bytes: Vec<u8>,
    ) -> Result<bool, Error> {
        let to = Target { repository, access: Access::Push, what: target };
        let digest = Digest::of(&bytes);
        let request = self.request(Method::PUT, &format!("{repository}/manifests/{target}"))?.body(bytes.into());
        let request = request.header(CONTENT_TYPE, HeaderValue::from_static(media_type));
        let response = self.call(request, to, None).await?;
        let response = self.expect(response, &[StatusCode::CREATED, StatusCode::OK], to).await?;
        match announced(&response) {
            Some(found) if found != digest => Err(Error::Digest { host: self.host(), expected: digest, found }),
            _ => Ok(response.headers().contains_key(SUBJECT)),
        }
    }

    /// A page of the answer about referrers, with the place of the next one; `None` if the registry
    /// does not have this API.
    pub(crate) async fn referrers(
        &self,
        repository: &str,
        subject: &Digest,
        page: Option<Url>,
    ) -> Result<Option<(Vec<u8>, Option<Url>)>, Error> {
        let to = Target { repository, access: Access::Pull, what: "the referrers" };
        let url = match page {
            Some(url) => url,
            None => self.request(Method::GET, &format!("{repository}/referrers/{subject}"))?.url,
        };
        let request = Request::new(Method::GET, url.clone()).header(ACCEPT, HeaderValue::from_static(media_type::INDEX));
        let response = self.call(request, to, None).await?;
        // Registries without the API answer with any of these.
        let absent = [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_IMPLEMENTED];
        if absent.contains(&response.status()) {
            return Ok(None);
        }
        let response = self.expect(response, &[StatusCode::OK], to).await?;
        let next = response.header(http::header::LINK).and_then(next_page).map(str::to_owned);
        // The next page is at the registry, too.
        let next = next.map(|place| self.transport.place(&url, &place)).transpose()?;
        let next = next.filter(|next| next.origin() == self.transport.base().origin());
        let bytes = response.bytes("the list of referrers", bounds::MANIFEST).await?;
        Ok(Some((bytes, next)))
    }

    pub(crate) fn host(&self) -> String {
        host_of(self.transport.base())
    }

    /// Returns whether the registry is at this host of URLs, without a port.
    pub(crate) fn is_at(&self, host: &str) -> bool {
        self.transport.base().host_str() == Some(host)
    }

    fn request(&self, method: Method, path: &str) -> Result<Request, Error> {
        Ok(Request::new(method, self.transport.place(self.transport.base(), &format!("v2/{path}"))?))
    }

    /// Sends a request with the authorization that the registry wants, which is renewed once.
    async fn call(&self, request: Request, to: Target<'_>, progress: Option<&dyn Progress>) -> Result<Response, Error> {
        let Target { repository, access, .. } = to;
        let known = self.authorizations.get(&self.transport, &self.settings, repository, access).await;
        let header = known.as_ref().and_then(|known| known.header.as_ref());
        let response = self.transport.follow(request.clone(), header, progress).await?;
        if response.status() != StatusCode::UNAUTHORIZED || !response.is_of_registry {
            return Ok(response);
        }
        let renewed = self.authorizations.renew(&self.transport, &self.settings, repository, access, response).await?;
        let response = self.transport.follow(request, renewed.header.as_ref(), progress).await?;
        if response.status() == StatusCode::UNAUTHORIZED && response.is_of_registry {
            return Err(self.unauthorized(response, renewed, repository).await);
        }
        Ok(response)
    }

    async fn unauthorized(&self, response: Response, sent: Authorization, repository: &str) -> Error {
        let (host, repository) = (self.registry.clone(), repository.to_owned());
        match sent.missing {
            Some(missing) => Error::Anonymous { host, repository, missing },
            None => Error::Unauthorized { host, repository, message: response.message().await },
        }
    }

    /// Returns the answer, if it has one of these statuses.
    async fn expect(&self, response: Response, expected: &[StatusCode], to: Target<'_>) -> Result<Response, Error> {
        let status = response.status();
        if expected.contains(&status) {
            return Ok(response);
        }
        let (host, is_of_registry) = (response.host.clone(), response.is_of_registry);
        let (what, repository) = (to.what.to_owned(), to.repository.to_owned());
        let message = response.message().await;
        Err(match status {
            StatusCode::FORBIDDEN if is_of_registry => Error::Denied { host, repository, message },
            StatusCode::NOT_FOUND if is_of_registry => Error::NotFound { host, repository, what, message },
            _ => Error::Status { host, status: status.as_u16(), what, message },
        })
    }
}

/// Checks the size of a blob that is still being read.
pub(crate) fn check_size(transfer: &Transfer, blob: &Descriptor, so_far: u64) -> Result<(), Error> {
    if so_far <= blob.size {
        return Ok(());
    }
    let host = transfer.host.clone();
    Err(Error::Size { host, digest: blob.digest, expected: blob.size, found: so_far })
}

/// Checks the size and the digest of a blob that has been read to its end.
pub(crate) fn check_end(transfer: &Transfer, blob: &Descriptor, size: u64, found: Digest) -> Result<(), Error> {
    let host = transfer.host.clone();
    if size < blob.size {
        return Err(Error::Interrupted { host, source: None });
    }
    if found != blob.digest {
        return Err(Error::Digest { host, expected: blob.digest, found });
    }
    Ok(())
}

/// The media types of manifests that are asked for: an index, too, for an error that says so.
fn accepted() -> HeaderValue {
    const BOTH: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";
    HeaderValue::from_static(BOTH)
}

/// The digest in a header. One that cannot be read, e.g. with SHA-512, counts as absent.
fn announced(response: &Response) -> Option<Digest> {
    response.header(DIGEST)?.trim().parse().ok()
}

/// The target of `<target>; rel="next"`.
fn next_page(link: &str) -> Option<&str> {
    let mut links = link.split(',').filter(|link| link.contains("rel=\"next\"") || link.contains("rel=next"));
    links.next()?.trim().strip_prefix('<')?.split_once('>').map(|(target, _)| target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found() {
        for (link, expected) in [
            ("</v2/a/referrers/b?n=2>; rel=\"next\"", Some("/v2/a/referrers/b?n=2")),
            ("<a>; rel=\"last\", <b>; rel=next", Some("b")),
            ("<a>; rel=\"last\"", None),
            ("a; rel=\"next\"", None),
            ("", None),
        ] {
            assert_eq!(next_page(link), expected, "{link}");
        }
    }

    #[test]
    fn the_types_of_manifests_are_those_that_are_read() {
        let accepted = accepted();
        let types: Vec<&str> = accepted.to_str().unwrap().split(", ").collect();
        assert_eq!(types, [media_type::MANIFEST, media_type::INDEX]);
    }

    #[test]
    fn the_api_of_a_registry_is_at_its_host() {
        let tls = crate::tls::client_config(None).unwrap();
        let insecure = ["localhost:5000".to_owned()].into();
        let settings = Arc::new(Settings { insecure, ..Settings::default() });
        for (registry, expected) in [
            ("registry.example.com", "https://registry.example.com/v2/a/blobs/b"),
            ("docker.io", "https://registry-1.docker.io/v2/a/blobs/b"),
            ("localhost:5000", "http://localhost:5000/v2/a/blobs/b"),
            ("localhost:5001", "https://localhost:5001/v2/a/blobs/b"),
            ("[::1]:5000", "https://[::1]:5000/v2/a/blobs/b"),
        ] {
            let session = Session::new(registry, &tls, Arc::clone(&settings)).unwrap();
            assert_eq!(session.request(Method::GET, "a/blobs/b").unwrap().url.as_str(), expected);
        }
    }
}
