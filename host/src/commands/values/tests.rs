use super::*;

#[test]
fn the_limit_is_that_of_the_chart() {
    let template = include_str!("../../../../charts/gyre/templates/_plugins.tpl");
    assert!(template.contains(&format!("gt $characters {MOST_CHARACTERS}")), "{MOST_CHARACTERS}");
    let schema = include_str!("../../../../charts/gyre/values.schema.json");
    assert!(schema.contains(&format!("\"maxLength\": {LONGEST_NAME}")), "{LONGEST_NAME}");
}

#[test]
fn a_reference_may_name_its_plugin() {
    let parse = |text: &str| text.parse::<Reference>().map(|reference| (reference.plugin, reference.place));
    assert_eq!(parse("a/b:1@sha256:0"), Ok((None, "a/b:1@sha256:0".to_owned())));
    assert_eq!(parse("it=a/b"), Ok((Some("it".to_owned()), "a/b".to_owned())));
    assert!(parse("it=").is_err() && parse("").is_err() && parse("a b").is_err());
}
