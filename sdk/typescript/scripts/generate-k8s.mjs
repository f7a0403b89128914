// Generates src/k8s from the OpenAPI documents of Kubernetes that the in-memory API server of this
// repository has. `--check` only says whether the files are up to date.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const SDK = join(dirname(fileURLToPath(import.meta.url)), "..");
const DUMP = join(SDK, "../../host/devcluster/src/builtin/dump");
const TO = join(SDK, "src/k8s");

/** The groups with their version, as the types of the other SDKs. */
const GROUPS = new Set([
  "/v1",
  "apps/v1",
  "autoscaling/v2",
  "batch/v1",
  "coordination.k8s.io/v1",
  "discovery.k8s.io/v1",
  "events.k8s.io/v1",
  "networking.k8s.io/v1",
  "policy/v1",
  "rbac.authorization.k8s.io/v1",
  "scheduling.k8s.io/v1",
  "storage.k8s.io/v1",
]);

/**
 * Subresources and kinds without a use of their own; those of newer groups replace Event and
 * Endpoints.
 */
const WITHOUT = new Set([
  "/Binding",
  "/ComponentStatus",
  "/Endpoints",
  "/Event",
  "/PodTemplate",
  "/ReplicationController",
  "policy/Eviction",
]);

/** Fields that change on each write or are never set. */
const WITHOUT_FIELDS = new Set(["ObjectMeta.managedFields", "ObjectMeta.selfLink"]);

/**
 * The type of a field where it differs for objects that are written: the host makes some values.
 */
const INPUT_FIELDS = { Secret: { data: "Record<string, string | Generated>" } };

const WIDTH = 100;

function documents() {
  const folder = join(DUMP, "openapi");
  const files = readdirSync(folder).filter((file) => file.endsWith(".json.gz"));
  return files.sort().map((file) => JSON.parse(gunzipSync(readFileSync(join(folder, file))).toString()));
}

/** Returns the kinds that are in no namespace, as `group/kind`. */
function clusterScoped() {
  const found = new Set();
  const visit = (value, group) => {
    if (Array.isArray(value)) {
      value.forEach((element) => visit(element, group));
    } else if (value !== null && typeof value === "object") {
      const { responseKind, scope } = value;
      if (responseKind && scope === "Cluster") {
        found.add(`${responseKind.group || group}/${responseKind.kind}`);
      }
      Object.values(value).forEach((field) => visit(field, value.metadata?.name ?? group));
    }
  };
  visit(JSON.parse(readFileSync(join(DUMP, "discovery.json"), "utf8")), "");
  return found;
}

const last = (id) => id.split(".").at(-1);
/**
 * `io.k8s.api.batch.v1.Job` is of `batch`, and `io.k8s.apimachinery.pkg.apis.meta.v1.Time` of
 * `meta`.
 */
const moduleOf = (id) => id.split(".").at(-3);
const target = (schema) => (schema.$ref ?? schema.allOf?.[0]?.$ref)?.replace("#/components/schemas/", "");

function selectedKind(schema, name) {
  const kinds = schema["x-kubernetes-group-version-kind"];
  if (kinds?.length !== 1 || last(target(schema.properties?.metadata ?? {}) ?? "") !== "ObjectMeta") {
    return undefined;
  }
  const { group, version } = kinds[0];
  return GROUPS.has(`${group}/${version}`) && !WITHOUT.has(`${group}/${name}`) ? { group, version } : undefined;
}

/** The first sentence of a description. */
function sentence(description = "") {
  const joined = description.split("\n\n")[0].split(/\s+/).join(" ").trim();
  const end = joined.indexOf(". ");
  const text = (end < 0 ? joined : joined.slice(0, end + 1)).replaceAll("*/", "*\\/").replace(/^What /, "The ");
  return text === "" || /[.:]$/.test(text) ? text : `${text}.`;
}

function comment(description, indentation) {
  const text = sentence(description);
  if (text === "") {
    return "";
  }
  const single = `${indentation}/** ${text} */`;
  if (single.length <= WIDTH) {
    return `${single}\n`;
  }
  const lines = [];
  let line = `${indentation} *`;
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > WIDTH && line !== `${indentation} *`) {
      lines.push(line);
      line = `${indentation} *`;
    }
    line += ` ${word}`;
  }
  return `${indentation}/**\n${[...lines, line].join("\n")}\n${indentation} */\n`;
}

