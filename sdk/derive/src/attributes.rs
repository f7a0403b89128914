//! Reads serde's attributes and documentation.

use syn::meta::ParseNestedMeta;
use syn::parse::Parse as _;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta, Token};

/// The attributes of serde that a schema depends on.
#[derive(Default)]
pub(crate) struct Serde {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<String>,
    pub(crate) has_default: bool,
    pub(crate) is_skipped: bool,
}

impl Serde {
    /// # Errors
    ///
    /// If an attribute changes the form of the type so that no schema can be derived.
    pub(crate) fn of(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut serde = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| serde.read(&meta))?;
        }
        Ok(serde)
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let is = |name: &str| meta.path.is_ident(name);
        if ["flatten", "tag", "untagged", "content", "remote"].into_iter().any(is) {
            return Err(
                meta.error("no schema can be derived with this attribute: give the field one by #[schema(json = \"{…}\")]")
            );
        }
        if (is("rename") || is("rename_all")) && meta.input.peek(Token![=]) {
            let text = meta.value()?.parse::<LitStr>()?.value();
            *(if is("rename") { &mut self.rename } else { &mut self.rename_all }) = Some(text);
            return Ok(());
        }
        self.has_default |= is("default");
        self.is_skipped |= is("skip");
        skip_value(meta)
    }
}

/// Skips the value of an attribute that is ignored.
fn skip_value(meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    if meta.input.peek(Token![=]) {
        let _ = Expr::parse(meta.value()?)?;
    } else if meta.input.peek(syn::token::Paren) {
        let content;
        syn::parenthesized!(content in meta.input);
        let _: proc_macro2::TokenStream = content.parse()?;
    }
    Ok(())
}

/// Returns the documentation of an item, one line per paragraph.
pub(crate) fn documentation(attributes: &[Attribute]) -> Option<String> {
    let mut paragraphs: Vec<String> = vec![String::new()];
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let Meta::NameValue(value) = &attribute.meta else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &value.value else { continue };
        for line in text.value().split('\n').map(str::trim) {
            match paragraphs.last_mut() {
                Some(last) if line.is_empty() && !last.is_empty() => paragraphs.push(String::new()),
                Some(last) => {
                    if !last.is_empty() {
                        last.push(' ');
                    }
                    last.push_str(line);
                }
                None => {}
            }
        }
    }
    let text = paragraphs.join("\n");
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Renames a field in snake case or a variant in Pascal case by a rule of serde's `rename_all`.
///
/// # Errors
///
/// If serde has no such rule.
pub(crate) fn renamed(name: &str, rule: Option<&str>) -> Result<String, String> {
    let Some(rule) = rule else { return Ok(name.to_owned()) };
    let mut words: Vec<String> = Vec::new();
    for character in name.chars() {
        match words.last_mut() {
            Some(word) if character == '_' && !word.is_empty() => words.push(String::new()),
            Some(word) if !character.is_uppercase() || word.is_empty() => word.extend(character.to_lowercase()),
            _ => words.push(character.to_lowercase().collect()),
        }
    }
    let capitalised = |word: &String| {
        let mut characters = word.chars();
        characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect::<String>()
    };
    let pascal: String = words.iter().map(capitalised).collect();
    Ok(match rule {
        "lowercase" => words.concat(),
        "UPPERCASE" => words.concat().to_uppercase(),
        "PascalCase" => pascal,
        "camelCase" => words.iter().take(1).cloned().chain(words.iter().skip(1).map(capitalised)).collect(),
        "snake_case" => words.join("_"),
        "SCREAMING_SNAKE_CASE" => words.join("_").to_uppercase(),
        "kebab-case" => words.join("-"),
        "SCREAMING-KEBAB-CASE" => words.join("-").to_uppercase(),
        other => return Err(format!("serde has no rule {other:?}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_serde() {
        for (rule, field, variant) in [
            ("camelCase", "lastRunTime", "gaveUp"),
            ("PascalCase", "LastRunTime", "GaveUp"),
            ("snake_case", "last_run_time", "gave_up"),
            ("SCREAMING_SNAKE_CASE", "LAST_RUN_TIME", "GAVE_UP"),
            ("kebab-case", "last-run-time", "gave-up"),
            ("SCREAMING-KEBAB-CASE", "LAST-RUN-TIME", "GAVE-UP"),
        ] {
            assert_eq!(renamed("last_run_time", Some(rule)).as_deref(), Ok(field));
            assert_eq!(renamed("GaveUp", Some(rule)).as_deref(), Ok(variant));
        }
        assert_eq!(renamed("GaveUp", Some("lowercase")).as_deref(), Ok("gaveup"));
        assert_eq!(renamed("GaveUp", Some("UPPERCASE")).as_deref(), Ok("GAVEUP"));
        assert_eq!(renamed("last_run", None).as_deref(), Ok("last_run"));
        assert!(renamed("last_run", Some("other")).is_err());
    }
}
