//! Lists: pages and resource versions.

use serde_json::{Value, json};

use crate::suite::objects::{config_map, labelled};
use crate::suite::probe::{Answer, MERGE_PATCH, Probe};
use crate::suite::registry::checks;

checks! { Api:
    an_empty_list_has_no_items_and_a_resource_version,
    a_list_is_sorted_by_name,
    items_of_a_list_have_no_kind,
    a_list_of_all_namespaces_is_sorted_by_the_path,
    a_list_of_a_namespace_that_is_not_there_is_empty,
    a_limited_list_says_how_to_go_on_and_how_much_remains,
    the_last_page_has_no_continue_token,
    a_limit_that_everything_fits_into_leaves_nothing_to_continue,
    pages_show_the_data_of_the_first_page,
    a_page_may_have_another_limit,
    a_continued_list_without_limit_returns_the_rest,
    remaining_items_are_not_counted_with_a_selector,
    an_invalid_continue_token_is_refused,
    a_continue_token_and_a_resource_version_exclude_each_other,
    a_continue_token_whose_key_was_deleted_still_works,
    resource_version_zero_lists_what_is_cached,
    a_list_at_an_exact_resource_version_shows_the_past,
    a_list_not_older_than_a_resource_version_shows_the_present,
    resource_version_match_needs_a_resource_version,
    an_exact_match_needs_a_nonzero_resource_version,
    an_unknown_resource_version_match_is_refused,
    an_invalid_resource_version_is_refused,
    a_resource_version_of_the_future_is_too_large,
    a_get_with_a_resource_version_is_not_older_than_it,
    a_limit_that_is_no_number_is_refused_and_one_below_one_is_none,
    a_list_of_custom_resources_has_their_list_kind,
    a_list_of_one_name_is_found_by_field_selector,
}

const LIST: &str = "v1/configmaps";

async fn make(server: &Probe, names: &[&str]) {
    for name in names {
        server.post(LIST).body(config_map(name, json!({"k": "v"}))).unrecorded().expect(201).await;
    }
}

fn token(answer: &Answer) -> String {
    format!("continue={}", answer.str("/metadata/continue"))
}

async fn an_empty_list_has_no_items_and_a_resource_version(server: &Probe) {
    let answer = server.get(LIST).expect(200).await;
    assert_eq!((&answer["items"], answer["kind"].as_str()), (&json!([]), Some("ConfigMapList")));
    assert!(answer.version().parse::<u64>().is_ok());
}

async fn a_list_is_sorted_by_name(server: &Probe) {
    make(server, &["b", "a.b", "c", "a", "a-b"]).await;
    assert_eq!(server.get(LIST).expect(200).await.names(), ["a", "a-b", "a.b", "b", "c"]);
}

async fn items_of_a_list_have_no_kind(server: &Probe) {
    make(server, &["a"]).await;
    let answer = server.get(LIST).expect(200).await;
    assert_eq!((answer.at("/items/0/kind"), answer.at("/items/0/apiVersion")), (&Value::Null, &Value::Null));
}

async fn a_list_of_all_namespaces_is_sorted_by_the_path(server: &Probe) {
    let second = format!("{}-0", server.namespace());
    server.post("/api/v1/namespaces").body(json!({"metadata": {"name": second}})).unrecorded().expect(201).await;
    for (namespace, name) in [(second.as_str(), "a"), (server.namespace(), "b"), (server.namespace(), "a")] {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        server.post(&path).body(labelled(name, json!({"check": "sorted-by-namespace"}))).unrecorded().expect(201).await;
    }
    let answer = server.get("/api/v1/configmaps?labelSelector=check=sorted-by-namespace").expect(200).await;
    // A dash sorts before a slash.
    assert_eq!(answer.names(), ["a", "a", "b"]);
}

async fn a_list_of_a_namespace_that_is_not_there_is_empty(server: &Probe) {
    let answer = server.get("/api/v1/namespaces/nowhere-at-all/configmaps").expect(200).await;
    assert_eq!(answer["items"], json!([]));
}

async fn a_limited_list_says_how_to_go_on_and_how_much_remains(server: &Probe) {
    make(server, &["a", "b", "c"]).await;
    let answer = server.get(LIST).query("limit=2").expect(200).await;
    assert_eq!((answer.names(), answer.at("/metadata/remainingItemCount")), (vec!["a", "b"], &json!(1)));
    assert!(!answer.str("/metadata/continue").is_empty());
}

async fn the_last_page_has_no_continue_token(server: &Probe) {
    make(server, &["a", "b", "c"]).await;
    let first = server.get(LIST).query("limit=2").expect(200).await;
    let second = server.get(LIST).query("limit=2").query(&token(&first)).expect(200).await;
    assert_eq!((second.names(), second.at("/metadata/continue")), (vec!["c"], &Value::Null));
    assert_eq!(first.version(), second.version());
}

