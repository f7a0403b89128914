//! Whether this host may write: the claim of leader election, as those see it who write.
//!
//! Whoever elects holds a [`Holder`] and says until when the claim is good. Everybody else has a [`Claim`] and asks at the last moment.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The claim, as those see it who write.
#[derive(Clone, Debug)]
pub struct Claim(Option<watch::Receiver<Option<Instant>>>);

/// Says until when the claim is good. When it is dropped, the claim is lost.
#[derive(Debug)]
pub struct Holder(watch::Sender<Option<Instant>>);

/// No write is sent without a claim.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not sent: this host does not hold the claim to write")]
pub struct NotHeld;

impl Holder {
    /// A claim that is not held yet.
    pub fn new() -> (Self, Claim) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), Claim(Some(receiver)))
    }

    /// The claim, for one more who writes.
    pub fn claim(&self) -> Claim {
        Claim(Some(self.0.subscribe()))
    }

    /// Whether there is anybody who asks for the claim.
    pub fn is_asked(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// The claim is good until then.
    pub fn hold_until(&self, until: Instant) {
        self.0.send_replace(Some(until));
    }

    /// The claim is lost.
    pub fn lose(&self) {
        self.0.send_replace(None);
    }
}

impl Claim {
    /// Of a host that is alone: always held.
    pub fn always() -> Self {
        Self(None)
    }

    /// Whether it is held at this moment.
    ///
    /// # Errors
    ///
    /// That it is not.
    pub fn check(&self) -> Result<(), NotHeld> {
        let Some(until) = &self.0 else { return Ok(()) };
        let is_held = until.has_changed().is_ok() && until.borrow().is_some_and(|until| Instant::now() < until);
        if is_held { Ok(()) } else { Err(NotHeld) }
    }

    /// For how much longer it is held, if nothing comes of it: zero if it is not; none: for ever, as that of a host that is alone.
    pub fn held_for(&self) -> Option<Duration> {
        let until = self.0.as_ref()?;
        let is_alive = until.has_changed().is_ok();
        let until = until.borrow().filter(|_| is_alive);
        Some(until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now())))
    }

    /// Waits until it is held. Never ends if whoever elects is gone.
    pub async fn held(&self) {
        let Some(until) = &self.0 else { return };
        let mut until = until.clone();
        let is_good = |until: &Option<Instant>| until.is_some_and(|until| Instant::now() < until);
        if until.wait_for(is_good).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until it is lost.
    pub async fn lost(&self) {
        let Some(until) = &self.0 else { return std::future::pending().await };
        let mut until = until.clone();
        loop {
            let good_for =
                until.borrow_and_update().map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
            if good_for.is_zero() {
                return;
            }
            tokio::select! {
                biased;
                changed = until.changed() => if changed.is_err() { return },
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
        let (holder, claim) = Holder::new();
        assert!(claim.check().is_err(), "nobody has said so");
        holder.hold_until(Instant::now() + Duration::from_secs(10));
        claim.held().await;
        assert!(claim.check().is_ok());
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(claim.held_for(), Some(Duration::from_secs(6)));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(claim.check().is_err(), "its time is over");
        assert_eq!(claim.held_for(), Some(Duration::ZERO));
        claim.lost().await;
        holder.hold_until(Instant::now() + Duration::from_secs(10));
        assert!(claim.check().is_ok());
        holder.lose();
        assert!(claim.check().is_err());
        holder.hold_until(Instant::now() + Duration::from_secs(10));
        drop(holder);
        assert!(claim.check().is_err(), "whoever elects is gone");
        assert_eq!(claim.held_for(), Some(Duration::ZERO));
        claim.lost().await;
    }

    #[tokio::test]
    async fn a_host_that_is_alone_may_always_write() {
        Claim::always().held().await;
        assert!(Claim::always().check().is_ok());
        assert_eq!(Claim::always().held_for(), None);
    }
}
