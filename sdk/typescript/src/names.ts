/** Fingerprints of texts, and names for children that may only be DNS labels. */

/** The maximum length of a DNS label (RFC 1123). */
export const LABEL_LIMIT = 63;

/** 64 bits at 5 bits a character. */
const LENGTH = 13;

/** The shortest limit that leaves a part of the name before the hash. */
const MINIMUM_LIMIT = LENGTH + 2;

const DIGITS = "abcdefghijklmnopqrstuvwxyz234567";

/** The 64-bit FNV-1a hash, which is the same in all languages of plugins. */
const OFFSET_BASIS = 0xcbf29ce484222325n;
const PRIME = 0x00000100000001b3n;

/** Separates texts. UTF-8 does not contain this byte. */
const END = 0xff;

function add(hash: bigint, byte: number): bigint {
  return BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
}

function addText(hash: bigint, text: string): bigint {
  for (const byte of utf8(text)) {
    hash = add(hash, byte);
  }
  return hash;
}

function* utf8(text: string): Generator<number> {
  for (const character of unescape(encodeURIComponent(wellFormed(text)))) {
    yield character.charCodeAt(0);
  }
}

/** Returns a text in which surrogates without their pair are replaced, which have no UTF-8. */
export function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udfff]/gu, "\ufffd");
}

function inBase32(hash: bigint): string {
  let text = "";
  for (let digit = 0; digit < LENGTH; digit++) {
    text += DIGITS[Number(hash & 31n)];
    hash >>= 5n;
  }
  return text;
}

/**
 * Returns a fingerprint of texts: 13 lower-case letters and digits, from a 64-bit hash that never
 * changes. It depends on the order of the texts. It is no proof of origin, because collisions can
 * be constructed.
 */
export function fingerprint(...texts: readonly string[]): string {
  return inBase32(texts.reduce((hash, text) => add(addText(hash, text), END), OFFSET_BASIS));
}

/**
 * Returns the name if it is a valid DNS label (RFC 1123) within the limit. Otherwise returns a
 * label with the start of the name and a 64-bit hash of all of it. The same name always gives the
 * same label. A limit is e.g. 52 for a CronJob; one below 15 counts as 15.
 */
export function dnsLabel(name: string, limit = LABEL_LIMIT): string {
  const within = Math.min(Math.max(limit, MINIMUM_LIMIT), LABEL_LIMIT);
  if (name.length <= within && isDnsLabel(name)) {
    return name;
  }
  const begin = start(name, within, /[a-z0-9]/);
  return `${begin === "" ? "" : `${begin}-`}${inBase32(addText(OFFSET_BASIS, name))}`;
}

/** Like {@link dnsLabel}, but begins with a letter (RFC 1035), as the name of a Service must. */
export function serviceLabel(name: string): string {
  if (name.length <= LABEL_LIMIT && isDnsLabel(name) && /^[a-z]/.test(name)) {
    return name;
  }
  // The hash may begin with a digit.
  return `${start(name, LABEL_LIMIT, /[a-z]/) || "x"}-${inBase32(addText(OFFSET_BASIS, name))}`;
}

/** Returns the part of the name before the hyphen and hash. */
function start(name: string, limit: number, mayBeFirst: RegExp): string {
  let label = "";
  for (const character of [...name].slice(0, limit - LENGTH - 1)) {
    const lower = /[A-Z]/.test(character) ? character.toLowerCase() : character;
    if (label === "" && !mayBeFirst.test(lower)) {
      continue;
    }
    label += /^[a-z0-9]$/.test(lower) ? lower : "-";
  }
  return label.replace(/-+$/, "");
}

function isDnsLabel(name: string): boolean {
  return /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name);
}
