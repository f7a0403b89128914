//! The SDK's types to the contract's, as `gyre_sdk::component` has them in a component.

use gyre_sandbox::native::types;

gyre_sdk::conversions!(types, GroupVersionKind);
