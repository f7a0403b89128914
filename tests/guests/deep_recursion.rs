//! Recurses until the stack is used up.

use std::hint::black_box;

use gyre_sdk::Plan;

gyre_guests::guest!(DeepRecursion, || {
    black_box(descend(black_box(u64::MAX)));
    Ok(Plan::no_children())
});

/// The work after the call prevents the compiler from making it a loop.
fn descend(depth: u64) -> u64 {
    if depth == 0 { 0 } else { descend(depth - 1).rotate_left(1) ^ depth }
}
