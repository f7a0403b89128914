//! Returns a status of 32 MiB: four times the limit of a host, in half of the memory limit.

use gyre_sdk::Plan;

const LENGTH: usize = 32 * 1024 * 1024;
const HEAD: &[u8] = b"{\"text\":\"";
const TAIL: &[u8] = b"\"}";

gyre_guests::guest!(EndlessOutput, || {
    let mut status = Vec::with_capacity(LENGTH);
    status.extend_from_slice(HEAD);
    status.resize(LENGTH - TAIL.len(), b'x');
    status.extend_from_slice(TAIL);
    Ok(Plan { status: Some(Ok(status)), ..Plan::keep_children() })
});
