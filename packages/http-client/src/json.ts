/** JSON of a stranger. */

/** Parses JSON. Returns undefined for any other text, because the parser's own error would quote it. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns true if a media type, without parameters and in lower case, stands for JSON. */
export function isJsonType(contentType: string): boolean {
  return contentType === "application/json" || contentType === "text/json" || contentType.endsWith("+json");
}
