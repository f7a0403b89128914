/**
 * What JavaScript engines of components lack: a console, text encoders, and a clock and random
 * numbers that are inputs of the call. It is imported before everything else.
 *
 * A component is a snapshot of the engine after the modules are loaded. So a time or random number
 * that a module takes while it is loaded would be that of the build, and is refused.
 */

import * as clock from "wasi:clocks/wall-clock@0.2.0";
import { type Level, setLog } from "../log.ts";
import { decode, encode } from "./bytes.ts";
import { writeLog } from "./imports.ts";

let isLoading = true;

/** Allows the clock to be read from now on. */
export function finishLoading(): void {
  isLoading = false;
}

function now(): number {
  if (isLoading) {
    throw new Error("there is no clock while a module is loaded: the time would be that of the build; read it in reconcile");
  }
  const { seconds, nanoseconds } = clock.now();
  return Number(seconds) * 1000 + Math.floor(nanoseconds / 1_000_000);
}

const EngineDate = Date;

function ClockDate(this: unknown, ...given: []): Date | string {
  if (new.target === undefined) {
    return new EngineDate(now()).toString();
  }
  return Reflect.construct(EngineDate, given.length === 0 ? [now()] : given, new.target);
}
Object.defineProperties(ClockDate, Object.getOwnPropertyDescriptors(EngineDate));
Object.assign(ClockDate, { now });
Object.defineProperty(EngineDate.prototype, "constructor", { value: ClockDate, writable: true, configurable: true });
Object.defineProperty(ClockDate, "name", { value: "Date" });

/** The state of `Math.random`: mulberry32, which is short. Nothing secret may come from it. */
let state = 0;

/** Begins the random numbers of a call. As in other languages, they depend on the parent only. */
export function seedRandom(text: string): void {
  state = 0x811c9dc5;
  for (const character of text) {
    state = Math.imul(state ^ character.codePointAt(0)!, 0x01000193);
  }
}

function random(): number {
  if (isLoading) {
    throw new Error("there are no random numbers while a module is loaded: they would be those of the build");
  }
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
}

function print(level: Level): (...values: unknown[]) => void {
  return (...values) => writeLog({ level, message: values.map(shown).join(" "), fields: [] });
}

function shown(value: unknown): string {
  if (value instanceof Error) {
    return value.stack === undefined ? String(value) : `${value}\n${value.stack}`;
  }
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

class Utf8Encoder {
  readonly encoding = "utf-8";

  encode(text = ""): Uint8Array {
    return encode(text);
  }
}

class Utf8Decoder {
  readonly encoding = "utf-8";

  decode(bytes: ArrayBufferView | ArrayBuffer = new Uint8Array()): string {
    return decode(
      ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes),
    );
  }
}

Math.random = random;
Object.assign(globalThis, {
  Date: ClockDate,
  TextEncoder: Utf8Encoder,
  TextDecoder: Utf8Decoder,
  console: {
    log: print("info"),
    info: print("info"),
    debug: print("debug"),
    trace: print("trace"),
    warn: print("warn"),
    error: print("error"),
  },
  performance: { now: () => 0, timeOrigin: 0 },
});
setLog(writeLog);
