/** Searches for secrets where none may be: in texts of any kind, as they are and in the usual encodings. Names them, never shows them. */

/** Something secret with a name for messages. */
export interface Canary {
  readonly name: string;
  readonly value: string;
}

/** A text with the place where it was found. */
export interface Found {
  readonly where: string;
  readonly text: string;
}

/** Shorter ones are words that stand anywhere. */
const shortest = 12;
/** Matches any token of a service account or of a login, of any owner. */
const token = /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}/;
/** Keys of connection Secrets and certificates with public values. */
const publicKeys = new Set([
  "ca.crt",
  "tls.crt",
  "host",
  "hosts",
  "name",
  "namespace",
  "port",
  "username",
  // Its secret part is the key `password` beside it.
  "uri",
]);

/** `where shows name` for each secret in each text. */
export function findCanaries(texts: Iterable<Found>, canaries: readonly Canary[]): readonly string[] {
  const needles = canaries.flatMap(({ name, value }) => formsOf(value).map((form) => ({ name, form })));
  const hits = new Set<string>();
  for (const { where, text } of texts) {
    for (const { name, form } of needles) if (text.includes(form)) hits.add(`${where} shows ${name}`);
    if (token.test(text)) hits.add(`${where} shows a token`);
  }
  return [...hits].toSorted();
}

function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const json = JSON.stringify(value).slice(1, -1);
  // The end of a base64 text depends on the bytes that follow.
  const base64 = (encoding: "base64" | "base64url"): string =>
    bytes.toString(encoding).replace(/.{0,2}=*$/, "");
  return [
    ...new Set([
      value,
      json,
      encodeURIComponent(value),
      base64("base64"),
      base64("base64url"),
      bytes.toString("hex"),
    ]),
  ];
}

/** Returns the secret parts of one value in a Secret: the token of a kubeconfig, the lines of a private key, else all of it. */
export function secretsIn(name: string, key: string, value: string): readonly Canary[] {
  if (publicKeys.has(key)) return [];
  const lines = value.split(/\s+/);
  if (value.includes("PRIVATE KEY")) {
    return lines
      .filter((line) => /^[\w+/=]{40,}$/.test(line))
      .map((line) => ({ name: `${name}, a private key`, value: line }));
  }
  const tokens = [...value.matchAll(/^\s*token: "?([^\s"]+)/gm)].map(([, text = ""]) => text);
  const found = tokens.length > 0 ? tokens : [value.trim()];
  return found.filter((one) => one.length >= shortest).map((one) => ({ name, value: one }));
}
