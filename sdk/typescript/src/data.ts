/** The data of Secrets, which are in base64. */

import type { Secret } from "./k8s/core.ts";
import { wellFormed } from "./names.ts";

declare function atob(text: string): string;
declare function btoa(binary: string): string;

/** Returns texts as `data` of a Secret. */
export function secretData(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, encodeBase64(text)]));
}

/**
 * Returns a text of a Secret that was read, or `undefined` if it has no such key, or if it is no
 * text.
 */
export function secretText(secret: Secret | undefined, key: string): string | undefined {
  const value = secret?.data?.[key];
  if (value === undefined) {
    return undefined;
  }
  try {
    return decodeURIComponent(escape(atob(value)));
  } catch {
    return undefined;
  }
}

function encodeBase64(text: string): string {
  return btoa(unescape(encodeURIComponent(wellFormed(text))));
}
