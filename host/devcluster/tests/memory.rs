//! The memory that clients cost which do not read.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod raw;

use std::alloc::System;

use bytes::Bytes;
use gyre_devcluster::http::Limits;
use gyre_devcluster::{Clock, Cluster, Options, Service};
use http::Request;
use raw::{MAPS, Serving, exchange, head, rest, split};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Mutex;

/// Counts allocations, because the size of the process depends on the allocator and the machine.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Runs one test at a time, so that none counts the memory of another.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Raises the limit of files, because each connection is two files of this process.
fn permit_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
}

fn write(service: &Service, method: &str, path: &str, number: usize) {
    let text = format!("{number:01000}");
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "text": text } });
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let response = service.cluster().handle(&request.body(Bytes::from(map.to_string())).unwrap());
    assert!(response.status().is_success(), "{:?}", response.body());
}

fn growth(since: &Region<'_, System>) -> isize {
    let change = since.change();
    isize::try_from(change.bytes_allocated).unwrap() - isize::try_from(change.bytes_deallocated).unwrap()
}

#[tokio::test]
async fn thousands_of_watches_that_nobody_reads_cost_little() {
    const WATCHES: usize = 2_000;
    let _alone = ALONE.lock().await;
    permit_many_files();
    let service = Service::new(Cluster::start(&Options::default(), Clock::System));
    let server = Serving::start(service.clone(), Limits::default()).await;
    write(&service, "POST", MAPS, 0);
    let before = Region::new(ALLOCATOR);
    let mut connections = Vec::new();
    for _ in 0..WATCHES {
        let mut connection = server.connect().await;
        connection.write_all(head("GET", &format!("{MAPS}?watch=true&resourceVersion=0"), "").as_bytes()).await.unwrap();
        connections.push(connection);
    }
    for connection in &connections {
        connection.readable().await.unwrap();
    }
    for number in 0..100 {
        write(&service, "PUT", &format!("{MAPS}/a"), number);
        tokio::task::yield_now().await;
    }
    let connection = server.connect().await;
    assert_eq!(split(&exchange(connection, head("GET", "/version", "")).await).0, 200);
    let grown = growth(&before) / isize::try_from(WATCHES).unwrap();
    assert!(grown < 64 * 1024, "{grown} bytes per watch");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_told_that_it_is_too_late() {
    const HISTORY: usize = 8 << 20;
    let _alone = ALONE.lock().await;
    let options = Options { history_bytes: HISTORY, ..Options::default() };
    let service = Service::new(Cluster::start(&options, Clock::System));
    let server = Serving::start(service.clone(), Limits::default()).await;
    write(&service, "POST", MAPS, 0);
    let mut connection = server.connect().await;
    connection.write_all(head("GET", &format!("{MAPS}?watch=true&resourceVersion=0"), "").as_bytes()).await.unwrap();
    connection.readable().await.unwrap();
    let before = Region::new(ALLOCATOR);
    for number in 0..30_000 {
        write(&service, "PUT", &format!("{MAPS}/a"), number);
        if number % 10 == 0 {
            tokio::task::yield_now().await;
        }
    }
    // The history, and buffers. 30,000 changes of objects of 1 KB would take ten times that.
    let grown = growth(&before);
    assert!(grown < isize::try_from(HISTORY + (2 << 20)).unwrap(), "{grown} bytes");
    let events = rest(&mut connection).await;
    let tail = &events[events.len().saturating_sub(1_000)..];
    assert!(tail.contains("\"ERROR\"") && tail.contains("\"code\":410"), "{tail}");
    server.stop().await;
}
