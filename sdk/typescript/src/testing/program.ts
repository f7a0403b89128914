/**
 * The program `gyre worlds`: one process for all tests of this process.
 *
 * ```text
 *   test ── request ──▶ worker thread ──▶ gyre worlds
 *   test ◀── (waits) ── worker thread ◀── answer
 * ```
 *
 * A plugin's reads are function calls, so a test waits for each answer. A thread does the input and
 * output meanwhile.
 */

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type MessagePort, receiveMessageOnPort, MessageChannel, Worker } from "node:worker_threads";

/** The only version of the protocol that this kit speaks. */
const PROTOCOL = 1;
/** The environment variable that names the program. */
const VARIABLE = "GYRE";
/** A program that has not begun to answer after this time, in milliseconds, is another one. */
const PATIENCE = 60_000;

/** A request that the program refuses, or a program that cannot be used. */
export class WorldError extends Error {
  override readonly name = "WorldError";
}

/** A line of the program. */
export interface Line {
  readonly world?: number;
  readonly ok?: Record<string, unknown>;
  readonly error?: string;
  readonly call?: Record<string, unknown>;
  readonly stop?: object;
}

interface Greeting {
  readonly gyre?: string;
  readonly protocol?: number;
}

/** What the worker thread is given. */
interface WorkerData {
  readonly path: string;
  readonly port: MessagePort;
  readonly signal: Int32Array;
}

/** What the worker thread sends. */
type Received = { readonly line: string } | { readonly ended: string };

/** Runs in the worker thread: passes lines on. It uses nothing from outside of its body. */
function passOn(): void {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const { createInterface } = process.getBuiltinModule("node:readline");
  const { path, port, signal } = process.getBuiltinModule("node:worker_threads").workerData as WorkerData;
  const send = (received: Received) => {
    port.postMessage(received);
    Atomics.add(signal, 0, 1);
    Atomics.notify(signal, 0);
  };
  const program = spawn(path, ["worlds"], { stdio: ["pipe", "pipe", "inherit"] });
  program.on("error", (error) => send({ ended: `cannot start ${path}: ${error.message}` }));
  program.on("exit", (code, by) => send({ ended: `the program gyre ended while tests used it (${by ?? `code ${code}`})` }));
  // The end of the program says what became of it.
  program.stdin.on("error", () => {});
  createInterface({ input: program.stdout }).on("line", (line) => send({ line }));
  port.on("message", (line: string) => program.stdin.write(`${line}\n`));
}

/** The process, which ends with this one, because its input is then closed. */
class Program {
  readonly #port: MessagePort;
  readonly #signal: Int32Array;
  readonly #waiting = new Map<number, Line[]>();
  #ended: string | undefined;
  #next = 0;

  constructor(path: string) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#signal = new Int32Array(new SharedArrayBuffer(4));
    const workerData: WorkerData = { path, port: port2, signal: this.#signal };
    const worker = new Worker(`(${passOn})()`, { eval: true, workerData, transferList: [port2] });
    worker.unref();
    this.#port.unref();
    this.#greet(path);
  }

  #greet(path: string): void {
    const line = this.#receive(PATIENCE);
    if (line === undefined) {
      throw new WorldError(`${path} has not greeted within ${PATIENCE / 1000} s: it is not the program gyre`);
    }
    const { gyre, protocol } = parse(line, path) as Greeting;
    if (protocol !== PROTOCOL) {
      throw new WorldError(
        `${path} is gyre ${gyre ?? "of an unknown version"}, which speaks protocol ${protocol ?? "none"}, and this test kit ` +
          `speaks ${PROTOCOL}: use gyre and @gyre/sdk of the same version`,
      );
    }
  }

  /** Returns a number for a world. */
  number(): number {
    this.#next += 1;
    return this.#next;
  }

  send(world: number, request: object): void {
    this.#port.postMessage(JSON.stringify({ world, do: request }));
  }

  /** Returns the next line for a world. */
  receive(world: number): Line {
    for (;;) {
      const line = this.#waiting.get(world)?.shift();
      if (line !== undefined) {
        return line;
      }
      const text = this.#receive(Infinity);
      const received = parse(text ?? "", "gyre") as Line;
      if (received.world === undefined) {
        throw new WorldError(`gyre does not understand this test kit: ${received.error}`);
      }
      const waiting = this.#waiting.get(received.world) ?? [];
      waiting.push(received);
      this.#waiting.set(received.world, waiting);
    }
  }

  /** Returns the next line, or `undefined` if there is none within this time. */
  #receive(patience: number): string | undefined {
    for (;;) {
      if (this.#ended !== undefined) {
        throw new WorldError(this.#ended);
      }
      const seen = Atomics.load(this.#signal, 0);
      const received = receiveMessageOnPort(this.#port)?.message as Received | undefined;
      if (received === undefined) {
        if (Atomics.wait(this.#signal, 0, seen, patience) === "timed-out") {
          return undefined;
        }
      } else if ("line" in received) {
        return received.line;
      } else {
        this.#ended = received.ended;
      }
    }
  }
}

function parse(line: string, path: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new WorldError(`${path} wrote ${JSON.stringify(line.slice(0, 100))}, which is no JSON: it is not the program gyre`);
  }
}

let program: Program | undefined;

/** Returns the process. The first call starts it. */
function started(): Program {
  program ??= new Program(find());
  return program;
}

/** Finds the program: `GYRE`, else `gyre` on `PATH`. */
function find(): string {
  const { [VARIABLE]: named, PATH: path = "" } = process.env;
  if (named) {
    if (!isProgram(named)) {
      throw new WorldError(`${VARIABLE} names ${named}, which does not exist: build it, or name the program gyre`);
    }
    return named;
  }
  const file = process.platform === "win32" ? "gyre.exe" : "gyre";
  const found = path.split(delimiter).map((folder) => join(folder, file)).find(isProgram);
  if (found === undefined) {
    throw new WorldError(
      "the program gyre, which runs the host of these tests, is not on PATH: install it with `cargo install --path host` in the " +
        `repository of gyre, or name it in the environment variable ${VARIABLE}`,
    );
  }
  return found;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Ends a call of a plugin of this process that the program has given up. */
export class Stopped extends Error {}

/** Serves a call of a plugin of this process: returns what the plugin returns. */
export type Serve = (call: Record<string, unknown>) => object;

/** The requests of one world. */
export class Lane {
  readonly #program = started();
  readonly #number = this.#program.number();

  /** Sends a request, and returns its answer. Meanwhile, the program may call plugins. */
  ask(request: object, serve?: Serve): Record<string, unknown> {
    this.#program.send(this.#number, request);
    for (;;) {
      const { ok, error, call } = this.#program.receive(this.#number);
      if (ok !== undefined) {
        return ok;
      }
      if (error !== undefined) {
        throw new WorldError(error);
      }
      if (call !== undefined && serve !== undefined) {
        this.#serve(call, serve);
      }
    }
  }

  #serve(call: Record<string, unknown>, serve: Serve): void {
    try {
      this.#program.send(this.#number, { return: serve(call) });
    } catch (error) {
      if (!(error instanceof Stopped)) {
        throw error;
      }
    }
  }

  /** Sends a request of a plugin during a call. */
  askWithinCall(request: object): Record<string, unknown> {
    this.#program.send(this.#number, request);
    const { ok, stop, error } = this.#program.receive(this.#number);
    if (stop !== undefined) {
      throw new Stopped("the program has given up the call");
    }
    if (ok === undefined) {
      throw new WorldError(`gyre answers a read of the plugin by ${error}`);
    }
    return ok;
  }
}
