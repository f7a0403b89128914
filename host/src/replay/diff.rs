//! What differs between two texts, line by line, in the unified format.

use std::fmt::Write as _;

/// So many lines are shown around what differs.
const CONTEXT: usize = 3;
/// Comparing takes the product of both numbers of lines; beyond that, all lines in the middle count as different.
const MOST_PAIRS: usize = 4_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Both,
    Before,
    After,
}

/// The hunks, or nothing if the texts are the same.
pub(crate) fn unified(before: &str, after: &str) -> String {
    let lines = compare(&before.lines().collect::<Vec<_>>(), &after.lines().collect::<Vec<_>>());
    let changed: Vec<usize> =
        lines.iter().enumerate().filter(|(_, (side, _))| *side != Side::Both).map(|(index, _)| index).collect();
    let mut output = String::new();
    let mut rest = changed.as_slice();
    while let Some(first) = rest.first() {
        // A hunk goes on where the next change is within the context of both.
        let apart = rest.windows(2).position(|pair| matches!(pair, [one, next] if next - one > 2 * CONTEXT));
        let (hunk, others) = rest.split_at(apart.map_or(rest.len(), |last| last + 1));
        rest = others;
        let from = first.saturating_sub(CONTEXT);
        let to = hunk.last().map_or(from, |last| (last + 1 + CONTEXT).min(lines.len()));
        let count = |side: Side, lines: &[(Side, &str)]| lines.iter().filter(|(own, _)| *own != side).count();
        let (skipped, shown) = (lines.get(..from).unwrap_or_default(), lines.get(from..to).unwrap_or_default());
        // Writing to a string does not fail.
        let _ = writeln!(
            output,
            "@@ -{},{} +{},{} @@",
            // Of no lines, the one before is named.
            count(Side::After, skipped) + usize::from(count(Side::After, shown) > 0),
            count(Side::After, shown),
            count(Side::Before, skipped) + usize::from(count(Side::Before, shown) > 0),
            count(Side::Before, shown),
        );
        for (side, line) in shown {
            let mark = match side {
                Side::Both => ' ',
                Side::Before => '-',
                Side::After => '+',
            };
            let _ = writeln!(output, "{mark}{line}");
        }
    }
    output
}

/// All lines of both, in order.
fn compare<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<(Side, &'a str)> {
    let head = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (same, before, after) =
        (before.get(..head).unwrap_or_default(), before.get(head..).unwrap_or_default(), after.get(head..).unwrap_or_default());
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let (before, end) = before.split_at(before.len() - tail);
    let (after, _) = after.split_at(after.len() - tail);
    let both = |line: &&'a str| (Side::Both, *line);
    let mut lines: Vec<_> = same.iter().map(both).collect();
    lines.extend(middle(before, after));
    lines.extend(end.iter().map(both));
    lines
}

/// By the longest common subsequence.
fn middle<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<(Side, &'a str)> {
    let removed = |line: &&'a str| (Side::Before, *line);
    let added = |line: &&'a str| (Side::After, *line);
    if before.len().saturating_mul(after.len()) > MOST_PAIRS {
        return before.iter().map(removed).chain(after.iter().map(added)).collect();
    }
    // `common[i * width + j]`: how many lines `before[i..]` and `after[j..]` have in common.
    let width = after.len() + 1;
    let mut common = vec![0_u32; (before.len() + 1) * width];
    let at = |common: &[u32], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or_default();
    for (i, one) in before.iter().enumerate().rev() {
        for (j, other) in after.iter().enumerate().rev() {
            let value =
                if one == other { at(&common, i + 1, j + 1) + 1 } else { at(&common, i + 1, j).max(at(&common, i, j + 1)) };
            if let Some(place) = common.get_mut(i * width + j) {
                *place = value;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    loop {
        match (before.get(i), after.get(j)) {
            (Some(one), Some(other)) if one == other => {
                lines.push((Side::Both, *one));
                (i, j) = (i + 1, j + 1);
            }
            (Some(one), other) if other.is_none() || at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                lines.push((Side::Before, *one));
                i += 1;
            }
            (_, Some(other)) => {
                lines.push((Side::After, *other));
                j += 1;
            }
            _ => return lines,
        }
    }
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
    fn what_is_the_same_has_no_hunks_and_what_has_nothing_in_common_has_one() {
        assert_eq!(unified("a\nb\n", "a\nb\n"), "");
        assert_eq!(unified("", ""), "");
        assert_eq!(unified("a\n", ""), "@@ -1,1 +0,0 @@\n-a\n");
        assert_eq!(unified("a\nb\n", "c\n"), "@@ -1,2 +1,1 @@\n-a\n-b\n+c\n");
    }

    /// Both texts can be read off the comparison.
    #[test]
    fn a_comparison_has_all_lines_of_both() {
        for seed in 0_u32..2_000 {
            let text = |salt: u32| {
                let lines = (0..(seed % 7 + salt))
                    .map(|line| ["a", "b", "c"][(seed.wrapping_mul(2_654_435_761) >> (line * 3 + salt)) as usize % 3]);
                lines.collect::<Vec<_>>()
            };
            let (before, after) = (text(0), text(1));
            let lines = compare(&before, &after);
            let side = |other: Side| lines.iter().filter(|(side, _)| *side != other).map(|(_, line)| *line).collect::<Vec<_>>();
            assert_eq!((side(Side::After), side(Side::Before)), (before, after), "seed {seed}");
        }
    }
}
