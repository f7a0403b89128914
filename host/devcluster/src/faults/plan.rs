use std::ops::RangeInclusive;
use std::time::Duration;

use gyre_core::milliseconds;

use super::Fault;
use crate::attributes::Attributes;
use crate::random::Random;

/// The faults that may happen, and their extent.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The first rule that applies to a request decides. Without one, it meets no fault.
    pub rules: Vec<Rule>,
    /// The range of latencies.
    pub latency: RangeInclusive<Duration>,
    /// The time of the retry after a 429, in seconds.
    pub retry_after: RangeInclusive<u64>,
    /// The number of changes that a stale list lacks.
    pub staleness: RangeInclusive<u64>,
    /// The maximum life of a watch that will be cut, hang or expire.
    pub watch_life: RangeInclusive<Duration>,
    /// The maximum number of events before it is cut, hangs or expires.
    pub watch_events: RangeInclusive<u64>,
    /// The time for which a watch hangs before it ends.
    pub hang: RangeInclusive<Duration>,
    /// The delay of a delayed event.
    pub event_delay: RangeInclusive<Duration>,
}

impl Default for Plan {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            rules: Vec::new(),
            latency: Duration::from_millis(1)..=seconds(2),
            retry_after: 1..=5,
            staleness: 1..=20,
            watch_life: Duration::ZERO..=seconds(120),
            watch_events: 0..=50,
            hang: seconds(1)..=seconds(300),
            event_delay: Duration::from_millis(1)..=seconds(10),
        }
    }
}

impl Plan {
    /// Every fault with this probability for every request.
    pub fn everything(probability: f64) -> Self {
        let faults = Fault::ALL.into_iter().map(|fault| (fault, probability)).collect();
        Self { rules: vec![Rule { requests: Requests::default(), faults }], ..Self::default() }
    }

    /// This fault for every request.
    pub fn always(fault: Fault) -> Self {
        Self { rules: vec![Rule { requests: Requests::default(), faults: vec![(fault, 1.0)] }], ..Self::default() }
    }
}

/// The faults of certain requests.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The requests that it applies to.
    pub requests: Requests,
    /// The probability of each, per event or per request. The first drawn one excludes others.
    pub faults: Vec<(Fault, f64)>,
}

/// A selection of requests; by default all.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// The verbs; empty for any.
    pub verbs: Vec<String>,
    /// The beginning of the path.
    pub path: String,
    /// The resource, e.g. `jobs.batch` or `pods`; empty for any.
    pub resource: String,
}

impl Requests {
    fn contain(&self, attributes: &Attributes, path: &str) -> bool {
        let resource = match attributes.group.as_str() {
            "" => attributes.resource.clone(),
            group => format!("{}.{group}", attributes.resource),
        };
        (self.verbs.is_empty() || self.verbs.contains(&attributes.verb))
            && path.starts_with(&self.path)
            && (self.resource.is_empty() || self.resource == resource)
    }
}

#[derive(Debug, Default)]
pub(super) struct Draw {
    pub(super) before: Option<Duration>,
    pub(super) after: Option<Duration>,
    pub(super) outcome: Outcome,
}

#[derive(Debug, Default)]
pub(super) enum Outcome {
    #[default]
    Answer,
    /// The request does not reach the server.
    Refused(Fault, Duration),
    /// The answer does not reach the client, or only a part of it.
    Lost(Fault),
    /// A webhook denies the request with this code.
    Denied(u16),
    Altered(Removal),
    /// The list lacks this number of changes.
    Stale(u64),
    Watch(Box<Script>),
}

/// The fields that a webhook removes from an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    References,
    Labels,
    Both,
}

#[derive(Debug)]
pub(super) struct Script {
    pub(super) end: Option<End>,
    pub(super) duplicate: f64,
    pub(super) delay: f64,
    pub(super) event_delay: RangeInclusive<Duration>,
    pub(super) random: Random,
}

#[derive(Debug)]
pub(super) struct End {
    pub(super) fault: Fault,
    pub(super) life: Duration,
    pub(super) events: u64,
    pub(super) hang: Duration,
    pub(super) cut: Cut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Clean,
    Error,
    /// With an error in the middle of an event.
    Torn,
}

