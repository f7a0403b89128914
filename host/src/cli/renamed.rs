//! Earlier and foreign spellings, for tips in errors: two tables, whose lines the tests check.

/// The spellings of earlier versions.
pub(super) const RENAMED: &str = include_str!("renamed.txt");
/// The words of other programs.
pub(super) const SYNONYMS: &str = include_str!("synonyms.txt");

/// The rows of a table: the spelling that is not known, and the one that is.
pub(super) fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('|')).map(|(other, now)| (other.trim(), now.trim()))
}

/// The former environment variables, with those that replace them.
pub(super) fn variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    rows(RENAMED).filter(|(former, _)| former.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
}

/// The tip about an unknown command.
pub(super) fn tip_for_command(name: &str) -> Option<String> {
    let find = |table| rows(table).find(|(other, _)| other.strip_prefix("gyre ") == Some(name));
    let former = find(RENAMED).map(|(former, now)| format!("`{former}` is called {} now", quoted(now)));
    former.or_else(|| find(SYNONYMS).map(|(_, now)| format!("use {}", quoted(now))))
}

/// The tip about an unknown flag of a command that has the flags for which `has` returns true.
pub(super) fn tip_for_flag(command: &str, flag: &str, has: impl Fn(&str) -> bool) -> Option<String> {
    let is_it = |other: &str, command: &str| {
        let rest = other.strip_prefix(command).and_then(|rest| rest.strip_prefix(' '));
        rest.and_then(|rest| rest.split(' ').next()) == Some(flag)
    };
    let former = rows(RENAMED).find(|(former, _)| is_it(former, &format!("gyre {command}")));
    if let Some((former, now)) = former {
        return Some(format!("`{former}` is written `{now}` now"));
    }
    let is_known = |now: &str| now.starts_with("gyre ") || now.split(' ').next().is_some_and(&has);
    let of_this_command = rows(SYNONYMS).find(|(other, _)| is_it(other, &format!("gyre {command}")));
    let synonym = of_this_command.or_else(|| rows(SYNONYMS).find(|(other, now)| is_it(other, "*") && is_known(now)));
    synonym.map(|(_, now)| format!("use {}", quoted(now)))
}

fn quoted(alternatives: &str) -> String {
    let each: Vec<String> = alternatives.split(" or ").map(|now| format!("`{now}`")).collect();
    each.join(" or ")
}
