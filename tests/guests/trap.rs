//! Executes a trapping instruction.

gyre_guests::guest!(Trap, || std::process::abort());
