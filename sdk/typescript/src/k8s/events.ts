// Types of `events`, generated from the OpenAPI documents of Kubernetes.
// Do not edit them: `npm run generate` writes them.

import { type Kind, kind } from "../object.ts";
import type {
  EventSource,
  ObjectReference,
} from "./core.ts";
import type {
  ObjectMeta,
} from "./meta.ts";

/** Event is a report of an event somewhere in the cluster. */
export interface Event {
  /** action is what action was taken/failed regarding to the regarding object. */
  action?: string;
  /** APIVersion defines the versioned schema of this representation of an object. */
  apiVersion?: string;
  /**
   * deprecatedCount is the deprecated field assuring backward compatibility with core.v1 Event
   * type.
   */
  deprecatedCount?: number;
  /**
   * deprecatedFirstTimestamp is the deprecated field assuring backward compatibility with core.v1
   * Event type.
   */
  deprecatedFirstTimestamp?: string;
  /**
   * deprecatedLastTimestamp is the deprecated field assuring backward compatibility with core.v1
   * Event type.
   */
  deprecatedLastTimestamp?: string;
  /**
   * deprecatedSource is the deprecated field assuring backward compatibility with core.v1 Event
   * type.
   */
  deprecatedSource?: EventSource;
  /** eventTime is the time when this Event was first observed. */
  eventTime?: string;
  /** Kind is a string value representing the REST resource this object represents. */
  kind?: string;
  /** Standard object's metadata. */
  metadata?: ObjectMeta;
  /** note is a human-readable description of the status of this operation. */
  note?: string;
  /** reason is why the action was taken. */
  reason?: string;
  /** regarding contains the object this Event is about. */
  regarding?: ObjectReference;
  /** related is the optional secondary object for more complex actions. */
  related?: ObjectReference;
  /** reportingController is the name of the controller that emitted this Event, e.g. */
  reportingController?: string;
  /** reportingInstance is the ID of the controller instance, e.g. */
  reportingInstance?: string;
  /**
   * series is data about the Event series this event represents or nil if it's a singleton Event.
   */
  series?: EventSeries;
  /** type is the type of this event (Normal, Warning), new types could be added in the future. */
  type?: string;
}

/** The kind Event of events.k8s.io/v1. */
export const Event: Kind<Event> = /* @__PURE__ */ kind<Event>("events.k8s.io/v1", "Event");

/** EventSeries contain information on series of events, i.e. */
export interface EventSeries {
  /** count is the number of occurrences in this series up to the last heartbeat time. */
  count?: number;
  /**
   * lastObservedTime is the time when last Event from the series was seen before last heartbeat.
   */
  lastObservedTime?: string;
}
