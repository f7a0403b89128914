//! The plan of faults, and the faults that are drawn for one request.

use std::ops::RangeInclusive;
use std::time::Duration;

use gyre_core::milliseconds;

use super::Fault;
use crate::attributes::Attributes;
use crate::random::Random;

/// The possible faults, and their extent.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The first rule that is about a request decides. A request that none is about meets no fault.
    pub rules: Vec<Rule>,
    /// The range of latencies.
    pub latency: RangeInclusive<Duration>,
    /// When to try again after a 429, in seconds.
    pub retry_after: RangeInclusive<u64>,
    /// The number of changes that a stale list lacks.
    pub staleness: RangeInclusive<u64>,
    /// The maximum life of a watch that will be cut, hang or expire.
    pub watch_life: RangeInclusive<Duration>,
    /// After how many events it is cut, hangs or expires, at most.
    pub watch_events: RangeInclusive<u64>,
    /// The duration for which a watch hangs before it ends.
    pub hang: RangeInclusive<Duration>,
    /// The delay of a delayed event.
    pub event_delay: RangeInclusive<Duration>,
}

impl Default for Plan {
    /// No faults.
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
    /// Every fault, each with this probability, for every request.
    pub fn everything(probability: f64) -> Self {
        let faults = Fault::ALL.into_iter().map(|fault| (fault, probability)).collect();
        Self { rules: vec![Rule { requests: Requests::default(), faults }], ..Self::default() }
    }

    /// One fault, always, for every request.
    pub fn always(fault: Fault) -> Self {
        Self { rules: vec![Rule { requests: Requests::default(), faults: vec![(fault, 1.0)] }], ..Self::default() }
    }
}

/// The faults of some requests.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The requests that it applies to.
    pub requests: Requests,
    /// The probability of each fault: per event for those of events, else per request. Of several that exclude each other, the first
    /// that is drawn happens.
    pub faults: Vec<(Fault, f64)>,
}

/// Some requests. The default is all.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// Those with these verbs; any if empty.
    pub verbs: Vec<String>,
    /// Those whose path begins so.
    pub path: String,
    /// Those about this resource, as `jobs.batch` or `pods`; any if empty.
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

/// The faults of one request.
#[derive(Debug, Default)]
pub(super) struct Draw {
    pub(super) before: Option<Duration>,
    pub(super) after: Option<Duration>,
    pub(super) outcome: Outcome,
}

#[derive(Debug, Default)]
pub(super) enum Outcome {
    /// The server answers.
    #[default]
    Answer,
    /// The request is not handed on.
    Refused(Fault, Duration),
    /// It is, but its answer is not.
    Lost(Fault),
    /// A list that lacks this number of changes.
    Stale(u64),
    /// A watch.
    Watch(Box<Script>),
}

/// The faults of a watch.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) end: Option<End>,
    pub(super) duplicate: f64,
    pub(super) delay: f64,
    pub(super) event_delay: RangeInclusive<Duration>,
    pub(super) random: Random,
}

/// The early end of a watch: at whichever comes first.
#[derive(Debug)]
pub(super) struct End {
    pub(super) fault: Fault,
    pub(super) life: Duration,
    pub(super) events: u64,
    pub(super) hang: Duration,
    pub(super) cut: Cut,
}

/// The way in which the connection of a watch that is cut ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// As if the server had ended it.
    Clean,
    /// With an error.
    Error,
    /// With half an event, and an error.
    Torn,
}

impl Fault {
    /// Returns whether it can happen to such a request.
    fn can_happen(self, attributes: &Attributes) -> bool {
        let verb = attributes.verb.as_str();
        match self {
            Self::Conflict => matches!(verb, "update" | "patch" | "delete"),
            Self::StaleList => verb == "list",
            Self::WatchCut | Self::WatchHung | Self::WatchExpired | Self::EventDuplicated | Self::EventDelayed => {
                verb == "watch"
            }
            // A watch whose answer is lost is one that is cut.
            Self::ConnectionLost | Self::AnswerLost => verb != "watch",
            _ => true,
        }
    }
}

impl Plan {
    /// Draws what happens to a request.
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
            Fault::ConnectionLost | Fault::AnswerLost => Outcome::Lost(fault),
            Fault::StaleList => Outcome::Stale(within(random, &self.staleness)),
            _ => Outcome::Refused(fault, Duration::from_secs(within(random, &self.retry_after))),
        }
    }
}

/// The generator of the request `number`. What one request draws changes nothing for another.
pub(super) fn generator(seed: u64, number: u64) -> Random {
    Random::new(Random::new(seed).next_u64() ^ Random::new(number).next_u64())
}

fn within(random: &mut Random, range: &RangeInclusive<u64>) -> u64 {
    let span = range.end().saturating_sub(*range.start()).saturating_add(1);
    range.start().saturating_add(random.below(span))
}

/// A time in the range, to the millisecond, which is as exact as tokio's timers are.
pub(super) fn duration(random: &mut Random, range: &RangeInclusive<Duration>) -> Duration {
    Duration::from_millis(within(random, &(milliseconds::of(*range.start())..=milliseconds::of(*range.end()))))
}
