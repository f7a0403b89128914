/**
 * Schemas from which both a TypeScript type and a JSON Schema follow:
 *
 * ```ts
 * const spec = schema.object({
 *   image: schema.string({ description: "The image of the server.", minLength: 1 }),
 *   replicas: schema.integer({ maximum: 9 }).default(2),
 *   tier: schema.enum(["free", "paid"]).optional(),
 * });
 * type Spec = Infer<typeof spec>; // { image: string; replicas: number; tier?: "free" | "paid" }
 * ```
 */

/** A JSON Schema, with the extensions of Kubernetes. */
export interface JsonSchema {
  type?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  enum?: unknown[];
  default?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  anyOf?: JsonSchema[];
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-list-type"?: string;
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-validations"?: CelRule[];
}

/** A rule in CEL, the expression language of Kubernetes. */
export interface CelRule {
  /** For example `self == oldSelf`. */
  readonly rule: string;
  /** What is wrong if it does not hold. */
  readonly message: string;
}

interface Common {
  /** What `kubectl explain` shows. */
  readonly description?: string;
  readonly rules?: readonly CelRule[];
}

interface StringKeywords extends Common {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
}

interface NumberKeywords extends Common {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly multipleOf?: number;
}

interface IntegerKeywords extends NumberKeywords {
  /** By default `int64`. */
  readonly format?: "int32" | "int64";
}

interface ArrayKeywords extends Common {
  readonly minItems?: number;
  readonly maxItems?: number;
  /** `map` merges the elements by these keys when several managers apply the list. */
  readonly keys?: readonly string[];
}

interface MapKeywords extends Common {
  readonly minProperties?: number;
  readonly maxProperties?: number;
}

/** Whether a field must be given: a field with a default need not, and always has a value. */
type Presence = "required" | "optional" | "defaulted";

/** A schema of values of the type `Output`, which are given as `Input`. */
export class Schema<Output, Input = Output, P extends Presence = "required"> {
  readonly json: JsonSchema;
  readonly presence: P;
  /** Only for the type checker. */
  declare readonly output: Output;
  /** Only for the type checker. */
  declare readonly input: Input;

  constructor(json: JsonSchema, presence: P) {
    this.json = json;
    this.presence = presence;
  }

  /** Allows the field to be left out. */
  optional(): Schema<Output, Input, "optional"> {
    return new Schema(this.json, "optional");
  }

  /** Gives the field this value if it is left out. */
  default(value: Input): Schema<Output, Input, "defaulted"> {
    return new Schema({ ...this.json, default: value }, "defaulted");
  }
}

type AnySchema = Schema<any, any, Presence>;
type Shape = Readonly<Record<string, AnySchema>>;

type KeysOf<S extends Shape, P extends Presence> = { [K in keyof S]: S[K]["presence"] extends P ? K : never }[keyof S];
type Simplify<T> = { [K in keyof T]: T[K] } & {};
type OutputOf<S extends Shape> = Simplify<
  { [K in KeysOf<S, "required" | "defaulted">]: S[K]["output"] } & { [K in KeysOf<S, "optional">]?: S[K]["output"] }
>;
type InputOf<S extends Shape> = Simplify<
  { [K in KeysOf<S, "required">]: S[K]["input"] } & { [K in KeysOf<S, "optional" | "defaulted">]?: S[K]["input"] }
>;

/** The type of the values of a schema, with their defaults. */
export type Infer<S extends AnySchema> = S["output"];

/** The type in which values of a schema are given: what has a default may be left out. */
export type InferInput<S extends AnySchema> = S["input"];

function required<Output, Input = Output>(json: JsonSchema, keywords: Common = {}): Schema<Output, Input> {
  const { description, rules, ...others } = keywords;
  const complete: JsonSchema = { ...json, ...others };
  if (description !== undefined) {
    complete.description = description;
  }
  if (rules !== undefined) {
    complete["x-kubernetes-validations"] = [...rules];
  }
  return new Schema<Output, Input>(complete, "required");
}

