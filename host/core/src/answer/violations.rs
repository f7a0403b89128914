//! The violations of a schema, parsed from the API server's answer. Only its words identify them:
//! an apply gets a 500 without a reason, and a POST a 400.

/// Returns the violations as `field: problem`, separated by `; `, in the same words for POST and
/// apply; `None` for other answers.
pub fn schema_violations(message: &str) -> Option<String> {
    let violations = of_apply(message).or_else(|| of_post(message))?;
    Some(violations.join("; "))
}

fn of_apply(message: &str) -> Option<Vec<String>> {
    let (_, violations) = message.strip_prefix("failed to create typed patch object (")?.split_once("): ")?;
    let violations = violations.strip_prefix("errors:\n").unwrap_or(violations).lines();
    Some(violations.map(|violation| violation.trim().trim_start_matches('.').to_owned()).collect())
}

/// E.g. `… as a Job: strict decoding error: unknown field "spec.a"`, or `… as a Job: json: cannot
/// unmarshal string into Go struct field JobSpec.spec.a of type int32`.
fn of_post(message: &str) -> Option<Vec<String>> {
    if let Some((_, violations)) = message.split_once("strict decoding error: ") {
        let violations =
            violations.replace(", unknown field ", "\nunknown field ").replace(", duplicate field ", "\nduplicate field ");
        return Some(
            violations.lines().map(|violation| undeclared(violation).unwrap_or_else(|| violation.to_owned())).collect(),
        );
    }
    let (_, handled) = message.split_once(" cannot be handled as a ")?;
    let (_, violation) = handled.split_once(": ")?;
    Some(vec![mistyped(violation).unwrap_or_else(|| violation.to_owned())])
}

fn undeclared(violation: &str) -> Option<String> {
    let field = violation.strip_prefix("unknown field \"")?.strip_suffix('"')?;
    Some(format!("{field}: field not declared in schema"))
}

fn mistyped(violation: &str) -> Option<String> {
    let (found, rest) = violation.strip_prefix("json: cannot unmarshal ")?.split_once(" into Go struct field ")?;
    let (field, expected) = rest.split_once(" of type ")?;
    let (_, field) = field.split_once('.')?;
    Some(format!("{field}: expected {expected}, got {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &str, expected: Option<&str>) {
        assert_eq!(schema_violations(message).as_deref(), expected, "{message}");
    }

    #[test]
    fn a_field_is_named_in_the_same_words_whether_it_was_created_or_applied() {
        let applied =
            |said: &str| format!("failed to create typed patch object (default/it; apps/v1, Kind=Deployment): {said}");
        let created = |said: &str| format!("Deployment in version \"v1\" cannot be handled as a Deployment: {said}");
        let undeclared = Some("spec.templat: field not declared in schema");
        check(&applied(".spec.templat: field not declared in schema"), undeclared);
        check(&created("strict decoding error: unknown field \"spec.templat\""), undeclared);
        let two = "strict decoding error: unknown field \"spec.a\", unknown field \"spec.b[0].c\"";
        check(two, Some("spec.a: field not declared in schema; spec.b[0].c: field not declared in schema"));
        let twice = "strict decoding error: duplicate field \"spec.a\"";
        check(twice, Some("duplicate field \"spec.a\""));
        let mistyped = "json: cannot unmarshal array into Go struct field DeploymentSpec.spec.replicas of type int32";
        check(&created(mistyped), Some("spec.replicas: expected int32, got array"));
        check(&created("quantities must match the regular expression"), Some("quantities must match the regular expression"));
    }

    #[test]
    fn other_answers_have_no_violations() {
        check("failed to create typed live object (default/it; v1, Kind=Pod): .x: field not declared in schema", None);
        check("etcd is gone", None);
        check("", None);
    }
}