async fn a_limit_that_everything_fits_into_leaves_nothing_to_continue(server: &Probe) {
    make(server, &["a", "b"]).await;
    let answer = server.get(LIST).query("limit=2").expect(200).await;
    assert_eq!(answer.at("/metadata/continue"), &Value::Null);
}

async fn pages_show_the_data_of_the_first_page(server: &Probe) {
    make(server, &["a", "b", "c", "d"]).await;
    let first = server.get(LIST).query("limit=1").expect(200).await;
    server.patch("v1/configmaps/b", MERGE_PATCH, json!({"data": {"k": "new"}})).expect(200).await;
    server.delete("v1/configmaps/c").expect(200).await;
    make(server, &["bb"]).await;
    let second = server.get(LIST).query("limit=2").query(&token(&first)).expect(200).await;
    assert_eq!((second.names(), second.at("/items/0/data/k")), (vec!["b", "c"], &json!("v")));
    let third = server.get(LIST).query("limit=2").query(&token(&second)).expect(200).await;
    assert_eq!(third.names(), ["d"]);
}

async fn a_page_may_have_another_limit(server: &Probe) {
    make(server, &["a", "b", "c", "d"]).await;
    let first = server.get(LIST).query("limit=1").expect(200).await;
    let second = server.get(LIST).query("limit=2").query(&token(&first)).expect(200).await;
    assert_eq!((second.names(), second.at("/metadata/remainingItemCount")), (vec!["b", "c"], &json!(1)));
}

async fn a_continued_list_without_limit_returns_the_rest(server: &Probe) {
    make(server, &["a", "b", "c"]).await;
    let first = server.get(LIST).query("limit=1").expect(200).await;
    let second = server.get(LIST).query(&token(&first)).expect(200).await;
    assert_eq!(second.names(), ["b", "c"]);
}

async fn remaining_items_are_not_counted_with_a_selector(server: &Probe) {
    for name in ["a", "b", "c", "d"] {
        let value = if name == "b" { "no" } else { "yes" };
        server.post(LIST).body(labelled(name, json!({"x": value}))).unrecorded().expect(201).await;
    }
    let first = server.get(LIST).query("limit=2&labelSelector=x=yes").expect(200).await;
    assert_eq!((first.names(), first.at("/metadata/remainingItemCount")), (vec!["a", "c"], &Value::Null));
    let second = server.get(LIST).query("limit=2&labelSelector=x=yes").query(&token(&first)).expect(200).await;
    assert_eq!(second.names(), ["d"]);
}

async fn an_invalid_continue_token_is_refused(server: &Probe) {
    make(server, &["a", "b"]).await;
    for token in ["rubbish", "e30", "%7B%7D"] {
        let answer = server.get(LIST).query("limit=1").query(&format!("continue={token}")).expect(400).await;
        assert!(answer.message().contains("continue key is not valid"), "{}", answer.message());
    }
}

async fn a_continue_token_and_a_resource_version_exclude_each_other(server: &Probe) {
    make(server, &["a", "b"]).await;
    let first = server.get(LIST).query("limit=1").expect(200).await;
    let answer = server.get(LIST).query("limit=1&resourceVersion=5").query(&token(&first)).expect(400).await;
    assert_eq!(answer.message(), "specifying resource version is not allowed when using continue");
    server.get(LIST).query("limit=1&resourceVersion=5&resourceVersionMatch=Exact").query(&token(&first)).expect(422).await;
}

async fn a_continue_token_whose_key_was_deleted_still_works(server: &Probe) {
    make(server, &["a", "b", "c"]).await;
    let first = server.get(LIST).query("limit=1").expect(200).await;
    server.delete("v1/configmaps/a").expect(200).await;
    let second = server.get(LIST).query("limit=1").query(&token(&first)).expect(200).await;
    assert_eq!(second.names(), ["b"]);
}

async fn resource_version_zero_lists_what_is_cached(server: &Probe) {
    make(server, &["a", "b"]).await;
    server.until("v1/configmaps?resourceVersion=0", |answer| answer.names().len() == 2).await;
    let answer = server.get(LIST).query("resourceVersion=0").expect(200).await;
    assert_eq!(answer.names(), ["a", "b"]);
    // The cache ignores the limit.
    let answer = server.get(LIST).query("resourceVersion=0&limit=1").expect(200).await;
    assert_eq!(answer.names(), ["a", "b"]);
}

async fn a_list_at_an_exact_resource_version_shows_the_past(server: &Probe) {
    make(server, &["a"]).await;
    let then = server.get(LIST).expect(200).await;
    make(server, &["b"]).await;
    server.patch("v1/configmaps/a", MERGE_PATCH, json!({"data": {"k": "new"}})).expect(200).await;
    let query = format!("resourceVersion={}&resourceVersionMatch=Exact", then.version());
    let answer = server.get(LIST).query(&query).expect(200).await;
    assert_eq!((answer.names(), answer.at("/items/0/data/k")), (vec!["a"], &json!("v")));
    assert_eq!(answer.version(), then.version());
}

