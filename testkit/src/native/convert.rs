//! Converts types of the SDK to those of the contract, like `gyre_sdk::component`.

use gyre_sandbox::native::types;

gyre_sdk::conversions!(types, GroupVersionKind);
