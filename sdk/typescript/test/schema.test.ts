import assert from "node:assert/strict";
import { test } from "node:test";
import { customResource, type Infer, type InferInput, plugin, noChildren, schema } from "@gyre/sdk";
import { problems, withDefaults } from "../src/schema.ts";
import { pluralOf } from "../src/resource.ts";

const spec = schema.object({
  text: schema.string({ description: "Any text.", minLength: 1, maxLength: 3, pattern: "^a" }),
  tier: schema.enum(["free", "paid"]).default("free"),
  count: schema.integer({ format: "int32", minimum: 0, maximum: 9 }).default(2),
  sizes: schema.array(schema.integer(), { maxItems: 2 }).optional(),
  labels: schema.map(schema.string()).optional(),
  since: schema.time().optional(),
  limit: schema.intOrString().optional(),
  raw: schema.any().optional(),
  named: schema.object({ it: schema.boolean().default(true) }, { rules: [{ rule: "self.it", message: "set it" }] }).optional(),
});

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Output = {
  text: string;
  tier: "free" | "paid";
  count: number;
  sizes?: number[];
  labels?: Record<string, string>;
  since?: string;
  limit?: number | string;
  raw?: unknown;
  named?: { it: boolean };
};

test("a type follows from a schema", () => {
  const isOutput: Equal<Infer<typeof spec>, Output> = true;
  const input: InferInput<typeof spec> = { text: "a" };
  // @ts-expect-error: `text` is required
  const missing: InferInput<typeof spec> = {};
  // @ts-expect-error: `tier` is one of two texts
  const other: InferInput<typeof spec> = { text: "a", tier: "cheap" };
  assert.deepEqual([isOutput, input, missing, other.tier], [true, { text: "a" }, {}, "cheap"]);
});

test("a JSON Schema follows from a schema", () => {
  assert.deepEqual(spec.json, {
    type: "object",
    required: ["text"],
    properties: {
      text: { type: "string", description: "Any text.", minLength: 1, maxLength: 3, pattern: "^a" },
      tier: { type: "string", enum: ["free", "paid"], default: "free" },
      count: { type: "integer", format: "int32", minimum: 0, maximum: 9, default: 2 },
      sizes: { type: "array", items: { type: "integer", format: "int64" }, maxItems: 2 },
      labels: { type: "object", additionalProperties: { type: "string" } },
      since: { type: "string", format: "date-time" },
      limit: { "x-kubernetes-int-or-string": true },
      raw: { "x-kubernetes-preserve-unknown-fields": true },
      named: {
        type: "object",
        properties: { it: { type: "boolean", default: true } },
        "x-kubernetes-validations": [{ rule: "self.it", message: "set it" }],
      },
    },
  });
});

test("defaults are added where a field is left out", () => {
  assert.deepEqual(withDefaults({ text: "a", count: 0, named: {} }, spec.json), { text: "a", tier: "free", count: 0, named: { it: true } });
});

test("values that the API server would refuse are refused, each with its place", () => {
  const wrong = (value: unknown) => problems(value, spec.json, "spec");
  const valid = { text: "abc", sizes: [1], labels: { a: "b" }, limit: "50%", raw: [{}], named: { it: false } };
  assert.deepEqual(wrong(valid), []);
  for (const [value, expected] of [
    [{}, "spec.text: it is required"],
    [[], "spec: expected object, and it is []"],
    [{ text: 1 }, "spec.text: expected string, and it is 1"],
    [{ text: "" }, 'spec.text: the length is 0, expected at least 1; spec.text: "" does not match ^a'],
    [{ text: "a😀😀b" }, "spec.text: the length is 4, expected at most 3"],
    [{ text: "a", tier: "cheap" }, 'spec.tier: expected one of free, paid, and it is "cheap"'],
    [{ text: "a", count: 1.5 }, "spec.count: expected integer, and it is 1.5"],
    [{ text: "a", count: 10 }, "spec.count: the number is 10, expected at most 9"],
    [{ text: "a", sizes: [1, 2, "3"] }, 'spec.sizes: the number of elements is 3, expected at most 2; spec.sizes[2]: expected integer, and it is "3"'],
    [{ text: "a", labels: { b: 1 } }, "spec.labels.b: expected string, and it is 1"],
    [{ text: "a", limit: 0.5 }, "spec.limit: expected an integer or a string, and it is 0.5"],
    [{ text: "a", txet: "a" }, "spec.txet: there is no such field"],
  ] as const) {
    assert.equal(wrong(value).join("; "), expected);
  }
});

test("the schema of settings refuses fields that it does not know", () => {
  const settings = schema.object({ image: schema.string(), limits: schema.object({ cpu: schema.intOrString() }).optional() });
  const Kind = customResource({ group: "example.com", version: "v1", kind: "Policy", spec: schema.object({}) });
  const manifest = plugin({ kind: Kind, settings, reconcile: () => noChildren() }).manifest();
  assert.deepEqual(manifest.settingsSchema, {
    type: "object",
    additionalProperties: false,
    required: ["image"],
    properties: {
      image: { type: "string" },
      limits: {
        type: "object",
        additionalProperties: false,
        required: ["cpu"],
        properties: { cpu: { anyOf: [{ type: "integer" }, { type: "string" }] } },
      },
    },
  });
});

test("plurals are formed as kubebuilder forms them", () => {
  const singulars = ["echo", "policy", "gateway", "mesh", "box"];
  assert.deepEqual(singulars.map(pluralOf), ["echos", "policies", "gateways", "meshes", "boxes"]);
});
