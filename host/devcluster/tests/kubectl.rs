//! The real kubectl against devcluster.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod transcript;

transcripts!("kubectl":
    apply_creates_configures_and_prunes_fields,
    create_says_what_is_wrong,
    custom_resources_are_served_as_soon_as_they_are_defined,
    delete_cascades_as_it_is_told,
    describe_tells_about_an_object,
    diff_shows_what_apply_would_change,
    discovery_names_every_kind,
    events_are_listed_by_what_they_are_about,
    explain_reads_the_schemas,
    get_prints_what_is_asked_for,
    get_selects_by_labels_and_fields,
    get_watch_shows_changes_as_they_come,
    namespaces_go_with_their_content,
    patches_of_every_type,
    replace_puts_another_in_its_place,
    scale_and_set_change_specs,
    server_side_apply_names_the_other_owner_of_a_field,
    typed_commands_create_their_objects,
    wait_ends_when_its_condition_holds,
    without_nodes_nothing_runs,
);
