/** The host's log. A line appears with the mount, the object and the id of the reconcile. */

/** A level of the log. */
export type Level = "trace" | "debug" | "info" | "warn" | "error";

/** Keys and values beside a message. */
export type LogFields = Readonly<Record<string, string | number | boolean>>;

/** A line of the log. */
export interface LogLine {
  readonly level: Level;
  readonly message: string;
  readonly fields: readonly (readonly [string, string])[];
}

let write: (line: LogLine) => void = () => {};

/**
 * Sets where lines go. Outside of the host and of tests they go nowhere. Returns the previous
 * place.
 */
export function setLog(writer: (line: LogLine) => void): (line: LogLine) => void {
  const previous = write;
  write = writer;
  return previous;
}

function at(level: Level): (message: string, fields?: LogFields) => void {
  return (message, fields = {}) => {
    const pairs = Object.entries(fields).map(([key, value]) => [key, String(value)] as const);
    write({ level, message, fields: pairs });
  };
}

/** Writes log lines: `log.info("the backup is due", { schedule })`. */
export const log = {
  trace: at("trace"),
  debug: at("debug"),
  info: at("info"),
  warn: at("warn"),
  error: at("error"),
};
