//! Puts the generated values of a Secret into the body of its write.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gyre_core::generated::{GENERATED_ANNOTATION, Issuers, Live, Record};
use gyre_core::outcome::{Problem, ProblemKind};
use gyre_core::plan::{Desired, Generation, Refusal, given, not_made};
use gyre_values::{Ingredients, Inspector, Randomness, make};
use kube::Client;
use serde_json::{Map, Value, json};

use crate::call::Caller;
use crate::call::threads::Priority;
use crate::cluster::object::Object;
use crate::values::digests::Digests;

/// The milliseconds of making values after which a reconcile makes no more of them. The rest is
/// made by the next one, so a parent with hundreds of keys does not hold its worker for minutes.
const MOST_COST: u64 = 5_000;

/// The inputs of values.
pub(crate) struct SecretValues<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) randomness: &'a Randomness,
    pub(crate) digests: &'a Digests,
    /// The client of the host, not of the mount's account.
    pub(crate) client: &'a Client,
    pub(crate) issuers: &'a Issuers,
    /// The cost of what was made so far.
    pub(crate) cost: u64,
}

/// The body of a write.
pub(super) enum Body<'a> {
    Ready(Cow<'a, Map<String, Value>>),
    Refused(Refusal),
    /// It is made by a later reconcile.
    Later(String),
}

impl SecretValues<'_> {
    /// Returns the body with all values: those of the plugin, those of the live Secret that are
    /// kept, and new ones.
    ///
    /// # Guarantees
    ///
    /// A value of `live` is replaced only if `gyre_core::generated::decide` says so. The caller
    /// must not apply the body to another version of the Secret.
    pub(super) async fn body<'b>(&mut self, desired: &'b Desired, live: Option<&Object>) -> Result<Body<'b>, Problem> {
        if desired.generated.is_empty() {
            return Ok(Body::Ready(Cow::Borrowed(&desired.object)));
        }
        let digests = self.digests.key(self.client).await?;
        let live = live.and_then(|object| serde_json::from_str::<Value>(object.json()).ok()).as_ref().map(Live::of);
        let live = live.unwrap_or_default();
        let now = self.caller.clock.now().as_second();
        let (requests, issuers, randomness) = (desired.generated.clone(), self.issuers.clone(), self.randomness.clone());
        let (desired_here, key, cost_before) = (desired.clone(), desired.child.key.clone(), self.cost);
        let work = move || {
            let generation = Generation { issuers: &issuers, digests: Some(&digests), inspect: &Inspector, now };
            let decision = generation.decide(&desired_here, &live);
            let cost = decision.cost(&requests);
            if cost_before > 0 && cost_before + cost > MOST_COST {
                return Ok(None);
            }
            let given = given(&desired_here);
            let ingredients = Ingredients {
                requests: &requests,
                given: &given,
                issuers: &issuers,
                randomness: &randomness,
                place: [key.namespace.as_deref().unwrap_or_default(), &key.name],
                now,
            };
            let values = make(&ingredients, &decision, &live)?;
            let record = Record::of(&requests, &values, &issuers, live.record(), &digests);
            Ok::<_, gyre_values::Error>(Some((values, record, cost)))
        };
        // RSA keys and slow hashes take longer than the async threads may be blocked.
        let made = self.caller.run(Priority::Usual, work).await;
        let (values, record, cost) = match made {
            Ok(Ok(Some(made))) => made,
            Ok(Ok(None)) => {
                return Ok(Body::Later(format!("{} waits until the values of others are made", desired.child)));
            }
            Ok(Err(error)) => return Ok(Body::Refused(not_made(desired, &error.key, &error.why))),
            Err(error) => {
                let message = format!("the values of {} were not made: {error}", desired.child);
                return Err(Problem::new(ProblemKind::Other, message));
            }
        };
        self.cost += cost;
        let mut object = desired.object.clone();
        let data: Map<String, Value> =
            values.into_iter().map(|(key, value)| (key, Value::String(STANDARD.encode(value)))).collect();
        object.insert("data".to_owned(), Value::Object(data));
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            if let Value::Object(annotations) = annotations {
                annotations.insert(GENERATED_ANNOTATION.to_owned(), Value::String(record.to_annotation()));
            }
        }
        Ok(Body::Ready(Cow::Owned(object)))
    }
}
