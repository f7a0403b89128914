//! Watches: their events, their start, and their end.

use serde_json::json;

use crate::suite::objects::{A, any, config_map, labelled, widget, widget_crd};
use crate::suite::probe::{MERGE_PATCH, Probe, summary};
use crate::suite::registry::checks;

checks! { Api:
    a_watch_from_a_resource_version_sees_later_changes,
    a_watch_without_resource_version_begins_with_the_existing_objects,
    a_watch_from_zero_begins_with_the_existing_objects,
    a_watch_sees_creates_updates_and_deletes,
    a_deleted_event_has_the_last_state_and_a_newer_resource_version,
    an_update_that_changes_nothing_gives_no_event,
    a_dry_run_gives_no_event,
    an_object_with_finalizers_is_modified_then_deleted,
    a_watch_of_one_name_sees_only_that_object,
    the_old_watch_path_of_one_object_still_works,
    an_update_out_of_the_selector_is_a_delete,
    an_update_into_the_selector_is_an_add,
    a_watch_of_all_namespaces_sees_each,
    a_watch_ends_after_its_timeout,
    a_watch_from_before_the_first_version_of_its_kind_is_gone,
    a_watch_from_the_future_waits,
    a_watch_from_an_invalid_resource_version_fails,
    a_watch_with_an_invalid_selector_is_refused,
    initial_events_end_with_an_annotated_bookmark,
    initial_events_of_an_empty_list_are_the_bookmark_alone,
    initial_events_respect_selectors,
    initial_events_need_a_resource_version_match,
    initial_events_do_not_go_with_an_exact_match,
    initial_events_need_bookmarks_for_their_end,
    a_resource_version_match_on_a_watch_needs_initial_events,
    initial_events_can_be_switched_off,
    a_list_may_not_ask_for_initial_events,
    a_watch_of_custom_resources_sees_them,
    events_of_one_object_come_in_order,
    two_watches_see_the_same_events,
}

const LIST: &str = "v1/configmaps";

async fn now(server: &Probe) -> String {
    server.get(LIST).unrecorded().expect(200).await.version().to_owned()
}

async fn set(server: &Probe, name: &str, value: &str) {
    server.patch(&format!("{LIST}/{name}"), MERGE_PATCH, json!({"data": {"k": value}})).unrecorded().expect(200).await;
}

async fn make(server: &Probe, name: &str) {
    server.post(LIST).body(config_map(name, json!({"k": "v"}))).unrecorded().expect(201).await;
}

async fn remove(server: &Probe, name: &str) {
    server.delete(&format!("{LIST}/{name}")).unrecorded().expect(200).await;
}

async fn a_watch_from_a_resource_version_sees_later_changes(server: &Probe) {
    make(server, "a").await;
    let since = now(server).await;
    make(server, "b").await;
    let mut watch = server.watch(&format!("{LIST}?resourceVersion={since}")).await;
    make(server, "c").await;
    assert_eq!(summary(&watch.take(2).await), ["ADDED b", "ADDED c"]);
}

async fn a_watch_without_resource_version_begins_with_the_existing_objects(server: &Probe) {
    make(server, "b").await;
    make(server, "a").await;
    let mut watch = server.watch(LIST).await;
    let mut seen = summary(&watch.take(2).await);
    seen.sort();
    assert_eq!(seen, ["ADDED a", "ADDED b"]);
    make(server, "c").await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED c"]);
}

async fn a_watch_from_zero_begins_with_the_existing_objects(server: &Probe) {
    make(server, "a").await;
    server.until("v1/configmaps/a?resourceVersion=0", |answer| answer.status == 200).await;
    let mut watch = server.watch("v1/configmaps?resourceVersion=0").await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED a"]);
    set(server, "a", "w").await;
    assert_eq!(summary(&watch.take(1).await), ["MODIFIED a"]);
}

