//! A link from one host to the API server, which tests can interrupt.

use std::net::SocketAddr;
use std::sync::OnceLock;

use tokio::io::AsyncWriteExt as _;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    Open,
    /// Data waits until the direction is open again, unless the connection is closed.
    Stalled,
    /// Connections break, and new ones are refused.
    Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// From the host to the server.
    pub(crate) there: Passage,
    /// From the server to the host.
    pub(crate) back: Passage,
}

impl Way {
    pub(crate) const OPEN: Self = Self::both(Passage::Open);
    pub(crate) const STALLED: Self = Self::both(Passage::Stalled);
    pub(crate) const BROKEN: Self = Self::both(Passage::Broken);

    const fn both(passage: Passage) -> Self {
        Self { there: passage, back: passage }
    }

    fn is_broken(self) -> bool {
        [self.there, self.back].contains(&Passage::Broken)
    }
}

pub(crate) struct Link {
    way: watch::Sender<Way>,
}

/// A place before the server of a kubeconfig.
pub(crate) struct Before {
    pub(crate) listener: TcpListener,
    pub(crate) server: SocketAddr,
    /// The kubeconfig that leads to the listener.
    pub(crate) leading: String,
}

impl Before {
    pub(crate) fn server_of(kubeconfig: &str) -> Self {
        let (_, rest) = kubeconfig.split_once("://").expect("a URL");
        let is_of_address = |letter: char| letter.is_ascii_digit() || ".:".contains(letter);
        let server = rest.split(|letter| !is_of_address(letter)).next().expect("an address");
        let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let leading = kubeconfig.replace(server, &listener.local_addr().expect("an address").to_string());
        Self { listener, server: server.parse().unwrap_or_else(|error| panic!("{server}: {error}")), leading }
    }
}

impl Link {
    /// Returns a link to the server of a kubeconfig, and the kubeconfig that uses the link.
    pub(crate) fn over(kubeconfig: &str) -> (Self, String) {
        let Before { listener, server, leading } = Before::server_of(kubeconfig);
        let (sender, way) = watch::channel(Way::OPEN);
        runtime().spawn(accept(listener, server, way));
        (Self { way: sender }, leading)
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, mut way: watch::Receiver<Way>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            changed = way.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        let Ok((host, _)) = accepted else { continue };
        if !way.borrow().is_broken() {
            tokio::spawn(join(host, server, way.clone()));
        }
    }
}

async fn join(host: TcpStream, server: SocketAddr, mut way: watch::Receiver<Way>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (_, _) = (host.set_nodelay(true), server.set_nodelay(true));
    let ((from_host, to_host), (from_server, to_server)) = (host.into_split(), server.into_split());
    let there = pass(from_host, to_server, way.clone(), |way| way.there == Passage::Open);
    let back = pass(from_server, to_host, way.clone(), |way| way.back == Passage::Open);
    tokio::select! {
        () = there => {}
        () = back => {}
        _ = way.wait_for(|way| way.is_broken()) => {}
    }
}

async fn pass(from: OwnedReadHalf, mut to: OwnedWriteHalf, mut way: watch::Receiver<Way>, passes: fn(Way) -> bool) {
    let mut bytes = Vec::new();
    loop {
        if from.readable().await.is_err() {
            return;
        }
        let was_cut = !passes(*way.borrow());
        if way.wait_for(|way| passes(*way)).await.is_err() {
            return;
        }
        let is_open = loop {
            match from.try_read_buf(&mut bytes) {
                Ok(0) => break false,
                Ok(_) => {}
                Err(error) => break error.kind() == std::io::ErrorKind::WouldBlock,
            }
            if bytes.len() > 1 << 20 {
                break true;
            }
        };
        let is_given_up = was_cut && !is_open;
        if is_given_up || to.write_all(&bytes).await.is_err() || !is_open {
            return;
        }
        bytes.clear();
    }
}
