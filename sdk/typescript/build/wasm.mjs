// Reads and writes the sections of core modules.

const MAGIC = Buffer.from("\0asm\x01\0\0\0", "latin1");
const IMPORT_SECTION = 2;
const LAST_SECTION = 13;

/** Returns the unsigned LEB128 number at an offset, and the offset after it. */
function readNumber(bytes, offset) {
  let value = 0;
  let shift = 0;
  let byte;
  do {
    byte = bytes[offset++];
    value |= (byte & 127) << shift;
    shift += 7;
  } while (byte & 128);
  return [value >>> 0, offset];
}

function writeNumber(value) {
  const bytes = [];
  do {
    const low = value & 127;
    value >>>= 7;
    bytes.push(value === 0 ? low : low | 128);
  } while (value !== 0);
  return Buffer.from(bytes);
}

function writeName(name) {
  const text = Buffer.from(name);
  return Buffer.concat([writeNumber(text.length), text]);
}

/** Returns the core modules within some bytes that contain them as they are. */
export function modulesWithin(bytes) {
  const modules = [];
  for (let start = bytes.indexOf(MAGIC); start >= 0; start = bytes.indexOf(MAGIC, start + MAGIC.length)) {
    const end = endOfModule(bytes, start);
    if (end > start + MAGIC.length) {
      modules.push(bytes.subarray(start, end));
    }
  }
  return modules;
}

function endOfModule(bytes, start) {
  let offset = start + MAGIC.length;
  while (offset < bytes.length && bytes[offset] <= LAST_SECTION && !startsModule(bytes, offset)) {
    const [length, content] = readNumber(bytes, offset + 1);
    if (content + length > bytes.length) {
      break;
    }
    offset = content + length;
  }
  return offset;
}

function startsModule(bytes, offset) {
  return bytes.subarray(offset, offset + MAGIC.length).equals(MAGIC);
}

/**
 * Returns a module in which imports have other names: `renamed` maps `module name` to `[module,
 * name]`.
 */
export function renameImports(module, renamed) {
  const parts = [MAGIC];
  let offset = MAGIC.length;
  while (offset < module.length) {
    const [length, content] = readNumber(module, offset + 1);
    const end = content + length;
    if (module[offset] === IMPORT_SECTION) {
      const imports = renameIn(module, content, renamed);
      parts.push(Buffer.from([IMPORT_SECTION]), writeNumber(imports.length), imports);
    } else {
      parts.push(module.subarray(offset, end));
    }
    offset = end;
  }
  return Buffer.concat(parts);
}

function renameIn(module, content, renamed) {
  const missing = new Set(renamed.keys());
  const [count, first] = readNumber(module, content);
  const parts = [writeNumber(count)];
  let offset = first;
  const readName = () => {
    const [length, start] = readNumber(module, offset);
    offset = start + length;
    return module.toString("utf8", start, offset);
  };
  for (let index = 0; index < count; index++) {
    const name = [readName(), readName()];
    const type = offset;
    offset = endOfType(module, type);
    missing.delete(name.join(" "));
    const [to, field] = renamed.get(name.join(" ")) ?? name;
    parts.push(writeName(to), writeName(field), module.subarray(type, offset));
  }
  if (missing.size > 0) {
    throw new Error(`the module does not import ${[...missing].join(", ")}`);
  }
  return Buffer.concat(parts);
}

/** Returns the offset after the type of an import: of a function, table, memory, global or tag. */
function endOfType(module, offset) {
  const skip = (at) => readNumber(module, at)[1];
  const limits = (at) => {
    const hasMaximum = module[at] & 1;
    return hasMaximum ? skip(skip(at + 1)) : skip(at + 1);
  };
  switch (module[offset]) {
    case 0:
      return skip(offset + 1);
    case 1:
      return limits(offset + 2);
    case 2:
      return limits(offset + 1);
    case 3:
      return offset + 3;
    default:
      return skip(offset + 2);
  }
}
