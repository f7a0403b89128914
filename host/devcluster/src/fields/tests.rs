//! Golden cases and laws. Each case lists a sequence of writes with the resulting object, owners
//! and errors, compared with apimachinery's own code. `UPDATE_GOLDEN=1` regenerates them.

mod golden;
mod laws;
mod openapi;
