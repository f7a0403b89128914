//! A token bucket: a burst of tokens, and then one token per interval.

use std::time::Duration;

use crate::queue::Time;

/// The size of a bucket and its refill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The tokens in a full bucket. At least 1.
    pub burst: u32,
    /// The time until one token comes back. More than zero.
    pub interval: Duration,
}

/// The spent tokens of a bucket; the default is full. Many buckets share one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBucket {
    spent: u32,
    /// When the last token came back, or the first was spent.
    since: Time,
}

impl TokenBucket {
    /// When the bucket has a token again, within one interval; `None` if it has one now.
    pub fn empty_until(&self, limit: Limit, now: Time) -> Option<Time> {
        let current = self.at(limit, now);
        (current.spent >= limit.burst).then(|| current.since + limit.interval)
    }

    /// Spends a token. An empty bucket stays empty.
    pub fn spend(&mut self, limit: Limit, now: Time) {
        let current = self.at(limit, now);
        let since = if current.spent == 0 { now } else { current.since };
        *self = Self { spent: (current.spent + 1).min(limit.burst), since };
    }

    /// Spends a token if there is one, and returns whether there was.
    pub fn try_spend(&mut self, limit: Limit, now: Time) -> bool {
        let has_one = self.empty_until(limit, now).is_none();
        if has_one {
            self.spend(limit, now);
        }
        has_one
    }

    fn at(&self, limit: Limit, now: Time) -> Self {
        let intervals = now.saturating_since(self.since).as_nanos() / limit.interval.as_nanos().max(1);
        let returned = u32::try_from(intervals).unwrap_or(u32::MAX).min(self.spent);
        Self { spent: self.spent - returned, since: self.since + limit.interval * returned }
    }
}
