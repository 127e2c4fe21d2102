/** The connection of a service on its way from its table, over the composition function, to who makes bindings: always read as a stranger's. */
import { jsonOf, recordAt, textAt } from "@klutch/kube-core";
import {
  accepts,
  describeProblem,
  list,
  type Problem,
  problemsOf,
  type Schema,
  unknownFields,
  valueText,
} from "@klutch/schema";
import { connectionSource } from "../table/file-schema.ts";
import type { ConnectionSource } from "../table/service-table.ts";

/** Maximum length in characters; the limit on a table's sources keeps their text below it. */
const longest = 16_384;
const sources: Schema<readonly ConnectionSource[]> = list(connectionSource, { maxItems: 20 });

/** Prints sources for `readConnectionText`. */
export function connectionText(connection: readonly ConnectionSource[]): string {
  return JSON.stringify(connection);
}

/** Returns the sources, or one sentence with the fault of the text. */
export function readConnectionText(
  text: string,
): { readonly connection: readonly ConnectionSource[] } | { readonly problem: string } {
  if (text.length > longest) return { problem: `has ${text.length} characters; at most ${longest} are read` };
  const value = jsonOf(text);
  if (value === undefined) return { problem: `is ${valueText(text)}, expected a list in JSON` };
  const read = readConnection(value, "connection");
  return "connection" in read ? read : { problem: read.problems.map(describeProblem).join("; ") };
}

/** The sources that a value of JSON says, or everything that is wrong with it. */
export function readConnection(
  value: unknown,
  field: string,
): { readonly connection: readonly ConnectionSource[] } | { readonly problems: readonly Problem[] } {
  const problems = [...problemsOf(sources.json, value, field), ...unknownFields(sources.json, value, field)];
  if (problems.length > 0 || !accepts(sources, value)) return { problems };
  const wrong = sourceProblems(value, field);
  return wrong.length > 0 ? { problems: wrong } : { connection: value };
}

/** Checks the fields of sources against each other: a host needs a port beside it, the others have their own, and none shows a secret. */
export function sourceProblems(connection: readonly unknown[], field: string): readonly Problem[] {
  return connection.flatMap((source, index): readonly Problem[] => {
    const at = `${field}[${index}]`;
    const { form, port } = recordAt(source);
    const secret = ["from", "port"].flatMap((name) => {
      const key = textAt(source, name);
      const expected =
        "a key that holds no secret; everyone who can read the status of a binding sees its value";
      return key !== undefined && isSecretKey(key)
        ? [{ field: `${at}.${name}`, value: valueText(key), expected }]
        : [];
    });
    if (form === "host" && port === undefined)
      return [...secret, { field: `${at}.port`, value: "missing", expected: "the key that has the port" }];
    return form === "host" || port === undefined
      ? secret
      : [
          ...secret,
          { field: `${at}.port`, value: valueText(port), expected: "no port here; it is for the form host" },
        ];
  });
}

/** Judges a key by the end of its name. */
function isSecretKey(key: string): boolean {
  return (
    /(password|passwd|passphrase|secret|token|credentials?)$/i.test(key) ||
    /(^|[^a-z])(pass|pwd)$/i.test(key) ||
    /(api|access|private|secret)[-_.]?key$/i.test(key)
  );
}
