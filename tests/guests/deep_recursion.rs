//! Recurses until the stack is used up.

use gyre_sdk::Response;
use std::hint::black_box;

gyre_guests::guest!(DeepRecursion, || {
    black_box(descend(0));
    Ok(Response::new())
});

#[expect(unconditional_recursion, reason = "the misbehaviour")]
fn descend(depth: u64) -> u64 {
    // What happens after the call keeps it from becoming a loop.
    let frame = black_box([depth; 16]);
    descend(depth + 1) ^ black_box(frame).iter().sum::<u64>()
}
