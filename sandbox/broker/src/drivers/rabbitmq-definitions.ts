/**
 * Backups of virtual hosts: their exchanges, queues, bindings, policies and parameters, and no messages. RabbitMQ cannot rename a virtual host, so
 * a restore tries the backup in a second one first. It then records what it is about to do, makes the virtual host again, and lets logins in last:
 * a broker that is killed meanwhile finishes that at its next start, and applications see the old definitions, a refusal, or the new ones.
 */
import { chmod, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { makeServerFolder, type postgres, readIfThere, writeOwn } from "@klutch/data-servers";
import type { Binding } from "../store.ts";
import { pack, unpack } from "./archive.ts";
import { loginOf, namesOf } from "../names.ts";

/** Calls the management API of a server that runs. */
export type Call = (method: string, path: string, body?: object) => Promise<string>;

/** A virtual host, and the folder that the broker has for it. */
export interface Host {
  readonly name: string;
  readonly home: string;
  readonly connectionLimit: number;
  readonly secretKey: string;
}

const sections = ["exchanges", "queues", "bindings", "policies", "parameters"] as const;
type Section = (typeof sections)[number];
type Definition = Readonly<Record<string, unknown>>;
/** The definitions of one virtual host. */
export type Definitions = Readonly<Record<Section, readonly Definition[]>>;

/** A restore that is decided and may not be carried out yet. */
interface Decided {
  readonly token: string;
  readonly bindings: readonly Binding[];
  readonly definitions: Definitions;
}

interface RestoreRecord {
  /** Tokens of finished restores, the newest last. */
  readonly restored: readonly string[];
  readonly decided?: Decided | undefined;
}

/** Names in the folder of a virtual host, and in a backup. */
const recordFile = "restores.json";
const unpackedFolder = "unpacked";
const definitionsFile = "definitions.json";
const keptTokens = 100;
/** The plan's limits are a parameter of the virtual host. They are those of now, and not of the backup. */
const limits = "vhost-limits";
const allRights = { configure: ".*", write: ".*", read: ".*" };

/** Makes the virtual host if it does not exist, and sets the limits of its plan. */
export async function makeHost(
  call: Call,
  { name, connectionLimit }: Pick<Host, "name" | "connectionLimit">,
): Promise<void> {
  await call("PUT", `/vhosts/${name}`, {});
  await call("PUT", `/${limits}/${name}/max-connections`, { value: connectionLimit });
  await call("PUT", `/${limits}/${name}/max-queues`, { value: 2 * connectionLimit });
}

/** Makes the login of a binding, or sets its password and rights again. */
export async function admit(call: Call, binding: Binding, secretKey: string): Promise<void> {
  const { username, password } = loginOf(binding, secretKey);
  await call("PUT", `/users/${username}`, { password, tags: "management" });
  await call("PUT", `/permissions/${namesOf(binding.instanceId).database}/${username}`, allRights);
}

/** Removes the virtual host, and what a killed broker left of a restore. */
export async function dropHost(call: Call, { name, home }: Pick<Host, "name" | "home">): Promise<void> {
  for (const each of [name, stagingOf(name)]) await call("DELETE", `/vhosts/${each}`);
  await rm(home, { recursive: true, force: true });
}

/** Writes the definitions of the virtual host to `to`. */
export async function backUpHost(
  call: Call,
  { name, home }: Host,
  to: Writable,
  signal: AbortSignal,
): Promise<void> {
  const definitions = readDefinitions(await call("GET", `/definitions/${name}`));
  await makeHome(home);
  await pack(
    home,
    (folder) => writeOwn(join(folder, definitionsFile), JSON.stringify(definitions)),
    to,
    signal,
  );
}

/** Replaces the definitions by those of a backup, once for each token. Throws when the server refuses them; then nothing has changed. */
export async function restoreHost(
  call: Call,
  host: Host,
  bindings: readonly Binding[],
  { token, open, signal, onStep }: postgres.RestoreOptions,
): Promise<void> {
  const record = await readRecord(host.home);
  if (record.restored.includes(token)) return;
  if (record.decided?.token !== token) {
    const definitions = await definitionsIn(host.home, { open, signal });
    await tryDefinitions(call, host, definitions);
    signal.throwIfAborted();
    await onStep?.("restore staged");
    await writeRecord(host.home, { ...record, decided: { token, bindings, definitions } });
    await onStep?.("restore swapped");
  }
  await finishRestore(call, host);
}

/** Carries out the restore that is decided, if there is one. Can be repeated after a crash. */
export async function finishRestore(call: Call, host: Host): Promise<void> {
  const { decided, restored } = await readRecord(host.home);
  if (decided === undefined) return;
  // It ends the sessions.
  await call("DELETE", `/vhosts/${host.name}`);
  await makeHost(call, host);
  await call("POST", `/definitions/${host.name}`, decided.definitions);
  for (const binding of decided.bindings) await admit(call, binding, host.secretKey);
  await writeRecord(host.home, { restored: [...restored, decided.token] });
}

/** Tells whether a restore is decided and not carried out. */
export async function isRestoring({ home }: Host): Promise<boolean> {
  return (await readRecord(home)).decided !== undefined;
}

/** Reads the server's answer, or a backup: only what one virtual host defines, wherever the text says that it belongs. Throws for anything else. */
export function readDefinitions(text: string): Definitions {
  const value: unknown = JSON.parse(text);
  const given = new Map<string, unknown>(Object.entries(value ?? {}));
  const read = (section: Section): readonly Definition[] => {
    const items: unknown = given.get(section);
    if (!Array.isArray(items))
      throw new Error(`these are no definitions of a virtual host: no list ${section}`);
    return items.map((item: unknown) => {
      if (typeof item !== "object" || item === null || Array.isArray(item))
        throw new Error(`these are no definitions of a virtual host: an entry of ${section} is no object`);
      const { vhost: _vhost, ...definition } = Object.fromEntries<unknown>(Object.entries(item));
      return definition;
    });
  };
  const [exchanges, queues, bindings, policies] = [
    read("exchanges"),
    read("queues"),
    read("bindings"),
    read("policies"),
  ];
  const parameters = read("parameters").filter(({ component }) => component !== limits);
  return { exchanges, queues, bindings, policies, parameters };
}

async function definitionsIn(home: string, dump: Parameters<typeof unpack>[1]): Promise<Definitions> {
  const folder = join(home, unpackedFolder);
  await makeHome(home);
  await rm(folder, { recursive: true, force: true });
  await makeServerFolder(folder);
  try {
    await unpack(folder, dump);
    return readDefinitions(await readFile(join(folder, definitionsFile), "utf8"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes a virtual host of the definitions, with the limits of the plan, and removes it. */
async function tryDefinitions(call: Call, host: Host, definitions: Definitions): Promise<void> {
  const staging = { ...host, name: stagingOf(host.name) };
  await call("DELETE", `/vhosts/${staging.name}`);
  try {
    await makeHost(call, staging);
    await call("POST", `/definitions/${staging.name}`, definitions);
  } finally {
    await call("DELETE", `/vhosts/${staging.name}`);
  }
}

/** The server's user passes through it to what it unpacks. */
async function makeHome(home: string): Promise<void> {
  await mkdir(home, { recursive: true });
  for (const folder of [join(home, ".."), home]) await chmod(folder, 0o711);
}

const stagingOf = (name: string): string => `${name}_staging`;

async function readRecord(home: string): Promise<RestoreRecord> {
  const text = await readIfThere(join(home, recordFile));
  return text === undefined ? { restored: [] } : (JSON.parse(text) as RestoreRecord);
}

async function writeRecord(home: string, { restored, decided }: RestoreRecord): Promise<void> {
  await writeOwn(join(home, recordFile), JSON.stringify({ restored: restored.slice(-keptTokens), decided }));
}
