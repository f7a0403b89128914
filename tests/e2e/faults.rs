//! A link that answers requests itself, delays them, or loses their answers. It reads HTTP, so it
//! needs a server without TLS: devcluster.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::harness::Cluster;
use crate::network::{Before, runtime};

/// The fate of a request that is not passed on.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It gets this answer: a code, a media type and a body.
    Answer(u16, &'static str, String),
    /// The server gets it, and the host gets no answer.
    LoseAnswer,
    /// The answer breaks off after this many bytes.
    CutAnswer(u64),
    /// The server gets it later.
    Delay(Duration),
}

/// The fault of each request whose first line begins with the text.
type Faults = Vec<(String, Fault)>;

pub(crate) struct FaultyLink(watch::Sender<Faults>);

impl FaultyLink {
    /// Returns a link, and the kubeconfig that uses it.
    pub(crate) fn of(cluster: &Cluster) -> (Self, PathBuf) {
        let kubeconfig = std::fs::read_to_string(cluster.kubeconfig()).expect("a kubeconfig");
        let Before { listener, server, leading } = Before::server_of(&kubeconfig);
        let path = cluster.kubeconfig().with_extension("faulty.kubeconfig");
        std::fs::write(&path, leading).expect("written");
        let (sender, faults) = watch::channel(Vec::new());
        runtime().spawn(accept(listener, server, faults));
        (Self(sender), path)
    }

    /// Sets the faults by the beginnings of first lines of requests, e.g. `POST /api/v1/`. Ends
    /// all connections.
    pub(crate) fn set(&self, faults: &[(&str, Fault)]) {
        self.0.send_replace(faults.iter().map(|(line, fault)| ((*line).to_owned(), fault.clone())).collect());
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, faults: watch::Receiver<Faults>) {
    while let Ok((host, _)) = listener.accept().await {
        let mut faults = faults.clone();
        tokio::spawn(async move {
            let current = faults.borrow_and_update().clone();
            tokio::select! {
                () = join_request(host, server, &current) => {}
                _ = faults.changed() => {}
            }
        });
    }
}

/// Passes on one request with its answer, and then closes the connection.
async fn join_request(mut host: TcpStream, server: SocketAddr, faults: &Faults) {
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        if !matches!(host.read_buf(&mut head).await, Ok(read) if read > 0) {
            return;
        }
    }
    let fault = faults.iter().find(|(line, _)| head.starts_with(line.as_bytes())).map(|(_, fault)| fault);
    if let Some(Fault::Answer(code, media_type, body)) = fault {
        let answer = format!(
            "HTTP/1.1 {code} Code\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let _ = host.write_all(answer.as_bytes()).await;
        // A connection that is closed with unread data is reset, which would lose the answer.
        let _ = host.shutdown().await;
        let _ = copy(&mut host, &mut tokio::io::sink()).await;
        return;
    }
    if let Some(Fault::Delay(delay)) = fault {
        tokio::time::sleep(*delay).await;
    }
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    let (_, _) = (host.set_nodelay(true), server.set_nodelay(true));
    // So that the next request of the host comes over another connection.
    let Some(at) = head.windows(2).position(|window| window == b"\r\n") else { return };
    drop(head.splice(at..at, *b"\r\nConnection: close"));
    if server.write_all(&head).await.is_err() {
        return;
    }
    let answered_bytes = match fault {
        Some(Fault::LoseAnswer) => 0,
        Some(Fault::CutAnswer(bytes)) => *bytes,
        _ => {
            let _ = copy_bidirectional(&mut host, &mut server).await;
            return;
        }
    };
    let ((mut from_host, mut to_host), (mut from_server, mut to_server)) = (host.split(), server.split());
    let answer = async {
        // The answer has begun, so the server has carried out the request.
        let mut answer = Vec::new();
        let _ = from_server.read_buf(&mut answer).await;
        let mut answer = answer.as_slice().chain(from_server).take(answered_bytes);
        let _ = copy(&mut answer, &mut to_host).await;
    };
    tokio::select! {
        () = answer => {}
        _ = async {
            let _ = copy(&mut from_host, &mut to_server).await;
            std::future::pending::<()>().await
        } => {}
    }
}
