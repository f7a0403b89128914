//! The arguments of leader election, and echoperator's variables for them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use gyre_core::election::{self, Timing};
use gyre_core::names;

use super::{Options, identity};
use crate::cli::{WrongArguments, whole};
use crate::clock::Clock;

/// Whether several replicas of this host run, and how they agree on who writes.
#[derive(Clone, Debug, Args)]
pub(crate) struct ElectionArguments {
    /// Elect a leader among the replicas: the others keep their caches warm, and write nothing.
    #[arg(
        long, value_name = "BOOL", env = "HA_ENABLED", num_args = 0..=1, require_equals = true,
        default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set, value_parser = boolean
    )]
    ha: bool,
    /// What is elected: one leader for all mounts, or one for each, so that the replicas share them.
    #[arg(long, value_name = "SCOPE", env = "HA_SCOPE", value_enum, default_value_t = Scope::Host)]
    ha_scope: Scope,
    /// What this replica is called, in the Lease and in logs [default: the host's name].
    #[arg(long, value_name = "NAME", env = "HA_NODE_ID", value_parser = node)]
    ha_node_id: Option<String>,
    /// What the Lease is called, or what the names of the Leases begin with [default: the deployment's name].
    #[arg(long, value_name = "NAME", env = "HA_LEASE_LOCK_NAME", value_parser = lease_name)]
    ha_lease_name: Option<String>,
    /// How long a lease stays with a leader that does not renew it.
    #[arg(long, value_name = "SECONDS", env = "HA_LEASE_DURATION_SECONDS", default_value_t = 15, value_parser = whole(SECONDS))]
    ha_lease_duration: u32,
    /// How long a leader writes after it last renewed its lease.
    #[arg(long, value_name = "SECONDS", env = "HA_RENEW_DEADLINE_SECONDS", default_value_t = 10, value_parser = whole(SECONDS))]
    ha_renew_deadline: u32,
    /// How often the leader renews its lease, and the others look.
    #[arg(long, value_name = "SECONDS", env = "HA_RETRY_PERIOD_SECONDS", default_value_t = 2, value_parser = whole(SECONDS))]
    ha_retry_period: u32,
}

/// What is elected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// One leader for all mounts.
    #[default]
    Host,
    /// One leader for each mount.
    Mount,
}

impl ElectionArguments {
    /// What to elect, in that namespace, for the deployment of that name, by the host of that name; none: it is alone.
    ///
    /// # Errors
    ///
    /// When times do not go together.
    pub(crate) fn options(&self, namespace: &str, deployment: &str, host: &str) -> anyhow::Result<Option<(Scope, Options)>> {
        if !self.ha {
            return Ok(None);
        }
        let options = Options {
            namespace: namespace.to_owned(),
            name: self.ha_lease_name.clone().unwrap_or_else(|| deployment.to_owned()),
            identity: identity(self.ha_node_id.as_deref().unwrap_or(host)),
            timing: self.timing()?,
            clock: Clock::default(),
            denials: Arc::default(),
        };
        Ok(Some((self.ha_scope, options)))
    }

    fn timing(&self) -> anyhow::Result<Timing> {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let (lease, renew, retry) = (self.ha_lease_duration, self.ha_renew_deadline, self.ha_retry_period);
        Timing::new(seconds(lease), seconds(renew), seconds(retry)).map_err(|error| {
            let arguments = match error {
                election::Error::LeaseDuration(_) => "--ha-lease-duration (or HA_LEASE_DURATION_SECONDS) is refused",
                election::Error::RenewDeadline { .. } => {
                    "--ha-lease-duration (or HA_LEASE_DURATION_SECONDS) and --ha-renew-deadline (or HA_RENEW_DEADLINE_SECONDS) \
                     do not go together"
                }
                election::Error::RetryPeriod { .. } => {
                    "--ha-renew-deadline (or HA_RENEW_DEADLINE_SECONDS) and --ha-retry-period (or HA_RETRY_PERIOD_SECONDS) \
                     do not go together"
                }
                election::Error::NoPause(_) => "--ha-retry-period (or HA_RETRY_PERIOD_SECONDS) is refused",
            };
            anyhow!(WrongArguments(format!("{arguments}: {error}")))
        })
    }
}

/// A Lease can say no other.
const SECONDS: std::ops::RangeInclusive<u32> = 1..=i32::MAX as u32;

/// As Go's `strconv.ParseBool`, which reads echoperator's variables.
fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

fn node(text: &str) -> Result<String, String> {
    let is_plain = !text.is_empty() && text.len() <= 253 && text.chars().all(|letter| letter.is_ascii_graphic());
    if is_plain { Ok(text.to_owned()) } else { Err("expected a name of 1 to 253 letters without spaces".to_owned()) }
}

fn lease_name(text: &str) -> Result<String, String> {
    // The names of mounts and replicas come after it.
    if names::is_dns_subdomain(text) && text.len() <= 120 {
        Ok(text.to_owned())
    } else {
        Err("expected lower-case letters, digits, hyphens and dots, at most 120".to_owned())
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

    fn options(arguments: &[&str]) -> Result<Option<(Scope, Options)>, String> {
        parse(arguments)?.options("gyre-system", "echo", "pod-1").map_err(|error| error.to_string())
    }

    #[test]
    fn without_election_the_times_do_not_matter() {
        assert!(options(&["--ha-lease-duration", "1"]).unwrap().is_none());
        assert!(options(&["--ha=false"]).unwrap().is_none());
    }

    #[test]
    fn what_is_not_said_is_as_echoperator_has_it() {
        let (scope, options) = options(&["--ha"]).unwrap().unwrap();
        assert_eq!((scope, options.name.as_str(), options.namespace.as_str()), (Scope::Host, "echo", "gyre-system"));
        assert!(options.identity.starts_with("pod-1_"), "{options:?}");
        assert_eq!(options.timing, Timing::default());
    }

    #[test]
    fn two_hosts_that_are_called_the_same_have_different_identities() {
        let identity = || options(&["--ha=true", "--ha-node-id", "same"]).unwrap().unwrap().1.identity;
        assert!(identity().starts_with("same_"));
        assert_ne!(identity(), identity());
    }

    #[test]
    fn what_is_refused_is_named_with_its_variable() {
        let refused = |arguments: &[&str]| options(arguments).unwrap_err();
        let error = refused(&["--ha", "--ha-lease-duration=10"]);
        assert!(
            error.contains("HA_LEASE_DURATION_SECONDS") && error.contains("longer than the renew deadline (10s)"),
            "{error}"
        );
        let error = refused(&["--ha", "--ha-retry-period=9"]);
        assert!(error.contains("HA_RETRY_PERIOD_SECONDS") && error.contains("1.2 times"), "{error}");
        assert!(refused(&["--ha=maybe"]).contains("expected true or false"));
        assert!(refused(&["--ha-lease-duration=1.5"]).contains("--ha-lease-duration"));
        assert!(refused(&["--ha-lease-name=A"]).contains("--ha-lease-name"));
        assert!(refused(&["--ha-node-id="]).contains("--ha-node-id"));
    }
}
