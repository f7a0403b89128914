//! A parser for our Dockerfile and .dockerignore, without here-documents and most escapes.

use std::path::Path;

use anyhow::{Context as _, bail};

/// A Dockerfile.
#[derive(Clone, Debug, Default)]
pub struct Dockerfile {
    /// The `ARG`s before the first stage, with their defaults.
    pub arguments: Vec<(String, String)>,
    /// The stages in order. The last one is the image.
    pub stages: Vec<Stage>,
}

/// A stage.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The name, if it has one.
    pub name: Option<String>,
    /// The image or stage in `FROM`.
    pub from: String,
    /// The instructions after `FROM`.
    pub instructions: Vec<Instruction>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The number of its first line, from 1.
    pub line: usize,
    /// The keyword in capitals.
    pub keyword: String,
    /// The flags: `--from=host` is `("from", "host")`.
    pub flags: Vec<(String, String)>,
    /// The rest, joined to one line.
    pub text: String,
}

impl Instruction {
    /// Returns the value of a flag.
    pub fn flag(&self, name: &str) -> Option<&str> {
        self.flags.iter().find(|(flag, _)| flag == name).map(|(_, value)| value.as_str())
    }

    /// Returns the pairs of an `ENV`, `LABEL` or `ARG`. The default value is empty.
    pub fn pairs(&self) -> Vec<(String, String)> {
        let pair = |word: &str| {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            (key.to_owned(), value.trim_matches('"').to_owned())
        };
        self.text.split_whitespace().map(pair).collect()
    }

    /// Returns the words of a JSON list, as in `ENTRYPOINT`.
    ///
    /// # Errors
    ///
    /// If it is no list.
    pub fn list(&self) -> anyhow::Result<Vec<String>> {
        serde_json::from_str(&self.text).with_context(|| format!("line {}: not a list of strings", self.line))
    }
}

impl Dockerfile {
    /// Parses the text.
    ///
    /// # Errors
    ///
    /// If an instruction precedes the first stage, or a `FROM` is empty.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut dockerfile = Self::default();
        for instruction in instructions(text) {
            if instruction.keyword == "FROM" {
                let words: Vec<&str> = instruction.text.split_whitespace().collect();
                let (from, name) = match words[..] {
                    [from] => (from, None),
                    [from, "AS", name] => (from, Some(name.to_owned())),
                    _ => bail!("line {}: FROM {}", instruction.line, instruction.text),
                };
                dockerfile.stages.push(Stage { name, from: from.to_owned(), instructions: Vec::new() });
            } else if let Some(stage) = dockerfile.stages.last_mut() {
                stage.instructions.push(instruction);
            } else if instruction.keyword == "ARG" {
                dockerfile.arguments.extend(instruction.pairs());
            } else {
                bail!("line {}: {} before FROM", instruction.line, instruction.keyword);
            }
        }
        Ok(dockerfile)
    }

    /// Returns a stage by its name.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name.as_deref() == Some(name))
    }
}

fn instructions(text: &str) -> Vec<Instruction> {
    let mut instructions = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (number, mut whole) = open.take().unwrap_or((index + 1, String::new()));
        match line.strip_suffix('\\') {
            Some(part) => {
                whole.push_str(part);
                open = Some((number, whole));
            }
            None => {
                whole.push_str(line);
                instructions.push(instruction(number, &whole));
            }
        }
    }
    instructions
}

fn instruction(line: usize, whole: &str) -> Instruction {
    let (keyword, mut text) = whole.split_once(' ').unwrap_or((whole, ""));
    let mut flags = Vec::new();
    while let Some(rest) = text.trim_start().strip_prefix("--") {
        let (flag, after) = rest.split_once(' ').unwrap_or((rest, ""));
        let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
        flags.push((name.to_owned(), value.to_owned()));
        text = after;
    }
    Instruction { line, keyword: keyword.to_uppercase(), flags, text: text.trim().to_owned() }
}

/// A .dockerignore, whose last pattern that matches a path or one of its folders decides.
#[derive(Clone, Debug, Default)]
pub struct Ignore(Vec<(Verdict, Vec<String>)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Out,
    In,
}

impl Ignore {
    /// Parses the text.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let rules = lines.map(|line| {
            let (verdict, pattern) = line.strip_prefix('!').map_or((Verdict::Out, line), |pattern| (Verdict::In, pattern));
            (verdict, pattern.trim_matches('/').split('/').map(str::to_owned).collect())
        });
        Self(rules.collect())
    }

    /// Returns whether a path, relative to the root, is ignored.
    pub fn ignores(&self, path: &Path) -> bool {
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        let covers =
            |pattern: &[String]| (1..=parts.len()).any(|end| parts.get(..end).is_some_and(|head| matches(pattern, head)));
        let last = self.0.iter().rev().find(|(_, pattern)| covers(pattern));
        last.is_some_and(|(verdict, _)| *verdict == Verdict::Out)
    }
}

fn matches<T: AsRef<str>>(pattern: &[String], path: &[T]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "**" => {
            (0..=path.len()).any(|skipped| path.get(skipped..).is_some_and(|path| matches(rest, path)))
        }
        (Some((first, rest)), Some((name, path))) => (first == "*" || first == name.as_ref()) && matches(rest, path),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_end_where_no_backslash_is() {
        let text = "# a\nARG V=1\n\nFROM --platform=$P base:${V} AS one\nRUN --mount=type=cache,target=/x --network=none a; \\\n    # b\n    c\n\
                    copy . .\nFROM two\nENV A=b \\\n  C=\"d\"\nCMD [\"e\", \"f g\"]\n";
        let parsed = Dockerfile::parse(text).unwrap();
        assert_eq!(parsed.arguments, [("V".to_owned(), "1".to_owned())]);
        let [one, two] = &parsed.stages[..] else { panic!("{parsed:?}") };
        assert_eq!((one.name.as_deref(), one.from.as_str()), (Some("one"), "base:${V}"));
        assert_eq!(one.instructions[0].text, "a; c");
        assert_eq!(one.instructions[0].line, 5);
        assert_eq!(one.instructions[0].flag("network"), Some("none"));
        assert_eq!(one.instructions[1].keyword, "COPY");
        assert_eq!(two.instructions[0].pairs(), [("A".to_owned(), "b".to_owned()), ("C".to_owned(), "d".to_owned())]);
        assert_eq!(two.instructions[1].list().unwrap(), ["e", "f g"]);
        assert!(parsed.stage("one").is_some() && parsed.stage("two").is_none());
        assert!(Dockerfile::parse("RUN a").is_err());
    }

    #[test]
    fn the_last_pattern_decides() {
        let ignore = Ignore::parse("# c\n*\n!a\n!b/c\n**/d\n");
        for (path, expected) in [
            ("x", true),
            ("x/y", true),
            ("a", false),
            ("a/y", false),
            ("a/d/e", true),
            ("b", true),
            ("b/c/f", false),
            ("b/e", true),
            ("d", true),
        ] {
            assert_eq!(ignore.ignores(Path::new(path)), expected, "{path}");
        }
    }
}
