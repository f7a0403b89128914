//! Fails with a message of 8,000,000 bytes, which is just within the limit of an answer.

use gyre_sdk::Failure;

const MESSAGE: usize = 8_000_000;

gyre_guests::guest!(LoudFailure, || Err(Failure::transient("no! ".repeat(MESSAGE / 4))));
