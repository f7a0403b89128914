//! A token bucket: a burst of tokens, and then one token per interval.

use std::time::Duration;

use crate::queue::Time;

/// How many tokens a bucket holds, and how fast they come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The number of tokens in a full bucket. At least 1.
    pub burst: u32,
    /// One token comes back per interval. More than zero.
    pub interval: Duration,
}

/// The tokens that were spent of one bucket. The default is a full bucket.
///
/// Each method takes the limit as an argument, because many buckets share one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBucket {
    spent: u32,
    /// When the last token came back, or the first was spent.
    since: Time,
}

impl TokenBucket {
    /// When the bucket has a token again; none: it has one now. It is at most one interval from now.
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

    /// Spends a token if there is one. Returns whether there was.
    pub fn try_spend(&mut self, limit: Limit, now: Time) -> bool {
        let has_one = self.empty_until(limit, now).is_none();
        if has_one {
            self.spend(limit, now);
        }
        has_one
    }

    /// With the tokens that have come back by now.
    fn at(&self, limit: Limit, now: Time) -> Self {
        let intervals = now.saturating_since(self.since).as_nanos() / limit.interval.as_nanos().max(1);
        let returned = u32::try_from(intervals).unwrap_or(u32::MAX).min(self.spent);
        Self { spent: self.spent - returned, since: self.since + limit.interval * returned }
    }
}
