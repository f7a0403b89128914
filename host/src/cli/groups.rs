//! The groups of commands in `gyre --help`.

use std::fmt::Write as _;

use clap::Command;

/// The groups, with their commands in the order of use.
pub(super) const GROUPS: [(&str, &[&str]); 6] = [
    ("Write plugins", &["new", "build", "dev", "inspect", "types"]),
    ("Test plugins", &["test", "fuzz", "render", "replay", "worlds"]),
    ("Distribute plugins", &["push", "pull", "tag", "sign", "verify"]),
    ("Operate a host", &["run", "validate", "values", "crds", "rbac", "compile", "config-schema"]),
    ("Observe a host", &["status", "diff", "shadow", "record"]),
    ("Other commands", &["completions", "man", "help"]),
];

const HELP: &str = "Print this message, or the help of a command";

/// Lists the commands by group, which clap cannot do by itself.
pub(super) fn grouped(program: Command) -> Command {
    let template = template(&program);
    program.help_template(template)
}

fn template(program: &Command) -> String {
    let (header, literal) = (program.get_styles().get_header(), program.get_styles().get_literal());
    let width = program.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or_default();
    let mut text = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    // Writing to a string does not fail.
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{header}{title}:{header:#}");
        for name in names {
            let about = match program.get_subcommands().find(|command| command.get_name() == *name) {
                Some(command) => command.get_about().map(ToString::to_string).unwrap_or_default(),
                None if *name == "help" => HELP.to_owned(),
                // A command of the feature `tools`, which this program does not have.
                None => continue,
            };
            let _ = writeln!(text, "  {literal}{name:<width$}{literal:#}  {about}");
        }
        text.push('\n');
    }
    text + &format!("{header}Options:{header:#}\n{{options}}{{after-help}}")
}
