//! Allocates and fills memory until there is none left.

use std::hint::black_box;

const MEBIBYTE: usize = 1024 * 1024;

gyre_guests::guest!(HugeMemory, || {
    let mut hoard = Vec::new();
    loop {
        hoard.push(black_box(vec![1_u8; MEBIBYTE]));
    }
});
