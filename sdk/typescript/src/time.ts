/** Times and durations. A time is a `Date`, and a duration a number of milliseconds. */

const SECOND = 1000;

/** Returns a duration of this many seconds. */
export function seconds(count: number): number {
  return count * SECOND;
}

/** Returns a duration of this many minutes. */
export function minutes(count: number): number {
  return seconds(count * 60);
}

/** Returns a duration of this many hours. */
export function hours(count: number): number {
  return minutes(count * 60);
}

/** Returns a duration of this many days of 24 hours. */
export function days(count: number): number {
  return hours(count * 24);
}

/**
 * Returns a time in the form of `metadata.creationTimestamp`: in UTC, without a fraction of a
 * second.
 */
export function formatTime(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/** Returns the time of a text in RFC 3339, or `undefined` if it is none. */
export function parseTime(text: string | undefined): Date | undefined {
  if (text === undefined || !RFC_3339.test(text)) {
    return undefined;
  }
  const time = new Date(text.toUpperCase());
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** Returns the time from the creation of an object to `now`; zero if it was created later. */
export function age(object: { metadata?: { creationTimestamp?: string } }, now: Date): number {
  const created = parseTime(object.metadata?.creationTimestamp);
  return created === undefined ? 0 : Math.max(0, now.getTime() - created.getTime());
}