async fn a_watch_sees_creates_updates_and_deletes(server: &Probe) {
    let mut watch = server.watch(&format!("{LIST}?resourceVersion={}", now(server).await)).await;
    make(server, "a").await;
    set(server, "a", "w").await;
    remove(server, "a").await;
    assert_eq!(summary(&watch.take(3).await), ["ADDED a", "MODIFIED a", "DELETED a"]);
}

async fn a_deleted_event_has_the_last_state_and_a_newer_resource_version(server: &Probe) {
    make(server, "a").await;
    let mut watch = server.watch(&format!("{LIST}?resourceVersion={}", now(server).await)).await;
    let deleted = server.delete(A).expect(200).await;
    let event = watch.one().await;
    assert_eq!(event["object"]["data"], json!({"k": "v"}));
    assert_eq!(event["object"]["metadata"]["uid"], deleted["details"]["uid"]);
    let versions = [server.create(LIST, config_map("b", json!({}))).await.version().to_owned()];
    let deleted_at: u64 = event["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    assert!(deleted_at < versions[0].parse().unwrap());
}

async fn an_update_that_changes_nothing_gives_no_event(server: &Probe) {
    make(server, "a").await;
    let mut watch = server.watch(&format!("{LIST}?resourceVersion={}", now(server).await)).await;
    set(server, "a", "v").await;
    make(server, "b").await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED b"]);
}

async fn a_dry_run_gives_no_event(server: &Probe) {
    make(server, "a").await;
    let mut watch = server.watch(&format!("{LIST}?resourceVersion={}", now(server).await)).await;
    server.delete(A).query("dryRun=All").expect(200).await;
    server.patch(A, MERGE_PATCH, json!({"data": {"k": "w"}})).query("dryRun=All").expect(200).await;
    server.post(LIST).query("dryRun=All").body(config_map("b", json!({}))).expect(201).await;
    make(server, "c").await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED c"]);
}

async fn an_object_with_finalizers_is_modified_then_deleted(server: &Probe) {
    let mut body = config_map("a", json!({}));
    body["metadata"]["finalizers"] = json!(["x.test/hold"]);
    server.create(LIST, body).await;
    let mut watch = server.watch(&format!("{LIST}?resourceVersion={}", now(server).await)).await;
    server.delete(A).expect(200).await;
    server.patch(A, MERGE_PATCH, json!({"metadata": {"finalizers": null}})).expect(200).await;
    assert_eq!(summary(&watch.take(2).await), ["MODIFIED a", "DELETED a"]);
}

async fn a_watch_of_one_name_sees_only_that_object(server: &Probe) {
    let since = now(server).await;
    let mut watch = server.watch(&format!("{LIST}?resourceVersion={since}&fieldSelector=metadata.name=b")).await;
    for name in ["a", "b", "c"] {
        make(server, name).await;
    }
    remove(server, "b").await;
    assert_eq!(summary(&watch.take(2).await), ["ADDED b", "DELETED b"]);
}

async fn the_old_watch_path_of_one_object_still_works(server: &Probe) {
    make(server, "a").await;
    make(server, "b").await;
    let mut watch = server.get("/api/v1/watch/namespaces/{ns}/configmaps/a").watch().await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED a"]);
    set(server, "b", "w").await;
    set(server, "a", "w").await;
    assert_eq!(summary(&watch.take(1).await), ["MODIFIED a"]);
}

async fn label(server: &Probe, name: &str, value: &str) {
    server.patch(&format!("{LIST}/{name}"), MERGE_PATCH, json!({"metadata": {"labels": {"x": value}}})).expect(200).await;
}

async fn an_update_out_of_the_selector_is_a_delete(server: &Probe) {
    server.create(LIST, labelled("a", json!({"x": "in"}))).await;
    let since = now(server).await;
    let mut watch = server.watch(&format!("{LIST}?resourceVersion={since}&labelSelector=x=in")).await;
    label(server, "a", "out").await;
    set(server, "a", "unseen").await;
    label(server, "a", "in").await;
    let events = watch.take(2).await;
    assert_eq!(summary(&events), ["DELETED a", "ADDED a"]);
    // The event contains the state before the change, at the version of the change.
    assert_eq!(events[0]["object"]["metadata"]["labels"]["x"], "in");
}

async fn an_update_into_the_selector_is_an_add(server: &Probe) {
    server.create(LIST, labelled("a", json!({"x": "out"}))).await;
    let since = now(server).await;
    let mut watch = server.watch(&format!("{LIST}?resourceVersion={since}&labelSelector=x=in")).await;
    label(server, "a", "in").await;
    set(server, "a", "seen").await;
    label(server, "a", "out").await;
    remove(server, "a").await;
    server.create(LIST, labelled("b", json!({"x": "in"}))).await;
    assert_eq!(summary(&watch.take(4).await), ["ADDED a", "MODIFIED a", "DELETED a", "ADDED b"]);
}

async fn a_watch_of_all_namespaces_sees_each(server: &Probe) {
    let second = format!("{}-2", server.namespace());
    server.post("/api/v1/namespaces").body(json!({"metadata": {"name": second}})).unrecorded().expect(201).await;
    let since = now(server).await;
    let mut watch =
        server.watch(&format!("/api/v1/configmaps?resourceVersion={since}&labelSelector=check=each-namespace")).await;
    for namespace in [server.namespace(), &second] {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        server.post(&path).body(labelled("a", json!({"check": "each-namespace"}))).expect(201).await;
    }
    let events = watch.take(2).await;
    assert_eq!(events[1]["object"]["metadata"]["namespace"], second);
}

async fn a_watch_ends_after_its_timeout(server: &Probe) {
    make(server, "a").await;
    let mut watch = server.watch(&format!("{LIST}?timeoutSeconds=1")).await;
    assert_eq!(summary(&watch.rest().await), ["ADDED a"]);
}

async fn a_watch_from_before_the_first_version_of_its_kind_is_gone(server: &Probe) {
    server.install(widget_crd(any())).await;
    let mut watch = server.watch("{group}/v1/widgets?resourceVersion=1").await;
    let event = watch.one().await;
    assert_eq!((event["type"].as_str(), &event["object"]["code"]), (Some("ERROR"), &json!(410)));
    assert_eq!(watch.rest().await.len(), 0);
}

async fn a_watch_from_the_future_waits(server: &Probe) {
    let path = format!("{LIST}?resourceVersion=999999999999&timeoutSeconds=1");
    let mut watch = server.watch(&path).await;
    assert_eq!(watch.rest().await.len(), 0);
}

async fn a_watch_from_an_invalid_resource_version_fails(server: &Probe) {
    let answer = server.get(LIST).query("watch=true&resourceVersion=x").expect(500).await;
    assert!(answer.message().contains("resourceVersion: Invalid value: \"x\""), "{}", answer.message());
}

async fn a_watch_with_an_invalid_selector_is_refused(server: &Probe) {
    server.get(LIST).query("watch=true&labelSelector=x in").expect(400).await;
    server.get(LIST).query("watch=true&fieldSelector=data.x=1").expect(400).await;
}

const INITIAL: &str = "resourceVersionMatch=NotOlderThan&sendInitialEvents=true&allowWatchBookmarks=true";

async fn initial_events_end_with_an_annotated_bookmark(server: &Probe) {
    make(server, "a").await;
    make(server, "b").await;
    let mut watch = server.watch(&format!("{LIST}?{INITIAL}")).await;
    let events = watch.take(3).await;
    assert_eq!(summary(&events[..2]), ["ADDED a", "ADDED b"]);
    assert_eq!(events[2]["type"], "BOOKMARK");
    assert_eq!(events[2]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    make(server, "c").await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED c"]);
}

async fn initial_events_of_an_empty_list_are_the_bookmark_alone(server: &Probe) {
    let mut watch = server.watch(&format!("{LIST}?{INITIAL}&resourceVersion=0")).await;
    assert_eq!(watch.one().await["type"], "BOOKMARK");
}

async fn initial_events_respect_selectors(server: &Probe) {
    server.create(LIST, labelled("a", json!({"x": "1"}))).await;
    server.create(LIST, labelled("b", json!({"x": "2"}))).await;
    let mut watch = server.watch(&format!("{LIST}?{INITIAL}&labelSelector=x=2")).await;
    let events = watch.take(2).await;
    assert_eq!((summary(&events[..1]), events[1]["type"].as_str()), (vec!["ADDED b".to_owned()], Some("BOOKMARK")));
}

async fn initial_events_need_a_resource_version_match(server: &Probe) {
    let answer = server.get(LIST).query("watch=true&sendInitialEvents=true&allowWatchBookmarks=true").expect(422).await;
    assert!(
        answer.message().contains("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        "{}",
        answer.message()
    );
}

async fn initial_events_do_not_go_with_an_exact_match(server: &Probe) {
    let query = "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersion=1&resourceVersionMatch=Exact";
    server.get(LIST).query(query).expect(422).await;
}

async fn initial_events_need_bookmarks_for_their_end(server: &Probe) {
    make(server, "a").await;
    let mut watch = server.watch(&format!("{LIST}?resourceVersionMatch=NotOlderThan&sendInitialEvents=true")).await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED a"]);
    make(server, "b").await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED b"]);
}

async fn a_resource_version_match_on_a_watch_needs_initial_events(server: &Probe) {
    let query = "watch=true&resourceVersion=1&resourceVersionMatch=NotOlderThan";
    let answer = server.get(LIST).query(query).expect(422).await;
    assert!(
        answer.message().contains("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"),
        "{}",
        answer.message()
    );
}

async fn initial_events_can_be_switched_off(server: &Probe) {
    make(server, "a").await;
    let query = "resourceVersionMatch=NotOlderThan&sendInitialEvents=false";
    let mut watch = server.watch(&format!("{LIST}?{query}")).await;
    make(server, "b").await;
    assert_eq!(summary(&watch.take(1).await), ["ADDED b"]);
}

async fn a_list_may_not_ask_for_initial_events(server: &Probe) {
    let answer = server.get(LIST).query("sendInitialEvents=true").expect(422).await;
    assert!(answer.message().contains("sendInitialEvents is forbidden for list"), "{}", answer.message());
}

async fn a_watch_of_custom_resources_sees_them(server: &Probe) {
    server.install(widget_crd(any())).await;
    let mut watch = server.watch(&format!("{{group}}/v1/widgets?{INITIAL}")).await;
    assert_eq!(watch.one().await["object"]["kind"], "Widget");
    server.create("{group}/v1/widgets", widget("a", json!({"x": 1}))).await;
    server.patch("{group}/v1/widgets/a", MERGE_PATCH, json!({"spec": {"x": 2}})).expect(200).await;
    server.delete("{group}/v1/widgets/a").expect(200).await;
    assert_eq!(summary(&watch.take(3).await), ["ADDED a", "MODIFIED a", "DELETED a"]);
}

async fn events_of_one_object_come_in_order(server: &Probe) {
    make(server, "a").await;
    let mut watch = server.watch(&format!("{LIST}?resourceVersion={}", now(server).await)).await;
    for value in ["1", "2", "3", "4", "5"] {
        set(server, "a", value).await;
    }
    let values: Vec<String> = watch.take(5).await.iter().map(|event| event["object"]["data"]["k"].to_string()).collect();
    assert_eq!(values, ["\"1\"", "\"2\"", "\"3\"", "\"4\"", "\"5\""]);
}

async fn two_watches_see_the_same_events(server: &Probe) {
    let path = format!("{LIST}?resourceVersion={}", now(server).await);
    let mut first = server.watch(&path).await;
    let mut second = server.watch(&path).await;
    make(server, "a").await;
    remove(server, "a").await;
    assert_eq!(first.take(2).await, second.take(2).await);
}
