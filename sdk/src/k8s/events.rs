//! Types of `events`, generated from the OpenAPI documents of Kubernetes.
//! Do not edit them: GYRE_BLESS=1 cargo test -p gyre-types writes them.

use super::*;

crate::kind! {
    /// Event is a report of an event somewhere in the cluster.
    Event, EventView, "events.k8s.io/v1" {
        /// action is what action was taken/failed regarding to the regarding object.
        text() action, with_action: "action";
        /// deprecatedCount is the deprecated field assuring backward compatibility with core.v1
        /// Event type.
        int() deprecated_count, with_deprecated_count: "deprecatedCount";
        /// deprecatedFirstTimestamp is the deprecated field assuring backward compatibility with
        /// core.v1 Event type.
        time() deprecated_first_timestamp, with_deprecated_first_timestamp: "deprecatedFirstTimestamp";
        /// deprecatedLastTimestamp is the deprecated field assuring backward compatibility with
        /// core.v1 Event type.
        time() deprecated_last_timestamp, with_deprecated_last_timestamp: "deprecatedLastTimestamp";
        /// deprecatedSource is the deprecated field assuring backward compatibility with core.v1
        /// Event type.
        object(EventSource, EventSourceView) deprecated_source, with_deprecated_source: "deprecatedSource";
        /// eventTime is the time when this Event was first observed.
        time() event_time, with_event_time: "eventTime";
        /// Standard object's metadata.
        object(ObjectMeta, ObjectMetaView) metadata, with_metadata: "metadata";
        /// note is a human-readable description of the status of this operation.
        text() note, with_note: "note";
        /// reason is why the action was taken.
        text() reason, with_reason: "reason";
        /// regarding contains the object this Event is about.
        object(ObjectReference, ObjectReferenceView) regarding, with_regarding: "regarding";
        /// related is the optional secondary object for more complex actions.
        object(ObjectReference, ObjectReferenceView) related, with_related: "related";
        /// reportingController is the name of the controller that emitted this Event, e.g.
        text() reporting_controller, with_reporting_controller: "reportingController";
        /// reportingInstance is the ID of the controller instance, e.g.
        text() reporting_instance, with_reporting_instance: "reportingInstance";
        /// series is data about the Event series this event represents or nil if it's a singleton
        /// Event.
        object(EventSeries, EventSeriesView) series, with_series: "series";
        /// type is the type of this event (Normal, Warning), new types could be added in the
        /// future.
        text() type_, with_type: "type";
    }
}

crate::object! {
    /// EventSeries contain information on series of events, i.e.
    EventSeries, EventSeriesView {
        /// count is the number of occurrences in this series up to the last heartbeat time.
        int() count, with_count: "count";
        /// lastObservedTime is the time when last Event from the series was seen before last
        /// heartbeat.
        time() last_observed_time, with_last_observed_time: "lastObservedTime";
    }
}
