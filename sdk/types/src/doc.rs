//! Documentation comments from the descriptions of schemas.

/// The columns of a line of a comment.
const WIDTH: usize = 100;

/// Returns the first sentence of a description, as text for rustdoc.
fn sentence(description: &str) -> String {
    let paragraph = description.split("\n\n").next().unwrap_or_default();
    let joined = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = joined.find(". ").map_or(joined.len(), |dot| dot + 1);
    let words: Vec<String> = joined.get(..end).unwrap_or_default().split(' ').map(word).collect();
    let text = words.join(" ");
    // A comment begins with a noun or a verb.
    let text = text.strip_prefix("What ").map_or(text.clone(), |rest| format!("The {rest}"));
    if text.is_empty() || text.ends_with(['.', ':']) { text } else { format!("{text}.") }
}

/// Escapes what rustdoc takes for a link, an element or code.
fn word(word: &str) -> String {
    if word.contains("http://") || word.contains("https://") {
        let (address, rest) = word.split_at(word.trim_end_matches(['.', ',', ')', ';', '"', '\'']).len());
        let begin = address.find("http").unwrap_or(0);
        let (before, address) = address.split_at(begin);
        return format!("{}<{}>{}", escape(before), address, escape(rest));
    }
    escape(word)
}

fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if matches!(letter, '<' | '>' | '[' | ']' | '`' | '*' | '_' | '\\') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// Returns the lines of a comment, each with this indentation. `otherwise` is said of what has no
/// description.
pub(crate) fn comment(description: &str, indentation: usize, otherwise: &str) -> String {
    let sentence = sentence(description);
    let sentence = if sentence.is_empty() { otherwise } else { &sentence };
    let begin = format!("{}///", " ".repeat(indentation));
    let mut lines = String::new();
    let mut line = begin.clone();
    for word in sentence.split(' ') {
        if line.len() > begin.len() && line.len() + 1 + word.len() > WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line.clone_from(&begin);
        }
        line.push(' ');
        line.push_str(word);
    }
    lines + &line + "\n"
}
