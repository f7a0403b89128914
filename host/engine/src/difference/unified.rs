//! The differing lines of two texts, in the unified format.

use similar::TextDiff;

const CONTEXT: usize = 3;

/// Returns the hunks; empty if the texts are equal.
pub fn unified(before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after).unified_diff().context_radius(CONTEXT).missing_newline_hint(false).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_show_what_differs_and_a_little_around_it() {
        let before: Vec<String> = (1..=20).map(|line| line.to_string()).collect();
        let mut after = before.clone();
        after[4] = "five".to_owned();
        after.remove(15);
        after.insert(0, "zero".to_owned());
        let expected = "\
@@ -1,8 +1,9 @@
+zero
 1
 2
 3
 4
-5
+five
 6
 7
 8
@@ -13,7 +14,6 @@
 13
 14
 15
-16
 17
 18
 19
";
        assert_eq!(unified(&before.join("\n"), &after.join("\n")), expected);
    }

    #[test]
    fn equal_texts_have_no_hunks_and_texts_without_a_common_line_have_one() {
        assert_eq!(unified("a\nb\n", "a\nb\n"), "");
        assert_eq!(unified("", ""), "");
        assert_eq!(unified("a\n", ""), "@@ -1 +0,0 @@\n-a\n");
        assert_eq!(unified("a\nb\n", "c\n"), "@@ -1,2 +1 @@\n-a\n-b\n+c\n");
    }
}
