// The table from lines of the bundle to lines of the sources, for last words.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Returns the numbers of a segment of a source map. */
function decodeSegment(segment) {
  const numbers = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if ((bits & 32) === 0) {
      numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
      value = 0;
      shift = 0;
    }
  }
  return numbers;
}

/**
 * Returns the table of a source map. `nameOf` names a source, or returns `undefined` to leave it
 * out.
 */
export function lineTable(map, nameOf) {
  const names = map.sources.map(nameOf);
  const files = [];
  const runs = [];
  let source = 0;
  let line = 0;
  map.mappings.split(";").forEach((segments, index) => {
    let first;
    for (const segment of segments.split(",").filter((segment) => segment !== "")) {
      const [, sources = 0, lines = 0] = decodeSegment(segment);
      source += sources;
      line += lines;
      first ??= { name: names[source], line: line + 1 };
    }
    if (first?.name !== undefined) {
      add(runs, index + 1, indexOf(files, first.name), first.line);
    }
  });
  return { files, runs };
}

function indexOf(files, name) {
  const index = files.indexOf(name);
  return index >= 0 ? index : files.push(name) - 1;
}

function add(runs, line, file, sourceLine) {
  const last = runs.at(-1);
  if (last !== undefined && last[0] + last[1] === line && last[2] === file && last[3] + last[1] === sourceLine) {
    last[1] += 1;
  } else {
    runs.push([line, 1, file, sourceLine]);
  }
}

/** A call of a stack of QuickJS, as in `at reconcile (componentize-qjs:user.js:12:5)`. */
const CALL = /^\s*at .*?:(\d+)(?::\d+)?\)?$/;

/** Returns the first call of a stack that is in a source of the plugin, as `file:line`. */
export function placeIn(stack, { files, runs }) {
  for (const line of stack.split("\n")) {
    const number = Number(CALL.exec(line)?.[1]);
    const run = runs.find(([first, count]) => first <= number && number < first + count);
    if (run !== undefined) {
      return `${files[run[2]]}:${run[3] + number - run[0]}`;
    }
  }
  return undefined;
}
