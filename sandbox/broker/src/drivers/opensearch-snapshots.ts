/** Backups of an OpenSearch server: a snapshot of all indices and data streams in a folder, which of them are closed, and the templates of new ones. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { makeServerFolder, writeOwn } from "@klutch/data-servers";
import { copyChanging, pack, unpack } from "./archive.ts";
import type { Dump, Place } from "./driver.ts";
import { askOpensearch, snapshotsIn } from "./opensearch-server.ts";

const repository = "/_snapshot/klutch";
const snapshot = `${repository}/backup`;
/** Names in a backup. */
const snapshotFolder = "snapshot";
const templatesFile = "templates.json";
const closedFile = "closed.json";
/** All but the plugin's own, which has the logins. */
const indices = "*,-.opendistro_security";
/** While the disk was full, the broker set it. */
const ignored = ["index.blocks.read_only_allow_delete"];

/** Kinds of templates, each after those that it is composed of: path, and names of the list and of an entry's content in the answer. */
const templateKinds = [
  ["/_component_template", "component_templates", "component_template"],
  ["/_index_template", "index_templates", "index_template"],
] as const;
const oldTemplates = "/_template";
const templatePath = /^\/_(?:component_template|index_template|template)\/[^/?#]+$/;

/** Templates by the paths at which they are put, in that order. */
export type Templates = readonly (readonly [path: string, template: object])[];

/** The shards of a snapshot that was made or restored. */
interface Done {
  readonly snapshot: { readonly shards: { readonly total: number; readonly successful: number } };
}

/** Writes a backup to `to` while applications go on: each shard is as of one moment. */
export async function dumpOpensearch(place: Place, to: Writable, signal: AbortSignal): Promise<void> {
  const location = snapshotsIn(place);
  await forget(place);
  await makeServerFolder(location);
  try {
    await askOpensearch(place, "PUT", repository, { type: "fs", settings: { location } });
    const wanted = { indices, include_global_state: false, expand_wildcards: "all" };
    const made = await askOpensearch(place, "PUT", `${snapshot}?wait_for_completion=true`, wanted, signal);
    requireWhole("made", made);
    const templates = JSON.stringify(await templatesOf(place));
    const closed = JSON.stringify(await closedOf(place));
    const copy = async (folder: string): Promise<void> => {
      await copyChanging(location, join(folder, snapshotFolder), "");
      await writeOwn(join(folder, templatesFile), templates);
      await writeOwn(join(folder, closedFile), closed);
    };
    await pack(place.home, copy, to, signal);
  } finally {
    await forget(place);
  }
}

/** Unpacks a backup to where a server that is about to start reads it. Throws when it is damaged. */
export async function unpackOpensearch(place: Place, dump: Dump): Promise<void> {
  const folder = snapshotsIn(place);
  await makeServerFolder(folder);
  await unpack(folder, dump);
  await templatesIn(folder);
}

/** Fills an empty server with the unpacked backup. Throws when it cannot be restored as a whole. */
export async function fillOpensearch(place: Place, { signal }: Dump): Promise<void> {
  const folder = snapshotsIn(place);
  const templates = await templatesIn(folder);
  const settings = { location: join(folder, snapshotFolder), readonly: true };
  await askOpensearch(place, "PUT", repository, { type: "fs", settings });
  const { snapshots } = JSON.parse(await askOpensearch(place, "GET", snapshot)) as {
    readonly snapshots: readonly {
      readonly indices: readonly string[];
      readonly data_streams: readonly string[];
    }[];
  };
  // An index of a data stream is part of it only if the stream is named, too.
  const names = snapshots.flatMap((one) => [...one.data_streams, ...one.indices]);
  // A list without names would mean all indices.
  if (names.length > 0) {
    const wanted = {
      indices: names.join(","),
      include_global_state: false,
      ignore_index_settings: ignored,
      // The security plugin looks for a stream among the indices, and would refuse it.
      ignore_unavailable: true,
    };
    const path = `${snapshot}/_restore?wait_for_completion=true`;
    requireWhole("restored", await askOpensearch(place, "POST", path, wanted, signal));
    // The server opens what it restores.
    const closed = await closedIn(folder);
    for (const name of names.filter((one) => closed.has(one)))
      await askOpensearch(place, "POST", `/${encodeURIComponent(name)}/_close`);
  }
  for (const [path, template] of templates) await askOpensearch(place, "PUT", path, template);
  // The server deletes no snapshot from a repository that it only reads.
  await askOpensearch(place, "DELETE", repository);
  await rm(folder, { recursive: true, force: true });
}

/** Reads the templates of a backup. Throws unless they are templates and nothing else: they are put with all rights. */
export function readTemplates(text: string): Templates {
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value)) throw new Error("the templates of the backup are no list");
  return value.map((each: unknown) => {
    const pair: readonly unknown[] = Array.isArray(each) ? each : [];
    const [path, template] = pair;
    if (
      typeof path === "string" &&
      templatePath.test(path) &&
      typeof template === "object" &&
      template !== null
    )
      return [path, template] as const;
    throw new Error(`the backup has something else among its templates: ${JSON.stringify(path)}`);
  });
}

async function templatesIn(folder: string): Promise<Templates> {
  return readTemplates(await readFile(join(folder, templatesFile), "utf8"));
}

async function closedIn(folder: string): Promise<ReadonlySet<unknown>> {
  const closed: unknown = JSON.parse(await readFile(join(folder, closedFile), "utf8"));
  return new Set<unknown>(Array.isArray(closed) ? closed : []);
}

async function templatesOf(place: Place): Promise<Templates> {
  const all: (readonly [string, object])[] = [];
  for (const [path, list, content] of templateKinds) {
    const answer = JSON.parse(await askOpensearch(place, "GET", path)) as Readonly<
      Record<string, readonly Readonly<Record<string, object | string>>[]>
    >;
    for (const { name, [content]: template } of answer[list] ?? [])
      if (typeof name === "string" && typeof template === "object") all.push([pathOf(path, name), template]);
  }
  const old = JSON.parse(await askOpensearch(place, "GET", oldTemplates)) as Readonly<Record<string, object>>;
  for (const [name, template] of Object.entries(old)) all.push([pathOf(oldTemplates, name), template]);
  return all;
}

async function closedOf(place: Place): Promise<readonly string[]> {
  const path = "/_cat/indices?format=json&h=index,status&expand_wildcards=all";
  const all = JSON.parse(await askOpensearch(place, "GET", path)) as readonly {
    readonly index: string;
    readonly status: string;
  }[];
  return all.filter(({ status }) => status === "close").map(({ index }) => index);
}

const pathOf = (path: string, name: string): string => `${path}/${encodeURIComponent(name)}`;

function requireWhole(word: "made" | "restored", answer: string): void {
  const { total, successful } = (JSON.parse(answer) as Done).snapshot.shards;
  if (total === successful) return;
  throw new Error(`the backup cannot be ${word}: ${total - successful} of ${total} shards are damaged`);
}

/** Ends a snapshot that still runs, and removes it and its folder. */
async function forget(place: Place): Promise<void> {
  for (const path of [snapshot, repository]) await askOpensearch(place, "DELETE", path);
  await rm(snapshotsIn(place), { recursive: true, force: true });
}
