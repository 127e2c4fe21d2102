/** Text of a stranger, such as a server or a proxy before it: made fit for an error, a log line or a status. */

/** Control and format characters, line separators, halves of pairs, characters without a meaning or without ink. */
const unseemly = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\u115f\u1160\u3164\uffa0]+/gu;

/** The longest text that is taken from an answer, in characters. */
export const longestText = 300;

/** Secrets that are shorter are not looked for: they would be found in any word. */
const shortestSecret = 4;

/** Makes foreign text safe to show; at most `limit` characters, {@link longestText} by default. */
export type Clean = (text: string, limit?: number) => string;

/**
 * A {@link Clean} that knows what must not be shown. The result is one line: each run of control, format, private and invisible
 * characters is one space, each of `secrets` (of four characters or more), as it is or escaped as in an address or in JSON, is "[redacted]", and what
 * is too long ends with "…".
 */
export function cleanerFor(secrets: readonly string[]): Clean {
  // The longest first: one secret may be a part of another.
  const hidden = secrets
    .flatMap((secret) => [
      secret,
      encodeURIComponent(secret.toWellFormed()),
      JSON.stringify(secret).slice(1, -1),
    ])
    .filter((secret) => secret.length >= shortestSecret)
    .toSorted((a, b) => b.length - a.length);
  const hide = (text: string): string =>
    hidden.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
  return (text, limit = longestText) => cut(hide(onOneLine(hide(text), limit)), limit);
}

/** Cleans text that cannot contain a secret, such as an identifier that the caller gave. */
export const cleanText: Clean = (text, limit = longestText) => cut(onOneLine(text, limit), limit);

function onOneLine(text: string, limit: number): string {
  // Text beyond the limit is not searched.
  const looked = text.slice(0, limit * 2);
  const plain = looked.toWellFormed().replace(unseemly, " ").trim();
  return looked.length < text.length ? plain.padEnd(limit + 1, "…") : plain;
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
