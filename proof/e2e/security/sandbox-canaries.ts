/** Searches for secrets where none may be: in texts of any kind, as they are and in the usual encodings. Names them, never shows them. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createKubeClient, type KubeClient, loadKubeconfig } from "@klutch/kube";
import { type DynamicObject, keyOf, recordAt, recordsAt, secrets } from "@klutch/kube-core";
import { discover } from "./rights.ts";

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
/** Match the words before a password, and the password itself, whatever it is: in a URL; in JSON, SQL or after a flag. */
const passwordPlaces = [
  /(:\/\/[^\s:/@]*:)[^\s/@]+(?=@)/g,
  /((?:password|passwd|client[-_]?secret)[\w-]*[\\"']*(?:\s*[=:]\s*|\s+(?=["']))[\\"']*)[^\s"'\\,}]+/gi,
];
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

/** Returns the text with `[name]` in place of each secret, `[a token]` of each token, and `[a password]` of what stands where one belongs. */
export function withoutCanaries(text: string, canaries: readonly Canary[]): string {
  const needles = canaries.flatMap(({ name, value }) => formsOf(value).map((form) => ({ name, form })));
  // A secret may hold another one.
  const longestFirst = needles.toSorted((one, other) => other.form.length - one.form.length);
  let clean = text;
  for (const { name, form } of longestFirst) clean = clean.replaceAll(form, `[${name}]`);
  clean = clean.replaceAll(new RegExp(token, "g"), "[a token]");
  return passwordPlaces.reduce((rest, place) => rest.replaceAll(place, "$1[a password]"), clean);
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

/** Hits of a search, and how much it read. */
export interface Search {
  readonly hits: readonly string[];
  readonly canaries: readonly string[];
  readonly places: { readonly logs: number; readonly objects: number; readonly processes: number };
}

const clusterNames = ["control-plane", "app-a", "app-b"];

/** Searches logs, every object of all three clusters but Secrets, and the arguments of all processes. */
export async function searchSandbox(folder: string, printed: string): Promise<Search> {
  const canaries = [...(await keptSecrets(folder))];
  const objects: Found[] = [];
  for (const name of clusterNames) {
    const config = await loadKubeconfig({ path: join(folder, `${name}.kubeconfig`) });
    await using client = createKubeClient(config);
    canaries.push(...(await secretsOf(name, client)));
    objects.push(...(await objectsOf(name, client)));
  }
  const logs = [{ where: "what the sandbox printed", text: printed }, ...(await filesIn(folder, /\.log$/))];
  const processes = await argumentsOfProcesses();
  return {
    hits: findCanaries([...logs, ...objects, ...processes], canaries),
    canaries: canaries.map(({ name }) => name),
    places: { logs: logs.length, objects: objects.length, processes: processes.length },
  };
}

/** Returns passwords and keys of the sandbox's own servers, and the tokens in its kubeconfigs and beside them. */
export async function keptSecrets(folder: string): Promise<readonly Canary[]> {
  const state: unknown = JSON.parse(await readFile(join(folder, "sandbox.json"), "utf8"));
  const own = Object.entries(recordAt(state, "secrets"));
  const files = await filesIn(folder, /\.(kubeconfig|token)$/);
  const all = [...own, ...files.map(({ where, text }) => [where, text] as const)];
  return all.flatMap(([name, value]) => secretsIn(name, "", String(value)));
}

async function secretsOf(cluster: string, client: KubeClient): Promise<readonly Canary[]> {
  const { items } = await client.list<DynamicObject>(secrets);
  return items.flatMap((secret) =>
    Object.entries(recordAt(secret["data"])).flatMap(([key, value]) => {
      const name = `${key} of Secret ${keyOf(secret)} in ${cluster}`;
      return secretsIn(name, key, Buffer.from(String(value), "base64").toString("utf8"));
    }),
  );
}

/** Returns every object but Secrets, with status, annotations and managed fields; events and ConfigMaps too. */
async function objectsOf(cluster: string, client: KubeClient): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const { group, resource, verbs, paths } of await discover(client)) {
    if (!verbs.includes("list") || (group === "" && resource === "secrets")) continue;
    for (const path of paths) {
      const list = await client.request({ method: "GET", path: `${path}/${resource}` });
      for (const item of recordsAt(list, "items")) {
        const { namespace, name } = recordAt(item, "metadata");
        const where = `${resource} ${String(namespace)}/${String(name)} in ${cluster}`;
        found.push({ where, text: JSON.stringify(item) });
      }
    }
  }
  return found;
}

/** Reads the files whose names fit, in the folder and below. */
async function filesIn(folder: string, wanted: RegExp): Promise<readonly Found[]> {
  const files = (await readdir(folder, { recursive: true })).filter((name) => wanted.test(name));
  const read = async (where: string): Promise<Found> => ({
    where,
    text: await readFile(join(folder, where), "utf8"),
  });
  return Promise.all(files.map(read));
}

/** Reads command lines, not environments: passwords go to servers there on purpose, and only the own user may read it. */
async function argumentsOfProcesses(): Promise<readonly Found[]> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const read = async (id: string): Promise<Found> => {
    const text = await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "");
    return { where: `the arguments of process ${id}`, text };
  };
  return Promise.all(ids.map(read));
}
