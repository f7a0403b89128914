/**
 * Tests of plugins.
 *
 * - {@link given} calls a plugin with made-up objects, without a host: for `node:test` or any other runner.
 * - {@link World} is a simulated cluster with the real host, for behaviour over time. It needs the program `gyre`.
 */

export { Answer } from "./answer.ts";
export { Given, given, givenGroup } from "./given.ts";
export { WorldError } from "./program.ts";
export { type Action, assertCases, type Component, type LoggedLine, type Reference, Run, type Setup, type Tested, World } from "./world.ts";
