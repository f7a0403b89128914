//! Sets of completion indexes, written as in a Job's status: `0-3,5,7,8`.

use std::fmt;

/// Ordered, disjoint, inclusive ranges that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes(Vec<(i64, i64)>);

impl Indexes {
    /// Parses the valid parts below `completions` and skips others.
    pub(super) fn parse(text: &str, completions: i64) -> Self {
        let ranges = text.split(',').filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.parse().ok()?, last.parse::<i64>().ok()?.min(completions.saturating_sub(1)));
            Some((first, last)).filter(|(first, last)| first <= last)
        });
        Self::of(ranges.collect())
    }

    fn of(mut ranges: Vec<(i64, i64)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(previous) if first <= previous.1.saturating_add(1) => previous.1 = previous.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        Self(merged)
    }

    pub(super) fn with(&self, more: impl IntoIterator<Item = i64>) -> Self {
        Self::of(self.0.iter().copied().chain(more.into_iter().map(|index| (index, index))).collect())
    }

    pub(super) fn contains(&self, index: i64) -> bool {
        let place = self.0.partition_point(|(_, last)| *last < index);
        self.0.get(place).is_some_and(|(first, _)| *first <= index)
    }

    pub(super) fn count(&self) -> i64 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    pub(super) fn missing(&self, completions: i64, count: usize) -> Vec<i64> {
        let mut missing = Vec::new();
        let mut candidate = 0;
        for (first, last) in self.0.iter().copied().chain([(completions, completions)]) {
            let wanted = count.saturating_sub(missing.len());
            missing.extend((candidate..first.min(completions)).take(wanted));
            candidate = candidate.max(last.saturating_add(1));
        }
        missing
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (first, last)) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str(",")?;
            }
            match last - first {
                0 => write!(f, "{first}")?,
                1 => write!(f, "{first},{last}")?,
                _ => write!(f, "{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// A part of a status between two commas, with its range if it is valid.
    fn part() -> impl Strategy<Value = (String, Option<(i64, i64)>)> {
        prop_oneof![
            (0..100_i64).prop_map(|index| (index.to_string(), Some((index, index)))),
            (0..100_i64, 0..100_i64).prop_map(|(first, last)| (format!("{first}-{last}"), Some((first, last)))),
            prop::sample::select(vec![
                "",
                "-",
                "x",
                "3-",
                "-3",
                "1-2-3",
                "4-x",
                "99999999999999999999",
                "2-99999999999999999999"
            ])
            .prop_map(|text| (text.to_owned(), None)),
        ]
    }

    proptest! {
        #[test]
        fn indexes_are_a_set_that_reads_what_it_writes(some in proptest::collection::btree_set(0..40_i64, 0..20), more in proptest::collection::vec(0..40_i64, 0..20), count in 0..50_usize) {
            let indexes = Indexes::default().with(some.iter().copied()).with(more.iter().copied());
            let all: BTreeSet<i64> = some.into_iter().chain(more).collect();
            prop_assert_eq!(indexes.count(), all.len() as i64);
            prop_assert!((0..40).all(|index| indexes.contains(index) == all.contains(&index)));
            prop_assert_eq!(Indexes::parse(&indexes.to_string(), 40), indexes.clone());
            let missing: Vec<i64> = (0..40).filter(|index| !all.contains(index)).take(count).collect();
            prop_assert_eq!(indexes.missing(40, count), missing);
        }

        #[test]
        fn only_the_valid_parts_of_indexes_are_read(
            parts in proptest::collection::vec(part(), 0..8),
            completions in -3..50_i64,
        ) {
            let text: Vec<String> = parts.iter().map(|(text, _)| text.clone()).collect();
            let indexes = Indexes::parse(&text.join(","), completions);
            let is_said = |index: i64| {
                index < completions && parts.iter().any(|(_, range)| range.is_some_and(|(first, last)| (first..=last).contains(&index)))
            };
            for index in -1..110 {
                prop_assert_eq!(indexes.contains(index), is_said(index), "{} of {}", index, &indexes);
            }
            prop_assert_eq!(indexes.count(), (0..110).filter(|index| is_said(*index)).count() as i64);
            prop_assert_eq!(Indexes::parse(&indexes.to_string(), completions), indexes);
        }

        #[test]
        fn any_text_is_read_as_indexes_below_the_completions(text in "[-+0-9,x ]{0,30}", completions in -3..50_i64) {
            let indexes = Indexes::parse(&text, completions);
            prop_assert!(indexes.count() <= completions.max(0), "{} of {}", indexes.count(), &indexes);
            prop_assert!(!indexes.contains(-1) && !indexes.contains(completions.max(0)));
        }
    }

    #[test]
    fn neighbours_are_written_as_the_real_controller_writes_them() {
        assert_eq!(Indexes::default().with([0, 1, 2, 3, 5, 7, 8]).to_string(), "0-3,5,7,8");
    }
}
