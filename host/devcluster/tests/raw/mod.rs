//! Raw HTTP from the client's side.

use gyre_devcluster::Service;
use gyre_devcluster::http::{Limits, serve};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(crate) async fn rest(connection: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    drop(connection.read_to_end(&mut bytes).await);
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) async fn exchange(mut connection: impl AsyncRead + AsyncWrite + Unpin, text: impl AsRef<[u8]>) -> String {
    // The server may refuse a request before its end.
    drop(connection.write_all(text.as_ref()).await);
    rest(&mut connection).await
}

pub(crate) fn head(method: &str, path: &str, headers: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n")
}

pub(crate) fn split(answer: &str) -> (u16, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    (head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0), body)
}

pub(crate) struct Serving {
    address: std::net::SocketAddr,
    shutdown: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
}

impl Serving {
    pub(crate) async fn start(service: Service, limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (shutdown, ended) = oneshot::channel();
        let task = tokio::spawn(serve(listener, service, limits, async { drop(ended.await) }));
        Self { address, shutdown, task }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    pub(crate) async fn stop(self) {
        drop(self.shutdown);
        self.task.await.unwrap();
    }
}
