/** What the host shows of an exception that is a defect of the plugin. */

/** The sources of the lines of the bundle. */
export interface LineTable {
  readonly files: readonly string[];
  /**
   * Runs of lines in order: the first line in the bundle, their number, the file, its first line.
   */
  readonly runs: readonly (readonly [first: number, count: number, file: number, line: number])[];
}

/**
 * A call of a stack: `at name (script.js:12:5)` or `at script.js:12:5`, or `name@script.js:12:5`.
 */
const CALL = /^\s*(?:at )?(?:(.*?)(?: \(|@))?[^()@]*?:(\d+)(?::\d+)?\)?$/;

interface Place {
  readonly name: string | undefined;
  readonly place: string;
}

/** Returns the calls of a stack that are in sources of the plugin. */
export function places(stack: string, table: LineTable | undefined): Place[] {
  const found: Place[] = [];
  for (const line of stack.split("\n")) {
    const [, name, number] = CALL.exec(line) ?? [];
    const place = table === undefined ? undefined : sourceOf(Number(number), table);
    if (place !== undefined) {
      found.push({ name: name || undefined, place });
    }
  }
  return found;
}

function sourceOf(line: number, { files, runs }: LineTable): string | undefined {
  const run = runs.find(([first, count]) => first <= line && line < first + count);
  return run === undefined ? undefined : `${files[run[2]]}:${run[3] + line - run[0]}`;
}

/**
 * Returns what the host shows of an exception: its place and message, the calls that led to it, and
 * what caused it. If no call is in a source of the plugin, the place is that of another stack.
 */
export function lastWords(error: unknown, table: LineTable | undefined, otherwise = ""): string {
  const [at] = [...placesOf(error, table), ...places(otherwise, table)];
  const lines = [`thread 'javascript' panicked at ${at?.place ?? "an unknown place"}:`, ...told(error, table)];
  const seen = new Set([error]);
  for (let cause = causeOf(error); cause !== undefined && !seen.has(cause); cause = causeOf(cause)) {
    const [message, ...calls] = told(cause, table);
    lines.push(`caused by ${message}`, ...calls);
    seen.add(cause);
  }
  return `${lines.join("\n")}\n`;
}

/** Returns the message of an exception and the calls that led to it. */
function told(error: unknown, table: LineTable | undefined): string[] {
  const calls = placesOf(error, table).map(({ name, place }) => `    at ${name === undefined ? place : `${name} (${place})`}`);
  return [String(error).replaceAll("\n", " "), ...calls];
}

function placesOf(error: unknown, table: LineTable | undefined): Place[] {
  return error instanceof Error ? places(error.stack ?? "", table) : [];
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}
