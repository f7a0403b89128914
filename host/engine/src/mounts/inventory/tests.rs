use kube::client::Body;
use tokio::sync::watch;

use super::*;

fn entry(namespaces: Option<&[&str]>, except: &[&str]) -> Entry {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Entry {
        plugin: "plugin".to_owned(),
        parent: GroupVersionKind::new("example.com", "v1", "Parent"),
        namespaces: namespaces.map(names),
        except: names(except),
        children: BTreeSet::new(),
        impersonate: None,
        digest: None,
        artifact: None,
    }
}

/// How the server answers writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    Unanswered,
    Refused,
    Accepted,
}

/// An API server without an inventory.
#[derive(Clone)]
struct Server(watch::Receiver<Writes>);

impl Server {
    fn status(code: u16, reason: &str) -> Value {
        json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason })
    }

    async fn answer(mut self, request: http::Request<Body>) -> Result<http::Response<Body>, kube::Error> {
        let answer = |code: u16, body: &Value| {
            Ok(http::Response::builder().status(code).body(Body::from(body.to_string().into_bytes())).unwrap())
        };
        if request.method() == http::Method::GET {
            return answer(404, &Self::status(404, "NotFound"));
        }
        let writes = *self.0.wait_for(|writes| *writes != Writes::Unanswered).await.unwrap();
        match writes {
            Writes::Refused => answer(422, &Self::status(422, "it is immutable")),
            Writes::Accepted | Writes::Unanswered => {
                answer(201, &json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": { "name": "inventory" } }))
            }
        }
    }
}

/// An inventory whose changes are being written, and control of the server's answers.
fn written_inventory() -> (std::sync::Arc<Inventory>, watch::Sender<Writes>) {
    let (writes, receiver) = watch::channel(Writes::Unanswered);
    let place = Place { namespace: "home".to_owned(), name: "it-inventory".to_owned() };
    let server = Server(receiver);
    let client = Client::new(tower::util::service_fn(move |request| server.clone().answer(request)), "default");
    let inventory = std::sync::Arc::new(Inventory::new(client, Some(place)));
    tokio::spawn({
        let inventory = std::sync::Arc::clone(&inventory);
        async move { inventory.write_changes(&Claim::always()).await }
    });
    (inventory, writes)
}

#[tokio::test(start_paused = true)]
async fn a_mount_waits_only_for_an_attempt_to_write_its_own_entry() {
    let (inventory, writes) = written_inventory();
    let claim = Claim::always();
    let a_while = Duration::from_secs(30);
    inventory.record_entry("new", entry(None, &[]));
    assert_eq!(inventory.tried("other", &claim).await, Going::On);
    assert!(tokio::time::timeout(a_while, inventory.tried("new", &claim)).await.is_err(), "the write has no answer yet");
    assert!(inventory.knows("new").is_err() && inventory.knows("other").is_ok());
    assert_eq!(inventory.check(), Ok(()), "nothing has failed yet");
    writes.send_replace(Writes::Refused);
    assert_eq!(inventory.tried("new", &claim).await, Going::On);
    let why = inventory.check().unwrap_err();
    assert!(
        why.contains("home/it-inventory") && why.contains("it is immutable") && why.ends_with("(not written: new)"),
        "{why}"
    );
    assert!(inventory.knows("new").is_err());

    // A new entry is attempted at once, despite the back-off that has grown.
    tokio::time::sleep(TRY_AGAIN_AT_MOST_AFTER * 5).await;
    let recorded_at = tokio::time::Instant::now();
    inventory.record_entry("newer", entry(None, &[]));
    assert_eq!(inventory.tried("newer", &claim).await, Going::On);
    assert_eq!(recorded_at.elapsed(), Duration::ZERO);

    writes.send_replace(Writes::Accepted);
    // Twice the delay, because at one delay this and the next attempt would wake together.
    tokio::time::sleep(TRY_AGAIN_AT_MOST_AFTER * 2).await;
    assert_eq!((inventory.check(), inventory.knows("new"), inventory.knows("newer")), (Ok(()), Ok(()), Ok(())));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_inventory_ends_when_the_host_stops_or_loses_its_claim() {
    let (inventory, _writes) = written_inventory();
    inventory.record_entry("new", entry(None, &[]));
    assert_eq!(inventory.tried("new", &Claim::never()).await, Going::On);
    let claim = Claim::always();
    let (going, ()) = tokio::join!(inventory.tried("new", &claim), async { inventory.stop() });
    assert_eq!(going, Going::Stopping);
}

#[test]
fn without_is_the_difference_of_entries_and_with_the_union() {
    let sets: &[&[&str]] = &[&[], &["a"], &["b"], &["a", "b"], &["b", "c"], &["a", "b", "c"]];
    let some = sets.iter().map(|names| entry(Some(names), &[]));
    let all = sets.iter().map(|except| entry(None, except));
    let entries: Vec<Entry> = some.chain(all).collect();
    // A name in no entry represents all others.
    let namespaces = ["a", "b", "c", "elsewhere"];
    for one in &entries {
        for other in &entries {
            let (left, both) = (one.clone().without(other), one.clone().with(other.clone()));
            for name in namespaces {
                let is_left = left.as_ref().is_some_and(|left| left.covers(name));
                assert_eq!(is_left, one.covers(name) && !other.covers(name), "{name}: {one:?} without {other:?}: {left:?}");
                assert_eq!(
                    both.covers(name),
                    one.covers(name) || other.covers(name),
                    "{name}: {one:?} with {other:?}: {both:?}"
                );
            }
            assert_eq!(left.is_some(), namespaces.iter().any(|name| left.as_ref().is_some_and(|left| left.covers(name))));
        }
        let another = Entry { plugin: "another".to_owned(), ..entry(None, &[]) };
        assert_eq!(one.clone().without(&another).as_ref(), Some(one), "another plugin's");
    }
}
