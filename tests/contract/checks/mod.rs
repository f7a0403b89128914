//! The checks, by theme.

use crate::suite::registry::{Check, World};

mod apply;
mod apply_lists;
mod list;
mod list_selectors;
mod create;
mod delete;
mod patch;
mod subresources;
mod update;
mod validation;
mod watch;
mod watch_views;

/// All checks.
fn all() -> Vec<&'static Check> {
    let themes = [apply::CHECKS, apply_lists::CHECKS, list::CHECKS, list_selectors::CHECKS, create::CHECKS, delete::CHECKS, patch::CHECKS, subresources::CHECKS, update::CHECKS, validation::CHECKS, watch::CHECKS, watch_views::CHECKS];
    themes.into_iter().flatten().collect()
}

#[test]
fn there_are_as_many_checks_as_were_asked_for() {
    let all = all();
    let count = |is_counted: &dyn Fn(&Check) -> bool| all.iter().filter(|check| is_counted(check)).count();
    let apply = count(&|check| check.theme().starts_with("apply"));
    let lists = count(&|check| check.theme().starts_with("list") || check.theme().starts_with("watch"));
    let controllers = count(&|check| check.world == World::Controllers);
    println!("{} checks: {apply} on apply, {lists} on list and watch, {controllers} with controllers", all.len());
    assert!(all.len() >= 230 && apply >= 45 && lists >= 45 && controllers >= 20);
}

#[test]
fn no_two_checks_share_a_name() {
    let names: std::collections::BTreeSet<&str> = all().iter().map(|check| check.name).collect();
    assert_eq!(names.len(), all().len());
}
