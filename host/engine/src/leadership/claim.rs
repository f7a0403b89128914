//! The claim: whether this host may write, according to leader election.
//!
//! Elections set its end through a [`ClaimSender`]; writers check it before each write.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock::Moment;

/// The claim, for writers.
#[derive(Clone, Debug)]
pub struct Claim(Option<watch::Receiver<ClaimState>>);

/// The sender of a claim. The claim is lost when it is dropped.
#[derive(Debug)]
pub struct ClaimSender(watch::Sender<ClaimState>);

#[derive(Clone, Copy, Debug, Default)]
struct ClaimState {
    until: Option<Instant>,
    /// The beginning of the current period without a gap.
    since: Option<Moment>,
    /// The number of losses, so that a writer notices a loss although the claim is held again.
    losses: u64,
}

impl ClaimState {
    fn is_held(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }
}

/// The error of a write without a claim.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not sent: this host does not hold the lease, so it may not write")]
pub struct NotHeld;

impl ClaimSender {
    /// A claim that is not held yet.
    pub fn new() -> (Self, Claim) {
        let (sender, receiver) = watch::channel(ClaimState::default());
        (Self(sender), Claim(Some(receiver)))
    }

    /// Returns a claim for another writer.
    pub fn claim(&self) -> Claim {
        Claim(Some(self.0.subscribe()))
    }

    /// Returns whether any writer has a claim.
    pub fn is_asked(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Sets the time until which the claim is held.
    pub fn hold_until(&self, until: Instant) {
        self.0.send_modify(|state| {
            if !state.is_held() {
                state.since = Some(Moment::now());
            }
            state.until = Some(until);
        });
    }

    /// Ends the claim.
    pub fn lose(&self) {
        self.0.send_modify(|state| *state = ClaimState { losses: state.losses.wrapping_add(1), ..ClaimState::default() });
    }
}

impl Claim {
    /// The claim of a host without an election.
    pub fn always() -> Self {
        Self(None)
    }

    /// A claim that is never held.
    pub fn never() -> Self {
        ClaimSender::new().1
    }

    /// Checks that the claim is held now.
    ///
    /// # Errors
    ///
    /// If it is not held.
    pub fn check(&self) -> Result<(), NotHeld> {
        let Some(state) = &self.0 else { return Ok(()) };
        let is_held = state.has_changed().is_ok() && state.borrow().is_held();
        if is_held { Ok(()) } else { Err(NotHeld) }
    }

    /// Returns whether it is held without a gap since before `moment`, so that nobody else wrote.
    pub(crate) fn held_since(&self, moment: Moment) -> bool {
        let Some(state) = &self.0 else { return true };
        self.check().is_ok() && state.borrow().since.is_some_and(|since| since < moment)
    }

    /// The time left without a renewal; zero if it is not held, `None` without an election.
    pub fn held_for(&self) -> Option<Duration> {
        let state = self.0.as_ref()?;
        let is_alive = state.has_changed().is_ok();
        let until = state.borrow().until.filter(|_| is_alive);
        Some(until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now())))
    }

    /// Waits until the claim is held. Never returns if the sender was dropped.
    pub async fn held(&self) {
        let Some(state) = &self.0 else { return };
        if state.clone().wait_for(ClaimState::is_held).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the claim is lost after the first poll.
    pub async fn lost(&self) {
        let Some(state) = &self.0 else { return std::future::pending().await };
        let mut state = state.clone();
        let losses = state.borrow().losses;
        loop {
            let now = *state.borrow_and_update();
            let good_for = now.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
            if good_for.is_zero() || now.losses != losses {
                return;
            }
            tokio::select! {
                biased;
                changed = state.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(good_for) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_claim_is_held_until_its_time_and_no_longer() {
        let (sender, claim) = ClaimSender::new();
        assert!(claim.check().is_err(), "nobody has said so");
        sender.hold_until(Instant::now() + Duration::from_secs(10));
        claim.held().await;
        assert!(claim.check().is_ok());
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(claim.held_for(), Some(Duration::from_secs(6)));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(claim.check().is_err(), "its time is over");
        assert_eq!(claim.held_for(), Some(Duration::ZERO));
        claim.lost().await;
        sender.hold_until(Instant::now() + Duration::from_secs(10));
        assert!(claim.check().is_ok());
        sender.lose();
        assert!(claim.check().is_err());
        sender.hold_until(Instant::now() + Duration::from_secs(10));
        drop(sender);
        assert!(claim.check().is_err(), "whoever elects is gone");
        assert_eq!(claim.held_for(), Some(Duration::ZERO));
        claim.lost().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_that_is_lost_and_held_again_was_lost() {
        let (sender, claim) = ClaimSender::new();
        let hold = || sender.hold_until(Instant::now() + Duration::from_secs(10));
        hold();
        let mut lost = std::pin::pin!(claim.lost());
        assert!(futures::poll!(&mut lost).is_pending());
        hold();
        assert!(futures::poll!(&mut lost).is_pending(), "it goes on");
        sender.lose();
        hold();
        assert!(futures::poll!(&mut lost).is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_is_held_since_it_was_last_obtained() {
        let (sender, claim) = ClaimSender::new();
        let before = Moment::now();
        assert!(!claim.held_since(before));
        sender.hold_until(Instant::now() + Duration::from_secs(10));
        let first = Moment::now();
        sender.hold_until(Instant::now() + Duration::from_secs(10));
        assert!(!claim.held_since(before) && claim.held_since(first), "it was renewed");
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(!claim.held_since(first), "its time is over");
        sender.hold_until(Instant::now() + Duration::from_secs(10));
        assert!(!claim.held_since(first), "another may have had it");
        let second = Moment::now();
        assert!(claim.held_since(second));
        sender.lose();
        assert!(!claim.held_since(second));
        assert!(Claim::always().held_since(before) && !Claim::never().held_since(before));
    }

    #[tokio::test]
    async fn without_an_election_a_host_may_always_write() {
        Claim::always().held().await;
        assert!(Claim::always().check().is_ok());
        assert_eq!(Claim::always().held_for(), None);
    }
}