/** Schemas of all types. */
export const schema = {
  string: (keywords: StringKeywords = {}) => required<string>({ type: "string" }, keywords),

  /** A time in RFC 3339. */
  time: (keywords: Common = {}) => required<string>({ type: "string", format: "date-time" }, keywords),

  boolean: (keywords: Common = {}) => required<boolean>({ type: "boolean" }, keywords),

  integer: (keywords: IntegerKeywords = {}) => required<number>({ type: "integer", format: "int64" }, keywords),

  number: (keywords: NumberKeywords = {}) => required<number>({ type: "number", format: "double" }, keywords),

  /** One of these texts. */
  enum: <const Text extends string>(texts: readonly Text[], keywords: Common = {}) =>
    required<Text>({ type: "string", enum: [...texts] }, keywords),

  /** A number or a text, e.g. the number or name of a port, or a quantity. */
  intOrString: (keywords: Common = {}) => required<number | string>({ "x-kubernetes-int-or-string": true }, keywords),

  array: <Output, Input>(of: Schema<Output, Input, Presence>, keywords: ArrayKeywords = {}) => {
    const { keys, ...others } = keywords;
    const json: JsonSchema = { type: "array", items: of.json };
    if (keys !== undefined) {
      json["x-kubernetes-list-type"] = "map";
      json["x-kubernetes-list-map-keys"] = [...keys];
    }
    return required<Output[], Input[]>(json, others);
  },

  /** Values by any key. */
  map: <Output, Input>(of: Schema<Output, Input, Presence>, keywords: MapKeywords = {}) =>
    required<Record<string, Output>, Record<string, Input>>({ type: "object", additionalProperties: of.json }, keywords),

  object: <S extends Shape>(shape: S, keywords: Common = {}) => {
    const json: JsonSchema = { type: "object", properties: {} };
    const mandatory: string[] = [];
    for (const [name, field] of Object.entries(shape)) {
      json.properties![name] = field.json;
      if (field.presence === "required") {
        mandatory.push(name);
      }
    }
    if (mandatory.length > 0) {
      json.required = mandatory;
    }
    return required<OutputOf<S>, InputOf<S>>(json, keywords);
  },

  /** Any JSON. */
  any: (keywords: Common = {}) => required<unknown>({ "x-kubernetes-preserve-unknown-fields": true }, keywords),

  /** A schema that is written by hand, and the type of its values. */
  json: <Output>(json: JsonSchema) => required<Output>(json),
};

/** Returns a value with the defaults of its schema. */
export function withDefaults(value: unknown, { properties, items, additionalProperties }: JsonSchema): unknown {
  if (Array.isArray(value)) {
    return items === undefined ? value : value.map((element) => withDefaults(element, items));
  }
  if (value === null || typeof value !== "object") {
    return value;
  }
  const complete: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    const known = properties?.[name] ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);
    complete[name] = known === undefined ? field : withDefaults(field, known);
  }
  for (const [name, field] of Object.entries(properties ?? {})) {
    if (complete[name] === undefined && field.default !== undefined) {
      complete[name] = withDefaults(structuredCopy(field.default), field);
    }
  }
  return complete;
}

function structuredCopy(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Returns what is wrong with a value, each with its place, as the API server would find it. */
export function problems(value: unknown, json: JsonSchema, place: string): string[] {
  const found: string[] = [];
  collect(value, json, place, found);
  return found;
}

function collect(value: unknown, json: JsonSchema, place: string, found: string[]): void {
  const isOfType = TYPES[json.type ?? ""];
  if (isOfType !== undefined && !isOfType(value)) {
    found.push(`${place}: expected ${json.type}, and it is ${JSON.stringify(value)}`);
    return;
  }
  if (json["x-kubernetes-int-or-string"] && typeof value !== "string" && !Number.isInteger(value)) {
    found.push(`${place}: expected an integer or a string, and it is ${JSON.stringify(value)}`);
  }
  if (json.enum !== undefined && !json.enum.includes(value)) {
    found.push(`${place}: expected one of ${json.enum.map(String).join(", ")}, and it is ${JSON.stringify(value)}`);
  }
  if (typeof value === "string") {
    outside(found, place, "length", [...value].length, json.minLength, json.maxLength);
    if (json.pattern !== undefined && !new RegExp(json.pattern, "u").test(value)) {
      found.push(`${place}: ${JSON.stringify(value)} does not match ${json.pattern}`);
    }
  } else if (typeof value === "number") {
    outside(found, place, "number", value, json.minimum, json.maximum);
    if (json.multipleOf !== undefined && !Number.isInteger(value / json.multipleOf)) {
      found.push(`${place}: ${value} is no multiple of ${json.multipleOf}`);
    }
  } else if (Array.isArray(value)) {
    outside(found, place, "number of elements", value.length, json.minItems, json.maxItems);
    value.forEach((element, index) => json.items && collect(element, json.items, `${place}[${index}]`, found));
  } else if (value !== null && typeof value === "object") {
    collectFields(value, json, place, found);
  }
}

function collectFields(value: object, json: JsonSchema, place: string, found: string[]): void {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  outside(found, place, "number of fields", fields.length, json.minProperties, json.maxProperties);
  for (const name of json.required ?? []) {
    if (!fields.some(([field]) => field === name)) {
      found.push(`${place}.${name}: it is required`);
    }
  }
  for (const [name, field] of fields) {
    const known = json.properties?.[name] ?? json.additionalProperties;
    if (typeof known === "object") {
      collect(field, known, `${place}.${name}`, found);
    } else if (json.properties !== undefined && known !== true && !json["x-kubernetes-preserve-unknown-fields"]) {
      found.push(`${place}.${name}: there is no such field`);
    }
  }
}

function outside(found: string[], place: string, what: string, size: number, minimum = -Infinity, maximum = Infinity) {
  if (size < minimum) {
    found.push(`${place}: the ${what} is ${size}, expected at least ${minimum}`);
  } else if (size > maximum) {
    found.push(`${place}: the ${what} is ${size}, expected at most ${maximum}`);
  }
}

const TYPES: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === "number",
  array: (value) => Array.isArray(value),
  object: (value) => value !== null && typeof value === "object" && !Array.isArray(value),
};
