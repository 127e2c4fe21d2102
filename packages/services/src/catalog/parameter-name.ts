/** Names a broker's parameter in a claim. */
import { wordsOfCel } from "../table/taken-names.ts";

/** Returns the name in camel case; undefined when it has none. */
export function parameterName(key: string): string | undefined {
  if (key.length > 253 || /\p{C}/u.test(key)) return undefined;
  const words = key.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const [first = "", ...others] = words.map((word) => (/^[A-Z0-9]+$/.test(word) ? word.toLowerCase() : word));
  const joined = [
    `${first.charAt(0).toLowerCase()}${first.slice(1)}`,
    ...others.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`),
  ].join("");
  const name = wordsOfCel.includes(joined) ? `${joined}Value` : joined;
  return /^[a-z][A-Za-z0-9]{0,62}$/.test(name) ? name : undefined;
}
