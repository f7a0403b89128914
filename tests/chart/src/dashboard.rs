//! Finds the metrics in the queries of a Grafana dashboard.

use std::collections::BTreeSet;

use serde_json::Value;

/// A query of a dashboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The title of the panel, or the name of the variable.
    pub of: String,
    /// The query in PromQL; for variables, with Grafana's functions around it.
    pub expression: String,
}

/// Returns the queries of the panels and variables.
pub fn queries(dashboard: &Value) -> Vec<Query> {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut queries = Vec::new();
    let mut panels = list(dashboard, "panels");
    while let Some(panel) = panels.pop() {
        panels.extend(list(&panel, "panels"));
        queries.extend(
            list(&panel, "targets").iter().map(|target| Query { of: text(&panel, "title"), expression: text(target, "expr") }),
        );
    }
    let variables = dashboard.get("templating").map(|templating| list(templating, "list")).unwrap_or_default();
    for variable in variables.iter().filter(|variable| text(variable, "type") == "query") {
        queries.push(Query { of: text(variable, "name"), expression: text(variable, "definition") });
    }
    queries
}

/// Returns the metrics in a query.
pub fn metrics(expression: &str) -> BTreeSet<String> {
    let words = words(expression);
    let mut metrics = BTreeSet::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let next = words.get(at + 1).map(String::as_str);
        at += 1;
        match word.as_str() {
            "by" | "without" | "on" | "ignoring" | "group_left" | "group_right" => at += closing(&words, at, "(", ")"),
            "{" => at += closing(&words, at - 1, "{", "}") - 1,
            "[" => at += closing(&words, at - 1, "[", "]") - 1,
            // The last argument of label_values is a label.
            "," if words.get(at + 1).is_some_and(|word| word == ")")
                && words.first().is_some_and(|first| first == "label_values") =>
            {
                at += 1;
            }
            "and" | "or" | "unless" | "bool" | "offset" | "inf" | "nan" => {}
            word if is_name(word) && next != Some("(") && !matches!(next, Some("by" | "without")) => {
                metrics.insert(word.to_owned());
            }
            _ => {}
        }
    }
    metrics
}

/// Returns the queries with unknown metrics, and these metrics.
pub fn unknown(dashboard: &Value, known: &BTreeSet<String>) -> Vec<String> {
    let mut unknown = Vec::new();
    for Query { of, expression } in queries(dashboard) {
        let missing: Vec<_> = metrics(&expression).into_iter().filter(|name| !known.contains(name)).collect();
        if !missing.is_empty() {
            unknown.push(format!("{of}: {}", missing.join(", ")));
        }
    }
    unknown
}

/// Returns the names of the time series in a `/metrics` text, from its `# TYPE` lines.
pub fn names(exposition: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in exposition.lines() {
        let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) else { continue };
        let suffixes: &[&str] = match kind {
            // OpenMetrics names the family, the older format names the series.
            "counter" if !name.ends_with("_total") => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            "summary" => &["", "_sum", "_count"],
            _ => &[""],
        };
        names.extend(suffixes.iter().map(|suffix| format!("{name}{suffix}")));
    }
    names
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// Returns the number of words from an opening word up to and including the closing one.
fn closing(words: &[String], from: usize, open: &str, close: &str) -> usize {
    let mut depth = 0_usize;
    for (index, word) in words.iter().skip(from).enumerate() {
        if word == open {
            depth += 1;
        } else if word == close {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            return index + 1;
        }
    }
    words.len().saturating_sub(from).max(1)
}

/// Splits into names and signs, without strings and Grafana's variables.
fn words(expression: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.');
        let length = match first {
            '"' | '\'' => rest.get(1..).and_then(|rest| rest.find(first)).map_or(rest.len(), |end| end + 2),
            '$' => 1 + rest.get(1..).and_then(|rest| rest.find(|c: char| !is_part(c))).unwrap_or(rest.len() - 1),
            c if is_part(c) => rest.find(|c: char| !is_part(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (word, after) = rest.split_at(length.min(rest.len()));
        if !matches!(first, '"' | '\'' | '$') && !first.is_whitespace() {
            words.push(word.to_owned());
        }
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: &[&str]) {
        let found = metrics(expression);
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{expression}");
    }

    #[test]
    fn the_metrics_of_a_query_are_found() {
        check("up", &["up"]);
        check(r#"sum by (a, b) (rate(x_total{a="y{", b=~"$z"}[$__rate_interval]))"#, &["x_total"]);
        check("sum(rate(x_total[5m])) by (a)", &["x_total"]);
        check("a{b=\"c\"} / on (d) group_left (e) f{} > bool 2e9", &["a", "f"]);
        check("histogram_quantile(0.99, sum by (le) (rate(h_bucket[1h])))", &["h_bucket"]);
        check("label_values(a{b=\"$c\"}, d)", &["a"]);
        check("label_values(a, d)", &["a"]);
        check("a offset 5m unless b", &["a", "b"]);
        check("", &[]);
        check("sum by (", &[]);
        check("\"", &[]);
    }

    #[test]
    fn names_come_from_either_format() {
        let text = "# TYPE a counter\n# TYPE b_total counter\n# TYPE c histogram\n# TYPE d gauge\n# HELP e x\nf 1\n";
        let found: Vec<String> = names(text).into_iter().collect();
        assert_eq!(found, ["a_total", "b_total", "c_bucket", "c_count", "c_sum", "d"]);
    }
}
