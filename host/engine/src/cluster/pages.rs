//! Lists from the API server, page by page, with only the metadata of the objects. A list of any
//! length takes the memory of one page.

use std::collections::VecDeque;

use kube::api::{ListParams, ObjectList};
use kube::core::Request;
use kube::{Api, Client};

use crate::client::answered;
use crate::cluster::kinds::Resource;
use crate::cluster::object::{Received, SharedObject};

/// The page size. The annotations of one object may take 256 KiB, so a page takes at most some
/// 30 MiB, and usually less than 1 MiB.
const PAGE: u32 = 100;

/// A list of a kind in some namespaces, one after the other.
pub(crate) struct MetadataPages<'a> {
    client: &'a Client,
    resource: &'a Resource,
    namespaces: VecDeque<Option<&'a str>>,
    parameters: ListParams,
}

impl<'a> MetadataPages<'a> {
    /// `None` among the namespaces means all of them, or a cluster-scoped kind.
    pub(crate) fn new(
        client: &'a Client,
        resource: &'a Resource,
        namespaces: impl IntoIterator<Item = Option<&'a str>>,
        selector: Option<&str>,
    ) -> Self {
        let parameters = ListParams { label_selector: selector.map(str::to_owned), ..ListParams::default().limit(PAGE) };
        Self { client, resource, namespaces: namespaces.into_iter().collect(), parameters }
    }

    /// Returns the next page, which may be empty; `None` after the last one.
    ///
    /// # Errors
    ///
    /// Those of the request.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<SharedObject>>, kube::Error> {
        let Some(namespace) = self.namespaces.front() else { return Ok(None) };
        let api: Api<Received> = self.resource.api(self.client, *namespace);
        let request = Request::new(api.resource_url()).list_metadata(&self.parameters).map_err(kube::Error::BuildRequest)?;
        let page = answered(self.client.request::<ObjectList<Received>>(request)).await;
        let (next, objects) = match page {
            Ok(page) => (page.metadata.continue_, page.items.into_iter().filter_map(|item| item.object.ok()).collect()),
            // The snapshot was compacted, because the work on a page may take minutes. This token
            // continues with the current objects.
            Err(kube::Error::Api(status)) if status.code == 410 && self.parameters.continue_token.is_some() => {
                let token = status.metadata.as_ref().and_then(|metadata| metadata.continue_.clone());
                if token.as_ref().is_none_or(String::is_empty) {
                    return Err(kube::Error::Api(status));
                }
                (token, Vec::new())
            }
            Err(error) => return Err(error),
        };
        self.parameters.continue_token = next.filter(|next| !next.is_empty());
        if self.parameters.continue_token.is_none() {
            self.namespaces.pop_front();
        }
        Ok(Some(objects))
    }
}
