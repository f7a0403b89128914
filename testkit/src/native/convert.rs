//! Converts the types of the SDK to those of the contract, like `gyre_sdk::component` in a
//! component.

use gyre_sandbox::native::types;

gyre_sdk::conversions!(types, GroupVersionKind);
