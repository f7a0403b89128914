//! Executes an instruction that traps.

gyre_guests::guest!(Trap, || std::process::abort());