/// The codes with which webhooks deny.
const DENIALS: [u16; 9] = [400, 401, DENIED, 404, 409, 413, 422, 429, 500];
/// The usual one.
const DENIED: u16 = 403;

impl Fault {
    fn can_happen(self, attributes: &Attributes) -> bool {
        let verb = attributes.verb.as_str();
        match self {
            Self::Conflict => matches!(verb, "update" | "patch" | "delete"),
            Self::StaleList => verb == "list",
            Self::WatchCut | Self::WatchHung | Self::WatchExpired | Self::EventDuplicated | Self::EventDelayed => {
                verb == "watch"
            }
            // For a watch, a lost answer is a cut.
            Self::ConnectionLost | Self::AnswerLost | Self::AnswerCut => verb != "watch",
            Self::Denied => matches!(verb, "create" | "update" | "patch" | "delete"),
            Self::MarksRemoved => matches!(verb, "create" | "patch"),
            _ => true,
        }
    }
}

impl Plan {
    pub(super) fn draw(&self, attributes: &Attributes, path: &str, mut random: Random) -> Draw {
        let mut draw = Draw::default();
        let Some(rule) = self.rules.iter().find(|rule| rule.requests.contain(attributes, path)) else { return draw };
        let mut script = Script {
            end: None,
            duplicate: 0.0,
            delay: 0.0,
            event_delay: self.event_delay.clone(),
            random: Random::new(random.next_u64()),
        };
        for (fault, probability) in &rule.faults {
            let fault = *fault;
            if !fault.can_happen(attributes) {
                continue;
            }
            match fault {
                Fault::EventDuplicated => script.duplicate = *probability,
                Fault::EventDelayed => script.delay = *probability,
                _ if !random.chance(*probability) => {}
                Fault::LatencyBefore => draw.before = Some(duration(&mut random, &self.latency)),
                Fault::LatencyAfter => draw.after = Some(duration(&mut random, &self.latency)),
                Fault::WatchCut | Fault::WatchHung | Fault::WatchExpired => {
                    let end = self.end(fault, &mut random);
                    script.end.get_or_insert(end);
                }
                _ => {
                    let outcome = self.outcome(fault, &mut random);
                    if matches!(draw.outcome, Outcome::Answer) {
                        draw.outcome = outcome;
                    }
                }
            }
        }
        if attributes.verb == "watch" && matches!(draw.outcome, Outcome::Answer) {
            draw.outcome = Outcome::Watch(Box::new(script));
        }
        draw
    }

    fn end(&self, fault: Fault, random: &mut Random) -> End {
        End {
            fault,
            life: duration(random, &self.watch_life),
            events: within(random, &self.watch_events),
            hang: duration(random, &self.hang),
            cut: match random.below(3) {
                0 => Cut::Clean,
                1 => Cut::Error,
                _ => Cut::Torn,
            },
        }
    }

    fn outcome(&self, fault: Fault, random: &mut Random) -> Outcome {
        match fault {
            Fault::ConnectionLost | Fault::AnswerLost | Fault::AnswerCut => Outcome::Lost(fault),
            Fault::Denied => {
                let index = usize::try_from(random.below(DENIALS.len() as u64)).unwrap_or_default();
                Outcome::Denied(DENIALS.get(index).copied().unwrap_or(DENIED))
            }
            Fault::MarksRemoved => Outcome::Altered(match random.below(3) {
                0 => Removal::References,
                1 => Removal::Labels,
                _ => Removal::Both,
            }),
            Fault::StaleList => Outcome::Stale(within(random, &self.staleness)),
            _ => Outcome::Refused(fault, Duration::from_secs(within(random, &self.retry_after))),
        }
    }
}

/// Returns the generator of one request, independent of other requests.
pub(super) fn generator(seed: u64, number: u64) -> Random {
    Random::new(Random::new(seed).next_u64() ^ Random::new(number).next_u64())
}

fn within(random: &mut Random, range: &RangeInclusive<u64>) -> u64 {
    let span = range.end().saturating_sub(*range.start()).saturating_add(1);
    range.start().saturating_add(random.below(span))
}

/// Returns a time in the range in milliseconds, the resolution of tokio's timers.
pub(super) fn duration(random: &mut Random, range: &RangeInclusive<Duration>) -> Duration {
    Duration::from_millis(within(random, &(milliseconds::of(*range.start())..=milliseconds::of(*range.end()))))
}