async fn a_list_not_older_than_a_resource_version_shows_the_present(server: &Probe) {
    make(server, &["a"]).await;
    let then = server.get(LIST).expect(200).await;
    let last = server.create(LIST, config_map("b", json!({}))).await;
    let newest = format!("resourceVersion={}&resourceVersionMatch=NotOlderThan", last.version());
    assert_eq!(server.get(LIST).query(&newest).expect(200).await.names(), ["a", "b"]);
    let older = format!("resourceVersion={}", then.version());
    assert_eq!(server.get(LIST).query(&older).expect(200).await.names(), ["a", "b"]);
}

async fn resource_version_match_needs_a_resource_version(server: &Probe) {
    for value in ["Exact", "NotOlderThan"] {
        let answer = server.get(LIST).query(&format!("resourceVersionMatch={value}")).expect(422).await;
        assert!(answer.message().contains("resourceVersionMatch: Forbidden"), "{}", answer.message());
    }
}

async fn an_exact_match_needs_a_nonzero_resource_version(server: &Probe) {
    let answer = server.get(LIST).query("resourceVersion=0&resourceVersionMatch=Exact").expect(422).await;
    assert!(answer.message().contains("resourceVersionMatch: Forbidden"), "{}", answer.message());
}

async fn an_unknown_resource_version_match_is_refused(server: &Probe) {
    let answer = server.get(LIST).query("resourceVersion=1&resourceVersionMatch=Perhaps").expect(422).await;
    assert!(answer.message().contains("supported values"), "{}", answer.message());
}

async fn an_invalid_resource_version_is_refused(server: &Probe) {
    for value in ["x", "-1", "1.5"] {
        let answer = server.get(LIST).query(&format!("resourceVersion={value}")).expect(400).await;
        assert!(answer.message().contains("invalid resource version"), "{}", answer.message());
    }
}

async fn a_resource_version_of_the_future_is_too_large(server: &Probe) {
    make(server, &["a"]).await;
    let request = server.get(LIST).query("resourceVersion=999999999&resourceVersionMatch=NotOlderThan");
    let answer = request.expect(504).await;
    assert!(answer.message().contains("Too large resource version"), "{}", answer.message());
    assert_eq!(answer.str("/details/causes/0/reason"), "ResourceVersionTooLarge");
}

async fn a_get_with_a_resource_version_is_not_older_than_it(server: &Probe) {
    let made = server.create(LIST, config_map("a", json!({"k": "v"}))).await;
    let answer = server.get("v1/configmaps/a").query(&format!("resourceVersion={}", made.version())).expect(200).await;
    assert_eq!(answer.body, made.body);
    server.get("v1/configmaps/b").query("resourceVersion=0").expect(404).await;
}

async fn a_limit_that_is_no_number_is_refused_and_one_below_one_is_none(server: &Probe) {
    make(server, &["a", "b"]).await;
    let answer = server.get(LIST).query("limit=many").expect(400).await;
    assert!(answer.message().contains("parsing \"many\": invalid syntax"), "{}", answer.message());
    server.get(LIST).query("limit=-1").expect(200).await;
    assert_eq!(server.get(LIST).query("limit=0").expect(200).await.names(), ["a", "b"]);
}

async fn a_list_of_custom_resources_has_their_list_kind(server: &Probe) {
    server.install(crate::suite::objects::widget_crd(crate::suite::objects::any())).await;
    server.create("{group}/v1/widgets", crate::suite::objects::widget("b", json!({}))).await;
    server.create("{group}/v1/widgets", crate::suite::objects::widget("a", json!({"x": 1}))).await;
    let answer = server.get("{group}/v1/widgets").expect(200).await;
    assert_eq!((answer["kind"].as_str(), answer.names()), (Some("WidgetList"), vec!["a", "b"]));
    // Unlike in lists of built-in kinds, items have a kind.
    assert_eq!(answer.at("/items/0/kind"), "Widget");
    let answer = server.get("{group}/v1/widgets?limit=1").expect(200).await;
    assert_eq!(answer.at("/metadata/remainingItemCount"), &json!(1));
}

async fn a_list_of_one_name_is_found_by_field_selector(server: &Probe) {
    make(server, &["a", "b"]).await;
    let answer = server.get(LIST).query("fieldSelector=metadata.name=b").expect(200).await;
    assert_eq!(answer.names(), ["b"]);
    let answer = server.get(LIST).query("fieldSelector=metadata.name=c").expect(200).await;
    assert_eq!(answer["items"], json!([]));
}
