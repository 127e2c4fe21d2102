/** Finds the kind that a person means on a command line, by the server's discovery, as kubectl does. */
import type { KubeClient } from "@klutch/kube";
import { listAt, recordsAt, type ResourceType, textAt } from "@klutch/kube-core";
import { CliError } from "../errors.ts";
import { nearestNames } from "../nearest.ts";

/** A kind and an object's name. */
export interface Wanted {
  /** Plural, singular, kind or short name, or `<plural>.<group>`. */
  readonly kind: string;
  readonly name: string;
}

/** Reads `<kind>/<name>`, or both as two words. Throws `CliError` Usage. */
export function parseWanted(words: readonly string[]): Wanted {
  const parts = words.length === 1 ? (words[0] ?? "").split("/") : words;
  const [kind = "", name = "", ...more] = parts;
  const isSound = /^[A-Za-z][A-Za-z0-9.-]*$/.test(kind) && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name);
  if (isSound && more.length === 0) return { kind, name };
  throw new CliError(
    "Usage",
    `${JSON.stringify(words.join(" "))} names no claim; write <kind>/<name>, for example postgresqlinstance/db.`,
  );
}

interface Served extends ResourceType {
  readonly aliases: readonly string[];
}

/** Most groups that are asked. A cluster of ours has a few dozen. */
const mostGroups = 200;

/** Returns the kind. Throws `CliError` Usage with the nearest names, or with the names to choose from. */
export async function resolveKind(
  client: KubeClient,
  kind: string,
  signal: AbortSignal,
): Promise<ResourceType> {
  const all = await servedKinds(client, signal);
  const word = kind.toLowerCase();
  const found = all.filter(
    ({ plural, group, aliases }) => `${plural}.${group}` === word || aliases.includes(word),
  );
  const [first, ...others] = found;
  if (first === undefined) {
    const nearest = nearestNames(
      word,
      all.flatMap(({ aliases }) => aliases),
    );
    const hint =
      nearest.length === 0 ? "kubectl api-resources lists them" : `Did you mean ${nearest.join(" or ")}?`;
    throw new CliError("Usage", `This cluster serves no kind ${kind}. ${hint}`);
  }
  if (others.length > 0) {
    const names = found.map(({ plural, group }) => `${plural}.${group}`).toSorted();
    throw new CliError("Usage", `${kind} is the name of several kinds; write one of: ${names.join(", ")}.`);
  }
  const { aliases: _aliases, ...type } = first;
  return type;
}

/** Kinds of CustomResourceDefinitions and aggregated servers: Kubernetes' own groups end in `.k8s.io` or have no dot. */
async function servedKinds(client: KubeClient, signal: AbortSignal): Promise<readonly Served[]> {
  const groups = recordsAt(await client.request({ method: "GET", path: "/apis", signal }), "groups");
  const versions = groups.flatMap((group) => {
    const name = textAt(group, "name") ?? "";
    const version = textAt(group, "preferredVersion", "version") ?? "";
    const isOurs = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(name) && !name.endsWith(".k8s.io");
    return isOurs && /^[a-z0-9]+$/.test(version) ? [{ name, version }] : [];
  });
  const lists = await Promise.all(
    versions.slice(0, mostGroups).map(async ({ name, version }) => {
      const path = `/apis/${name}/${version}`;
      // A group whose server does not answer is no reason to find nothing.
      const answer = await client.request({ method: "GET", path, signal }).catch(() => undefined);
      return recordsAt(answer, "resources").flatMap((item) => servedOf(name, version, item));
    }),
  );
  return lists.flat();
}

function servedOf(group: string, version: string, item: unknown): readonly Served[] {
  const [plural, kind] = [textAt(item, "name"), textAt(item, "kind")];
  if (plural === undefined || kind === undefined || !/^[a-z0-9-]+$/.test(plural)) return [];
  const namespaced = recordsAt({ list: [item] }, "list")[0]?.["namespaced"] === true;
  const shorts = listAt(item, "shortNames").filter((name) => typeof name === "string");
  const aliases = [plural, textAt(item, "singularName") ?? "", kind.toLowerCase(), ...shorts];
  return [{ group, version, plural, kind, namespaced, aliases: aliases.filter((name) => name !== "") }];
}
