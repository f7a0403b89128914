//! What lies between a host and its API server: a network that can be cut, can fall silent, and comes back.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Carries bytes from its address to another, both ways, for as long as it is whole. It ends when it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    wire: Arc<Wire>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    /// Bytes are carried.
    Whole,
    /// Connections that there are have been closed, and new ones are closed at once.
    Cut,
    /// Connections are taken and stay, and not a byte is carried.
    Silent,
    /// There is no proxy any more.
    Gone,
}

struct Wire {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    condition: Condition,
    /// Both ends of every connection, to be closed when the wire is cut.
    ends: Vec<TcpStream>,
}

impl Proxy {
    /// A proxy to that address, on a port of its own, which is whole.
    pub(crate) fn new(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = State { condition: Condition::Whole, ends: Vec::new() };
        let wire = Arc::new(Wire { state: Mutex::new(state), changed: Condvar::new() });
        let taking = Arc::clone(&wire);
        thread::spawn(move || take(&listener, target, &taking));
        Self { address, wire }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all connections, and new ones as they come.
    pub(crate) fn cut(&self) {
        self.wire.become_(Condition::Cut);
    }

    /// From now on nothing is heard from the other side, and nobody is told.
    pub(crate) fn stall(&self) {
        self.wire.become_(Condition::Silent);
    }

    /// All is well again. Connections that were stalled go on where they were, as TCP has it.
    pub(crate) fn mend(&self) {
        self.wire.become_(Condition::Whole);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.wire.become_(Condition::Gone);
        // So that whoever waits for the next connection sees that there is none.
        let _ = TcpStream::connect(self.address);
    }
}

impl Wire {
    fn become_(&self, condition: Condition) {
        let mut state = self.state();
        state.condition = condition;
        if matches!(condition, Condition::Cut | Condition::Gone) {
            for end in state.ends.drain(..) {
                // It may have been closed before.
                let _ = end.shutdown(Shutdown::Both);
            }
        }
        self.changed.notify_all();
    }

    /// Waits for the end of a silence.
    fn after_silence(&self) -> MutexGuard<'_, State> {
        let is_silent = |state: &mut State| state.condition == Condition::Silent;
        self.changed.wait_while(self.state(), is_silent).unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(listener: &TcpListener, target: SocketAddr, wire: &Arc<Wire>) {
    for near in listener.incoming() {
        match wire.state().condition {
            Condition::Gone => return,
            Condition::Cut => continue,
            Condition::Whole | Condition::Silent => {}
        }
        let (Ok(near), wire) = (near, Arc::clone(wire)) else { continue };
        thread::spawn(move || connect(near, target, &wire));
    }
}

fn connect(near: TcpStream, target: SocketAddr, wire: &Arc<Wire>) {
    if wire.after_silence().condition != Condition::Whole {
        return;
    }
    let Ok(far) = TcpStream::connect(target) else { return };
    let copies = || Ok::<_, std::io::Error>([near.try_clone()?, far.try_clone()?, near.try_clone()?, far.try_clone()?]);
    let Ok([near_end, far_end, near_copy, far_copy]) = copies() else { return };
    {
        let mut state = wire.state();
        if matches!(state.condition, Condition::Cut | Condition::Gone) {
            return;
        }
        state.ends.extend([near_end, far_end]);
    }
    let back = Arc::clone(wire);
    thread::spawn(move || carry(far_copy, near_copy, &back));
    carry(near, far, wire);
}

/// Carries bytes one way, until either end closes.
fn carry(mut from: TcpStream, mut to: TcpStream, wire: &Wire) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        drop(wire.after_silence());
        if to.write_all(bytes.get(..count).unwrap_or_default()).is_err() {
            break;
        }
    }
    // An end that one side has closed while the wire is silent is heard of afterwards.
    drop(wire.after_silence());
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
