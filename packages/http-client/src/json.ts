/** JSON of a stranger. */

/** Undefined, which JSON does not have, for what is no JSON. The parser's own message would quote the text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a media type, without parameters and in lower case, stands for JSON. */
export function isJsonType(contentType: string): boolean {
  return contentType === "application/json" || contentType === "text/json" || contentType.endsWith("+json");
}
