use serde_json::{Number, Value};

use super::{Comparison, End, JsonPath, Slice, Step};

pub(super) fn path(text: &str) -> Option<JsonPath> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = if let Some(filter) = rest.strip_prefix("[?(") {
            step(&mut steps, self::filter(filter)?)
        } else if let Some(after) = rest.strip_prefix("..") {
            descent(&mut steps, after)?
        } else {
            match first {
                ' ' | '@' | '$' => rest.get(1..)?,
                '[' => {
                    let (inside, after) = rest.get(1..)?.split_once(']')?;
                    brackets(&mut steps, inside)?;
                    after
                }
                '"' | '\'' => step(&mut steps, quoted(rest, first)?),
                '.' => step(&mut steps, field(rest.get(1..)?)),
                '+' | '-' | '0'..='9' => step(&mut steps, number(rest)?),
                // `range` and `end` make no sense in a column.
                _ => step(&mut steps, truth_value(rest)?),
            }
        };
    }
    Some(JsonPath { steps })
}

fn step<'a>(steps: &mut Vec<Step>, (step, rest): (Step, &'a str)) -> &'a str {
    steps.push(step);
    rest
}

fn descent<'a>(steps: &mut Vec<Step>, after: &'a str) -> Option<&'a str> {
    if steps.last() == Some(&Step::Descent) {
        return None;
    }
    steps.push(Step::Descent);
    Some(match after.chars().next() {
        Some(next) if next.is_alphanumeric() || next == '_' => step(steps, field(after)),
        _ => after,
    })
}

/// Parses a name. A backslash escapes characters that would end it.
fn field(text: &str) -> (Step, &str) {
    let mut name = String::new();
    let mut characters = text.chars();
    loop {
        let rest = characters.as_str();
        match characters.next() {
            Some('\\') => name.extend(characters.next()),
            Some(' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}') | None => {
                return (if name == "*" { Step::Wildcard } else { Step::Field(name) }, rest);
            }
            Some(other) => name.push(other),
        }
    }
}

fn number(text: &str) -> Option<(Step, &str)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let length = unsigned.find(|character: char| character != '.' && !character.is_ascii_digit()).unwrap_or(unsigned.len());
    let (number, rest) = text.split_at_checked(text.len() - unsigned.len() + length)?;
    let value = match number.parse::<i64>() {
        Ok(integer) => Value::from(integer),
        Err(_) => Value::Number(Number::from_f64(number.parse().ok()?)?),
    };
    Some((Step::Literal(value), rest))
}

fn truth_value(text: &str) -> Option<(Step, &str)> {
    let (step, rest) = field(text);
    match step {
        Step::Field(name) if name == "true" || name == "false" => Some((Step::Literal(Value::from(name == "true")), rest)),
        _ => None,
    }
}

fn quoted(text: &str, quote: char) -> Option<(Step, &str)> {
    let mut value = String::new();
    let mut characters = text.get(1..)?.chars();
    loop {
        match characters.next()? {
            '\n' => return None,
            '\\' => value.push(match characters.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                same @ ('\\' | '"' | '\'') => same,
                _ => return None,
            }),
            end if end == quote => return Some((Step::Literal(Value::from(value)), characters.as_str())),
            other => value.push(other),
        }
    }
}

fn brackets(steps: &mut Vec<Step>, inside: &str) -> Option<()> {
    if inside.contains(',') {
        let parts = inside.split(',').map(|part| path(&format!("[{}]", part.trim_matches(' '))));
        steps.push(Step::Union(parts.collect::<Option<_>>()?));
        return Some(());
    }
    if let Some(name) = inside.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')).filter(|name| !name.contains('\'')) {
        steps.extend(path(&format!(".{name}"))?.steps);
        return Some(());
    }
    steps.push(Step::Slice(slice(if inside == "*" { ":" } else { inside })?));
    Some(())
}

fn slice(text: &str) -> Option<Slice> {
    let bound = |text: &str| -> Option<Option<i64>> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        match digits {
            "" => (text == digits).then_some(None),
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok().map(Some),
            _ => None,
        }
    };
    let mut parts = text.split(':');
    let start = bound(parts.next()?)?;
    let end = match parts.next() {
        None => End::Next,
        Some(end) => bound(end)?.map_or(End::Open, End::At),
    };
    let step = parts.next().map_or(Some(None), bound)?;
    parts.next().is_none().then_some(Slice { start, end, step })
}

/// Parses the filter after `[?(` up to `)]`: a path that must exist, or a comparison of two.
fn filter(text: &str) -> Option<(Step, &str)> {
    let end = filter_end(text)?;
    let (inside, rest) = (text.get(..end)?, text.get(end..)?.strip_prefix(")]")?);
    let is_operator = |character: char| matches!(character, '!' | '<' | '>' | '=');
    let Some(start) = inside.find(is_operator).filter(|start| *start > 0) else {
        let left = path(inside).filter(|left| !left.steps.is_empty())?;
        return Some((Step::Filter { left, comparison: None }, rest));
    };
    let (left, operator_and_right) = inside.split_at_checked(start)?;
    let right = operator_and_right.trim_start_matches(is_operator);
    let comparison = match operator_and_right.strip_suffix(right)? {
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        "==" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        _ => return None,
    };
    Some((Step::Filter { left: path(left)?, comparison: Some((comparison, path(right)?)) }, rest))
}

fn filter_end(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut previous = ' ';
    for (index, character) in text.char_indices() {
        match (character, quote) {
            ('\n', _) => return None,
            (')', None) => return Some(index),
            ('"' | '\'', None) => quote = Some(character),
            (end, Some(open)) if end == open && previous != '\\' => quote = None,
            _ => {}
        }
        previous = character;
    }
    None
}
