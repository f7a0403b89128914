//! Bytes of connections.

use std::time::Duration;

use bytes::Bytes;
use gyre_devcluster::http::{Limits, serve_connection};
use gyre_devcluster::random::Random;
use gyre_devcluster::{Clock, Cluster, Options, Service};
use http::Request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::request::{self, Memory};
use crate::mutate::{self, Draw as _};
use crate::outcome::{Failure, Log, Tally};

/// The timeout of a connection in simulated time: more than any limit of the server.
const PATIENCE: Duration = Duration::from_secs(24 * 3_600);
const PANIC: &[u8] = b"caused the server to panic";

pub(crate) fn run(random: &mut Random, log: &mut dyn Log) -> Result<Tally, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|error| Failure(error.to_string()))?;
    runtime.block_on(async {
        let start = "2026-01-02T03:04:05Z".parse().map_err(|error| Failure(format!("{error}")))?;
        let service = Service::new(Cluster::start(&Options::default(), Clock::tokio(start)));
        let mut tally = Tally::new();
        for _ in 0..10 {
            let bytes = connection(random);
            log.step(&|| format!("connection {:?}", String::from_utf8_lossy(&bytes)));
            let answer = exchange(random, service.clone(), &bytes).await?;
            if answer.windows(PANIC.len()).any(|window| window == PANIC) {
                return Err(Failure(format!("a panic\n  connection {:?}", String::from_utf8_lossy(&bytes))));
            }
            let code = answer.get(9..12).and_then(|code| std::str::from_utf8(code).ok());
            *tally.entry(code.unwrap_or("none").to_owned()).or_default() += 1;
        }
        Ok(tally)
    })
}

fn connection(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=random.below(3) {
        let request = request::draw(random, &Memory::default());
        write(random, &request, &mut bytes);
    }
    if random.chance(0.6) {
        mutate::bytes(random, &mut bytes);
    }
    bytes
}

fn write(random: &mut Random, request: &Request<Bytes>, bytes: &mut Vec<u8>) {
    let version = random.pick(&["1.1", "1.1", "1.1", "1.0"]);
    bytes.extend(format!("{} {} HTTP/{version}\r\nhost: localhost\r\n", request.method(), request.uri()).bytes());
    for (name, value) in request.headers() {
        bytes.extend(format!("{name}: ").bytes());
        bytes.extend(value.as_bytes());
        bytes.extend(b"\r\n");
    }
    let body = request.body();
    match random.below(10) {
        0 => {
            bytes.extend(format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n", body.len()).bytes());
            bytes.extend(body);
            bytes.extend(b"\r\n0\r\n\r\n");
        }
        1 => bytes.extend(format!("content-length: {}\r\n\r\n", mutate::text(random)).bytes()),
        2 => bytes.extend(b"expect: 100-continue\r\ncontent-length: 99999999\r\n\r\n"),
        _ => {
            bytes.extend(format!("content-length: {}\r\n\r\n", body.len()).bytes());
            bytes.extend(body);
        }
    }
}

async fn exchange(random: &mut Random, service: Service, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let (client, server) = tokio::io::duplex(64 * 1024);
    let serving = tokio::spawn(serve_connection(server, None, service, Limits::default(), CancellationToken::new()));
    let (mut reading, mut writing) = tokio::io::split(client);
    let piece = *random.pick(&[usize::MAX, 1_000, 7]);
    let sending = async {
        for piece in bytes.chunks(piece) {
            // A request that is rejected early is not read completely.
            if writing.write_all(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(writing.shutdown().await);
    };
    let mut answer = Vec::new();
    let both = async { tokio::join!(sending, reading.read_to_end(&mut answer)) };
    let is_over = tokio::time::timeout(PATIENCE, both).await.is_ok();
    serving.abort();
    match serving.await {
        Err(error) if error.is_panic() => Err(Failure("serving a connection caused a panic".to_owned())),
        _ if !is_over => Err(Failure(format!("a connection stays open: {:?}", String::from_utf8_lossy(bytes)))),
        _ => Ok(answer),
    }
}
