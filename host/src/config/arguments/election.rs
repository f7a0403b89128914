//! The arguments of leader election.

use std::fmt;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use gyre_core::election::{self, Timing};
use gyre_core::names;
use gyre_core::text::list;
use gyre_engine::leadership::election::{ElectionScope, Options, identity};

use crate::config::values::{WrongArguments, is_in_pod, one_of, period};

const SCOPES: &[(&str, &str, ElectionScope)] =
    &[("host", "One leader for all mounts", ElectionScope::Host), ("mount", "One leader for each mount", ElectionScope::Mount)];

/// Whether several replicas of this host run, and how they elect leaders.
#[derive(Clone, Debug, Args)]
pub(crate) struct ElectionArguments {
    /// Enable leader election among the replicas. Replicas that do not lead keep their caches up to
    /// date and write nothing. Always enabled in a Pod and for a deployment with a name.
    #[arg(
        long, value_name = "BOOL", env = "GYRE_HA", num_args = 0..=1, require_equals = true,
        default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set, value_parser = boolean
    )]
    ha: bool,
    /// Whether to elect one leader for all mounts, or one leader for each mount so that the
    /// replicas share the mounts.
    #[arg(long, value_name = "SCOPE", env = "GYRE_HA_SCOPE", value_parser = one_of(SCOPES), default_value = "host")]
    ha_scope: ElectionScope,
    /// Name of this replica in Leases and logs [default: the hostname].
    #[arg(long, value_name = "NAME", env = "GYRE_HA_NODE_ID", value_parser = node)]
    ha_node_id: Option<String>,
    /// Name of the Lease, or prefix of the names of the Leases if there are several [default: the
    /// name of the deployment].
    #[arg(long, value_name = "NAME", env = "GYRE_HA_LEASE_NAME", value_parser = lease_name)]
    ha_lease_name: Option<String>,
    /// Lease duration: how long other replicas wait before they take over a Lease that is not
    /// renewed.
    #[arg(long, value_name = "DURATION", env = LEASE_DURATION.variable, default_value = LEASE_DURATION.default, value_parser = period)]
    ha_lease_duration: Duration,
    /// Renew deadline: how long a leader continues to write after it last renewed its Lease.
    #[arg(long, value_name = "DURATION", env = RENEW_DEADLINE.variable, default_value = RENEW_DEADLINE.default, value_parser = period)]
    ha_renew_deadline: Duration,
    /// Retry period: how often the leader renews its Lease, and how often other replicas check it.
    #[arg(long, value_name = "DURATION", env = RETRY_PERIOD.variable, default_value = RETRY_PERIOD.default, value_parser = period)]
    ha_retry_period: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeFlag {
    pub(crate) flag: &'static str,
    pub(crate) variable: &'static str,
    pub(crate) default: &'static str,
}

const LEASE_DURATION: TimeFlag = TimeFlag { flag: "ha-lease-duration", variable: "GYRE_HA_LEASE_DURATION", default: "15s" };
const RENEW_DEADLINE: TimeFlag = TimeFlag { flag: "ha-renew-deadline", variable: "GYRE_HA_RENEW_DEADLINE", default: "10s" };
const RETRY_PERIOD: TimeFlag = TimeFlag { flag: "ha-retry-period", variable: "GYRE_HA_RETRY_PERIOD", default: "2s" };

#[derive(Debug)]
pub(crate) struct WrongTimes {
    pub(crate) times: Vec<(TimeFlag, Duration)>,
    pub(crate) error: election::Error,
}

impl fmt::Display for WrongTimes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = list(self.times.iter().map(|(time, _)| time));
        let verdict = if self.times.len() == 1 { "is invalid" } else { "are inconsistent" };
        write!(formatter, "{flags} {verdict}: {}", self.error)
    }
}

impl fmt::Display for TimeFlag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "--{} (or {})", self.flag, self.variable)
    }
}

/// Whether hosts of one name exclude each other also without `--ha`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    Always,
    WithHa,
}

impl Fence {
    /// In a Pod, a person or an autoscaler may start more hosts than the operator meant. Elsewhere,
    /// only a name can say that two hosts are the same.
    pub(crate) fn of(name: Option<&str>) -> Self {
        if name.is_some() || is_in_pod() { Self::Always } else { Self::WithHa }
    }
}

impl ElectionArguments {
    /// The scope and options of the election, or `None` without one.
    pub(crate) fn options(
        &self,
        fence: Fence,
        namespace: &str,
        deployment: &str,
        host: &str,
    ) -> anyhow::Result<Option<(ElectionScope, Options)>> {
        if !self.is_held(fence) {
            return Ok(None);
        }
        let identity = identity(self.ha_node_id.as_deref().unwrap_or(host));
        let name = self.ha_lease_name.as_deref().unwrap_or(deployment);
        let timing = self.timing().map_err(|wrong| anyhow!(WrongArguments(wrong.to_string())))?;
        Ok(Some((self.ha_scope, Options::new(namespace, name, identity, timing))))
    }

    fn is_held(&self, fence: Fence) -> bool {
        self.ha || fence == Fence::Always
    }

    pub(crate) fn wrong_times(&self, fence: Fence) -> Option<WrongTimes> {
        if self.is_held(fence) { self.timing().err() } else { None }
    }

