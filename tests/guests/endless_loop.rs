//! Never returns, and calls nothing.

use std::hint::black_box;

gyre_guests::guest!(EndlessLoop, || loop {
    black_box(());
});
