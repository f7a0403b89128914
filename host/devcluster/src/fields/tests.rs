//! Golden cases and laws. See `tests/cases`: each states what a sequence of writes makes of an object, of its owners, and what the
//! server says where it refuses. They are held to apimachinery's own code; `UPDATE_GOLDEN=1` writes what is computed now.

mod golden;
mod laws;
mod openapi;