    fn timing(&self) -> Result<Timing, WrongTimes> {
        let lease = (LEASE_DURATION, self.ha_lease_duration);
        let renew = (RENEW_DEADLINE, self.ha_renew_deadline);
        let retry = (RETRY_PERIOD, self.ha_retry_period);
        Timing::new(lease.1, renew.1, retry.1).map_err(|error| {
            let times = match error {
                election::Error::LeaseDuration(_) => vec![lease],
                election::Error::RenewDeadline { .. } => vec![lease, renew],
                election::Error::RetryPeriod { .. } => vec![renew, retry],
                election::Error::NoPause(_) => vec![retry],
            };
            WrongTimes { times, error }
        })
    }
}

/// Like Go's `strconv.ParseBool`, so that values of echoperator's chart are accepted.
fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

fn node(text: &str) -> Result<String, String> {
    let is_plain = !text.is_empty() && text.len() <= 253 && text.chars().all(|letter| letter.is_ascii_graphic());
    if is_plain { Ok(text.to_owned()) } else { Err("expected a name of 1 to 253 ASCII characters without spaces".to_owned()) }
}

fn lease_name(text: &str) -> Result<String, String> {
    // The names of mounts and replicas are appended.
    if names::is_dns_subdomain(text) && text.len() <= 120 {
        Ok(text.to_owned())
    } else {
        Err("expected at most 120 lower-case letters, digits, hyphens and dots".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        election: ElectionArguments,
    }

    fn parse(arguments: &[&str]) -> Result<ElectionArguments, String> {
        let parsed = Program::try_parse_from([&["gyre"], arguments].concat());
        parsed.map(|program| program.election).map_err(|error| error.to_string())
    }

    fn options(arguments: &[&str]) -> Result<Option<(ElectionScope, Options)>, String> {
        parse(arguments)?.options(Fence::WithHa, "gyre-system", "echo", "pod-1").map_err(|error| error.to_string())
    }

    #[test]
    fn without_election_the_times_do_not_matter() {
        assert!(options(&["--ha-lease-duration", "1s"]).unwrap().is_none());
        assert!(options(&["--ha=false"]).unwrap().is_none());
    }

    #[test]
    fn a_deployment_with_a_name_holds_its_lease_also_without_ha() {
        assert_eq!(Fence::of(Some("echo")), Fence::Always);
        for arguments in [&["--ha=false"][..], &[], &["--ha"]] {
            let held = parse(arguments).unwrap().options(Fence::Always, "gyre-system", "echo", "pod-1").unwrap();
            assert_eq!(held.map(|(_, options)| options.name).as_deref(), Some("echo"), "{arguments:?}");
        }
        let wrong = parse(&["--ha-lease-duration=10s"]).unwrap();
        assert!(wrong.wrong_times(Fence::Always).is_some() && wrong.wrong_times(Fence::WithHa).is_none());
    }

    #[test]
    fn the_defaults_are_those_of_echoperator() {
        let (scope, options) = options(&["--ha"]).unwrap().unwrap();
        assert_eq!((scope, options.name.as_str(), options.namespace.as_str()), (ElectionScope::Host, "echo", "gyre-system"));
        assert!(options.identity.starts_with("pod-1_"), "{options:?}");
        assert_eq!(options.timing, Timing::default());
    }

    #[test]
    fn a_time_has_a_unit() {
        for times in [["60s", "40s", "1000ms"], ["1m", "0m40s", "1s"]] {
            let [lease, renew, retry] = times;
            let options =
                options(&["--ha", "--ha-lease-duration", lease, "--ha-renew-deadline", renew, "--ha-retry-period", retry]);
            let expected = [60, 40, 1].map(Duration::from_secs);
            assert_eq!(options.unwrap().unwrap().1.timing, Timing::new(expected[0], expected[1], expected[2]).unwrap());
        }
    }

    #[test]
    fn hosts_with_the_same_name_have_different_identities() {
        let identity = || options(&["--ha=true", "--ha-node-id", "same"]).unwrap().unwrap().1.identity;
        assert!(identity().starts_with("same_"));
        assert_ne!(identity(), identity());
    }

    #[test]
    fn errors_name_the_environment_variable() {
        let refused = |arguments: &[&str]| options(arguments).unwrap_err();
        let error = refused(&["--ha", "--ha-lease-duration=10s"]);
        assert!(error.contains("GYRE_HA_LEASE_DURATION") && error.contains("longer than the renew deadline (10s)"), "{error}");
        let error = refused(&["--ha", "--ha-retry-period=9s"]);
        assert!(error.contains("GYRE_HA_RETRY_PERIOD") && error.contains("1.2 times"), "{error}");
        assert!(refused(&["--ha=maybe"]).contains("expected true or false"));
        for wrong in ["0s", "-1s", "1 s", "soon", "5000000000s", ""] {
            assert!(refused(&[&format!("--ha-lease-duration={wrong}")]).contains("expected a duration such as 15s"), "{wrong}");
        }
        for wrong in ["15", "1.5", "0"] {
            let error = refused(&[&format!("--ha-lease-duration={wrong}")]);
            assert!(error.contains("expected a duration with a unit, such as 15s"), "{wrong}: {error}");
        }
        assert!(refused(&["--ha", "--ha-lease-duration=15500ms"]).contains("must be whole seconds"));
        assert!(refused(&["--ha-lease-name=A"]).contains("--ha-lease-name"));
        assert!(refused(&["--ha-node-id="]).contains("--ha-node-id"));
    }
}
