/** Texts as UTF-8. The engine's own functions are used, because loops over bytes are slow in it. */

import { wellFormed } from "../names.ts";

declare function atob(text: string): string;
declare function btoa(binary: string): string;

/** What QuickJS has, in place of `TextEncoder`. */
interface Base64Bytes extends Uint8Array<ArrayBuffer> {
  toBase64(): string;
}

interface Base64Constructor {
  fromBase64(text: string): Uint8Array<ArrayBuffer>;
}

// Taken now, because the environment defines those that the engine lacks.
const { TextEncoder: Encoder, TextDecoder: Decoder } = globalThis as Partial<typeof globalThis>;
const encoder = Encoder && new Encoder();
const decoder = Decoder && new Decoder();

/** Returns the UTF-8 of a text. */
export function encode(text: string): Uint8Array {
  if (encoder !== undefined) {
    return encoder.encode(text);
  }
  const binary = unescape(encodeURIComponent(wellFormed(text)));
  return (Uint8Array as unknown as Base64Constructor).fromBase64(btoa(binary));
}

/** Returns the text of UTF-8. */
export function decode(bytes: Uint8Array): string {
  if (decoder !== undefined) {
    return decoder.decode(bytes);
  }
  const binary = atob((bytes as Base64Bytes).toBase64());
  return isAscii(binary) ? binary : decodeURIComponent(escape(binary));
}

function isAscii(binary: string): boolean {
  return !/[\x80-\xff]/.test(binary);
}
