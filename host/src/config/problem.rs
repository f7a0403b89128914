//! What is wrong with a configuration: where, what, and what to do. All that is wrong is said at once.

use std::fmt;
use std::sync::Arc;

use gyre_core::text::cut;
pub(crate) use gyre_core::text::list;
use gyre_engine::telemetry::log::without_control;

/// How much is said of one thing that is wrong, in bytes: messages quote what a file holds, of whatever length.
const LONGEST: usize = 1_024;
/// The longest path to a value that is told, in bytes: the keys of settings are anybody's.
const LONGEST_PATH: usize = 256;

/// Where something was said: in a file, or by a flag; and what it is a part of there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    source: Arc<str>,
    position: Option<Position>,
    path: String,
}

/// A line and a column of a text, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

impl Place {
    /// A file as a whole, or a flag.
    pub(crate) fn whole(source: &Arc<str>) -> Self {
        Self { source: Arc::clone(source), position: None, path: String::new() }
    }

    /// A position in a file.
    pub(crate) fn at(source: &Arc<str>, position: Position) -> Self {
        Self { source: Arc::clone(source), position: Some(position), path: String::new() }
    }

    /// With the path to the value, e.g. `mounts[0].workers`.
    #[must_use]
    pub(crate) fn with_path(self, path: impl Into<String>) -> Self {
        Self { path: on_one_line(&path.into(), LONGEST_PATH), ..self }
    }

    /// Without the path: to be named within a sentence.
    pub(crate) fn location(&self) -> impl fmt::Display {
        let position = self.position.map(|Position { line, column }| format!(":{line}:{column}"));
        format!("{}{}", self.source, position.unwrap_or_default())
    }
}

/// `gyre.yaml:12:5: mounts[0].workers`, `gyre.yaml`, `--plugin`: editors and terminals make a link of its beginning.
impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.location().fmt(formatter)?;
        if self.path.is_empty() { Ok(()) } else { write!(formatter, ": {}", self.path) }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}; {remedy}")]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl Problem {
    /// What it says is one line of bounded length.
    pub(crate) fn new(place: Place, what: &str, remedy: &str) -> Self {
        Self { place, what: on_one_line(what, LONGEST), remedy: on_one_line(remedy, LONGEST) }
    }
}

fn on_one_line(text: &str, limit: usize) -> String {
    cut(&without_control(text), limit)
}

/// All that is wrong with a configuration: at least one thing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub(crate) fn add(&mut self, place: Place, what: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(Problem::new(place, &what.into(), &remedy.into()));
    }

    /// The value, if nothing is wrong. Otherwise all that is, file by file in the order of the lines.
    pub(crate) fn or<T>(mut self, value: T) -> Result<T, Self> {
        if self.0.is_empty() {
            return Ok(value);
        }
        let mut sources: Vec<Arc<str>> = Vec::new();
        for problem in &self.0 {
            if !sources.contains(&problem.place.source) {
                sources.push(Arc::clone(&problem.place.source));
            }
        }
        let rank = |place: &Place| sources.iter().position(|source| *source == place.source);
        self.0.sort_by_key(|problem| (rank(&problem.place), problem.place.position));
        Err(self)
    }
}

/// One problem a line.
impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}

/// The known word that is meant, if one is like it.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let distance = |known: &str| {
        let known = known.to_lowercase();
        // Of three letters one may be wrong. One that is cut short is meant, too, if no other is nearer.
        let is_short = word.len() >= 3 && (known.starts_with(&word) || word.starts_with(&known));
        let distance = strsim::osa_distance(&word, &known);
        (is_short || distance <= (word.len().max(known.len()) / 3).max(1)).then_some(distance)
    };
    known.into_iter().filter_map(|known| Some((distance(known)?, known))).min_by_key(|near| near.0).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line_of_bounded_length_whatever_it_quotes() {
        let place = |path: String| Place::whole(&"gyre.yaml".into()).with_path(path);
        let (long, broken) = ("x".repeat(1 << 20), "a\n\u{1b}[31mb".to_owned());
        let mut problems = Problems::default();
        problems.add(place(long.clone()), long.clone(), long);
        problems.add(place(broken.clone()), broken.clone(), broken);
        let [long, broken] = &problems.0[..] else { panic!("two were added") };
        assert!(long.to_string().len() < 2 * LONGEST + LONGEST_PATH + 20);
        assert_eq!(broken.to_string(), r"gyre.yaml: a\n\u{1b}[31mb: a\n\u{1b}[31mb; a\n\u{1b}[31mb");
    }
}
