use crate::suite::registry::{Check, World};

mod admission;
mod apply;
mod apply_lists;
mod cel;
mod collector;
mod crd;
mod crd_lifecycle;
mod crd_validation;
mod create;
mod delete;
mod discovery;
mod jobs;
mod list;
mod list_selectors;
mod managed_fields;
mod namespaces;
mod patch;
mod patterns;
mod protocol;
mod reviews;
mod subresources;
mod table;
mod update;
mod validation;
mod watch;
mod watch_views;

fn all() -> Vec<&'static Check> {
    let themes = [
        admission::CHECKS,
        apply::CHECKS,
        apply_lists::CHECKS,
        cel::CHECKS,
        collector::CHECKS,
        create::CHECKS,
        crd::CHECKS,
        crd_lifecycle::CHECKS,
        crd_validation::CHECKS,
        delete::CHECKS,
        discovery::CHECKS,
        jobs::CHECKS,
        list::CHECKS,
        list_selectors::CHECKS,
        managed_fields::CHECKS,
        namespaces::CHECKS,
        patch::CHECKS,
        patterns::CHECKS,
        protocol::CHECKS,
        reviews::CHECKS,
        subresources::CHECKS,
        table::CHECKS,
        update::CHECKS,
        validation::CHECKS,
        watch::CHECKS,
        watch_views::CHECKS,
    ];
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