function generate() {
  const schemas = Object.assign({}, ...documents().map((document) => document.components?.schemas ?? {}));
  const isClusterScoped = clusterScoped();
  const kinds = new Map();
  const waiting = [];
  const seen = new Set();
  const reach = (id) => {
    if (!seen.has(id)) {
      seen.add(id);
      waiting.push(id);
    }
  };
  for (const [id, schema] of Object.entries(schemas)) {
    const kind = selectedKind(schema, last(id));
    if (kind !== undefined) {
      kinds.set(id, kind);
      reach(id);
    }
  }
  const modules = new Map();
  while (waiting.length > 0) {
    const id = waiting.pop();
    const name = moduleOf(id);
    const module = modules.get(name) ?? { types: new Map(), imports: new Map() };
    modules.set(name, module);
    const use = (other) => {
      reach(other);
      if (moduleOf(other) !== name) {
        const from = module.imports.get(moduleOf(other)) ?? new Set();
        module.imports.set(moduleOf(other), from.add(last(other)));
      }
      return last(other);
    };
    module.types.set(last(id), declaration(id, schemas, kinds.get(id), isClusterScoped, use));
  }
  const files = new Map();
  const names = [...modules.keys()].sort();
  for (const name of names) {
    files.set(`${name}.ts`, file(name, modules.get(name)));
  }
  const index = names.map((name) => `export * from "./${name}.ts";\n`).join("");
  files.set("index.ts", `/** The built-in kinds, with all their fields. Every field is optional. */\n\n${index}`);
  return files;
}

function declaration(id, schemas, kind, isClusterScoped, use) {
  const schema = schemas[id];
  const name = last(id);
  const typeOf = (value) => {
    const other = target(value);
    if (other !== undefined) {
      return referred(other);
    }
    switch (value.type) {
      case "string":
        return choice(value) ?? "string";
      case "integer":
      case "number":
        return "number";
      case "boolean":
        return "boolean";
      case "array": {
        const element = typeOf(value.items);
        return element.includes("|") ? `(${element})[]` : `${element}[]`;
      }
      case "object":
        return typeof value.additionalProperties === "object"
          ? `Record<string, ${typeOf(value.additionalProperties)}>`
          : "unknown";
      default:
        return "unknown";
    }
  };
  const referred = (other) => {
    switch (last(other)) {
      case "Quantity":
      case "Time":
      case "MicroTime":
        return "string";
      case "IntOrString":
        return "number | string";
      default:
        return schemas[other]?.properties === undefined ? "unknown" : use(other);
    }
  };
  let fields = "";
  let inputFields = "";
  for (const [field, value] of Object.entries(schema.properties ?? {}).sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (WITHOUT_FIELDS.has(`${name}.${field}`)) {
      continue;
    }
    const quoted = /^[A-Za-z_$][\w$]*$/.test(field) ? field : JSON.stringify(field);
    fields += `${comment(value.description, "  ")}  ${quoted}?: ${typeOf(value)};\n`;
    const input = INPUT_FIELDS[name]?.[field];
    if (input !== undefined) {
      inputFields += `  ${quoted}?: ${input};\n`;
    }
  }
  let text = `${comment(schema.description, "")}export interface ${name} {\n${fields}}\n`;
  if (kind === undefined) {
    return { text };
  }
  const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
  const options = isClusterScoped.has(`${kind.group}/${name}`) ? ", { clusterScoped: true }" : "";
  let types = name;
  if (inputFields !== "") {
    const replaced = Object.keys(INPUT_FIELDS[name]).map((field) => JSON.stringify(field));
    text += `\n/** The fields of a ${name} that is written. */\n`;
    text += `export interface ${name}Input extends Omit<${name}, ${replaced.join(" | ")}> {\n${inputFields}}\n`;
    types += `, ${name}Input`;
  }
  const call = `kind<${types}>(${JSON.stringify(apiVersion)}, ${JSON.stringify(name)}${options})`;
  const type = `Kind<${types}>`;
  text += `\n/** The kind ${name} of ${apiVersion}. */\nexport const ${name}: ${type} = /* @__PURE__ */ ${call};\n`;
  return { text, isKind: true, isGenerated: inputFields !== "" };
}

/** The texts of an enum, without the empty one, which stands for none. */
function choice({ enum: values }) {
  const texts = values?.filter((text) => text !== "");
  return texts?.length > 0 ? texts.map((text) => JSON.stringify(text)).join(" | ") : undefined;
}

function file(name, { types, imports }) {
  const sorted = [...types.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, type]) => type);
  let text = `// Types of \`${name}\`, generated from the OpenAPI documents of Kubernetes.\n`;
  text += "// Do not edit them: `npm run generate` writes them.\n\n";
  if (sorted.some((type) => type.isKind)) {
    text += 'import { type Kind, kind } from "../object.ts";\n';
  }
  if (sorted.some((type) => type.isGenerated)) {
    text += 'import type { Generated } from "../generated.ts";\n';
  }
  for (const module of [...imports.keys()].sort()) {
    const names = [...imports.get(module)].sort();
    text += `import type {\n${names.map((used) => `  ${used},\n`).join("")}} from "./${module}.ts";\n`;
  }
  return `${text}\n${sorted.map((type) => type.text).join("\n")}`;
}

const files = generate();
if (process.argv.includes("--check")) {
  const current = (file) => {
    try {
      return readFileSync(join(TO, file), "utf8");
    } catch {
      return "";
    }
  };
  const old = [...files].filter(([file, text]) => current(file) !== text).map(([file]) => file);
  if (old.length > 0) {
    console.error(`src/k8s is not up to date: ${old.join(", ")}; \`npm run generate\` writes it`);
    process.exitCode = 1;
  }
} else {
  mkdirSync(TO, { recursive: true });
  for (const [file, text] of files) {
    writeFileSync(join(TO, file), text);
  }
}
