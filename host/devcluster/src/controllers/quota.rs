//! The status of ResourceQuotas.

use serde_json::json;

use super::json::with;
use super::{Intent, Step};
use crate::kinds::Kinds;
use crate::quota::{self, Amounts, QUOTAS};
use crate::store::{Key, Store};

pub(super) fn sync(store: &Store, kinds: &Kinds, key: &Key) -> Step {
    let Some(stored) = store.get(&QUOTAS, key) else { return Step::default() };
    let quota = &stored.value;
    let hard = quota::hard(quota);
    let in_status = |field: &str| quota.pointer(&format!("/status/{field}"));
    let before = quota::amounts(in_status("used"));
    // A kind that cannot be counted now keeps its last count.
    let mut used = before.clone();
    used.extend(quota::used(store, quota::countable(kinds), quota));
    used.retain(|name, _| hard.contains_key(name));
    let is_current = in_status("hard").is_some() && in_status("used").is_some() && hard == quota::amounts(in_status("hard"));
    if is_current && used == before {
        return Step::default();
    }
    let list = |amounts: &Amounts| quota::to_list(amounts);
    let status = json!({ "hard": list(&hard), "used": list(&used) });
    Step::of(vec![Intent::update_status(&QUOTAS, with(quota, "status", status))])
}
