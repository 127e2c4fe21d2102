/** Reads a registry's answer to an unknown client (RFC 9110, section 11.6.1; RFC 6750, section 3). */

/** One authentication scheme. */
export interface Challenge {
  /** Scheme in lower case, such as `bearer`. */
  readonly scheme: string;
  /** Parameters by name in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** A word, and its value when it is a parameter, as text or quoted. */
const part = /[\s,]*([!#$%&'*+.^_`|~\w-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/y;

/** The challenges of the header `WWW-Authenticate`, as far as they can be understood. */
export function parseChallenges(header: string): readonly Challenge[] {
  const challenges: { readonly scheme: string; readonly parameters: Map<string, string> }[] = [];
  const words = new RegExp(part);
  for (let match = words.exec(header); match !== null; match = words.exec(header)) {
    const [, name = "", quoted, plain] = match;
    const value = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain;
    if (value === undefined) challenges.push({ scheme: name.toLowerCase(), parameters: new Map() });
    else challenges.at(-1)?.parameters.set(name.toLowerCase(), value);
  }
  return challenges;
}
