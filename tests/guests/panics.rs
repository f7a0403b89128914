//! Panics with a message, which the standard library writes to stderr before it traps.

#[expect(clippy::panic, reason = "the misbehaviour")]
mod guest {
    gyre_guests::guest!(Panics, || panic!("the guest gives up"));
}
