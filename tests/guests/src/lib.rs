//! gyre-guests.
