/** Values of request headers. */

/** Value of a basic `Authorization`. */
export function basicHeader(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

/** Returns true if a header can carry the text: visible ASCII without spaces. */
export function isHeaderToken(text: string): boolean {
  return /^[\x21-\x7e]{1,16384}$/.test(text);
}
