/** Data servers without a broker's HTTP around them. */
import assert from "node:assert/strict";
import { chmod, mkdtemp, readdir, readFile, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OnDemandService } from "@klutch/engines";
import { type Logger, silentLogger } from "@klutch/telemetry";
import { plans } from "../catalog.ts";
import { openMessaging, openServers } from "../broker.ts";
import type { MessagingDriver } from "../drivers/messaging.ts";
import type { OwnServers } from "../drivers/own-servers.ts";
import type { Parameters } from "../drivers/parameters.ts";
import type { Binding, Instance } from "../store.ts";

/** A folder that the servers' user can enter; it goes with the block. */
export async function openFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "klutch-servers-"));
  await chmod(path, 0o755);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** The broker's key, of which all passwords follow. */
export const secretKey = "0123456789abcdef0123456789abcdef";

/** The drivers of servers in a folder; disposing ends all servers at once, as a crash would. */
export interface TestServers extends AsyncDisposable {
  readonly mariadb: OwnServers;
  readonly keyvalue: OwnServers;
  readonly objectstorage: OwnServers;
}

/** Opens servers of all kinds in a folder. */
export async function serversIn(
  folder: string,
  options: { readonly logger?: Logger; readonly diskEveryMs?: number } = {},
): Promise<TestServers> {
  const drivers = await openServers({
    folder: join(folder, "servers"),
    secretKey,
    logger: options.logger ?? silentLogger,
    diskEveryMs: options.diskEveryMs,
  });
  const [mariadb, keyvalue, objectstorage] = ["mariadb", "keyvalue", "objectstorage"].map((type) =>
    drivers.find((one) => one.kind.type === type),
  );
  assert.ok(mariadb !== undefined && keyvalue !== undefined && objectstorage !== undefined);
  return {
    mariadb,
    keyvalue,
    objectstorage,
    async [Symbol.asyncDispose]() {
      await Promise.all(drivers.map((driver) => driver[Symbol.asyncDispose]()));
    },
  };
}

/** Opens the driver of a service that is offered when it is asked for. */
export async function serversOf(folder: string, type: OnDemandService): Promise<OwnServers> {
  const drivers = await openServers({
    folder: join(folder, "servers"),
    secretKey,
    logger: silentLogger,
    diskEveryMs: 200,
    services: [type],
  });
  const found = drivers.find((one) => one.kind.type === type);
  assert.ok(found !== undefined, type);
  return found;
}

/** Opens the driver of messaging. */
export async function messagingIn(folder: string): Promise<MessagingDriver> {
  const [driver] = await openMessaging({
    folder: join(folder, "servers"),
    secretKey,
    logger: silentLogger,
    services: ["messaging"],
  });
  assert.ok(driver !== undefined);
  return driver;
}

/** An instance as the store has it while it is provisioned. */
export function instanceOf(id: string, planName: string, parameters: Parameters = {}): Instance {
  const plan = plans.find(({ name }) => name === planName);
  assert.ok(plan !== undefined, planName);
  return {
    id,
    planId: plan.id,
    parameters,
    operation: "provision",
    state: "in progress",
    description: "",
    restoring: false,
  };
}

/** Returns the process id of the server that lives in the folder: it works in a folder of its data. */
export async function pidIn(home: string): Promise<number> {
  for (const pid of (await readdir("/proc")).map(Number).filter((each) => each > 1)) {
    const folder = await readlink(`/proc/${pid}/cwd`).catch(() => "");
    const program = await readlink(`/proc/${pid}/exe`).catch(() => "");
    if (
      folder.startsWith(`${home}/`) &&
      /\/(?:mariadbd|redis-|programs\/|prometheus$|beam|java$)/.test(program)
    )
      return pid;
  }
  throw new Error(`no server works in ${home}`);
}

/** Returns the memory that a process has, in MiB. */
export async function memoryMiBOf(pid: number): Promise<number> {
  const [, kib] = /^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kib) / 1024);
}

export function bindingOf(instance: Instance, id: string): Binding {
  return { instanceId: instance.id, id, salt: `salt of ${id}` };
}
