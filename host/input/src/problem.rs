//! Problems: the place, what is wrong, and the remedy. All problems are reported at once.

use std::fmt;
use std::sync::Arc;

use gyre_core::text::{cut, without_control};

/// The most bytes of a text, because problems quote values of any length.
const LONGEST: usize = 1_024;
/// The most bytes of a path, because keys may have any length.
const LONGEST_PATH: usize = 256;

/// A position in a file, or a flag, with the path to the value there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    source: Arc<str>,
    position: Option<Position>,
    path: String,
}

/// A line and a column, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

impl Place {
    /// A whole file, or a flag.
    pub fn whole(source: &Arc<str>) -> Self {
        Self { source: Arc::clone(source), position: None, path: String::new() }
    }

    /// A position in a file.
    pub fn at(source: &Arc<str>, position: Position) -> Self {
        Self { source: Arc::clone(source), position: Some(position), path: String::new() }
    }

    /// The same with the path to the value, e.g. `mounts[0].workers`.
    #[must_use]
    pub fn with_path(self, path: impl Into<String>) -> Self {
        Self { path: on_one_line(&path.into(), LONGEST_PATH), ..self }
    }

    /// The place without the path, for use within a sentence.
    pub fn location(&self) -> impl fmt::Display {
        let position = self.position.map(|Position { line, column }| format!(":{line}:{column}"));
        format!("{}{}", self.source, position.unwrap_or_default())
    }
}

/// `gyre.yaml:12:5: mounts[0].workers`, `--plugin`: editors turn the beginning into a link.
impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.location().fmt(formatter)?;
        if self.path.is_empty() { Ok(()) } else { write!(formatter, ": {}", self.path) }
    }
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}; {remedy}")]
pub struct Problem {
    /// Its place.
    pub place: Place,
    /// The mistake.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

impl Problem {
    /// A problem whose text is one line of bounded length.
    pub fn new(place: Place, what: &str, remedy: &str) -> Self {
        Self { place, what: on_one_line(what, LONGEST), remedy: on_one_line(remedy, LONGEST) }
    }
}

fn on_one_line(text: &str, limit: usize) -> String {
    cut(&without_control(text), limit)
}

/// All problems of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Adds a problem.
    pub fn add(&mut self, place: Place, what: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(Problem::new(place, &what.into(), &remedy.into()));
    }

    /// Returns the value if there are no problems.
    ///
    /// # Errors
    ///
    /// All problems, file by file in the order of the lines.
    pub fn or<T>(mut self, value: T) -> Result<T, Self> {
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

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        formatter.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}

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
