/** Keeps state between starts besides the servers' own data: ports, so that kubeconfigs and URLs stay valid, and passwords. */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { removeDataHome, reservePort, reservePorts, tryFileLock } from "@klutch/engines";
import { isRecord, textAt, valueAt } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";

const portNames = [
  "controlPlaneApi",
  "appAApi",
  "appBApi",
  "crossplaneMetrics",
  "crossplaneProbe",
  "crossplaneWebhook",
  "function",
  "providerProbe",
  "registry",
  "dex",
  "postgres",
  "broker",
  "backend",
  "backendProbe",
  "app-a konnector-0",
  "app-a konnector-1",
  "app-b konnector-0",
  "app-b konnector-1",
] as const;

/** Fixed ports by purpose. */
export type Ports = Readonly<Record<(typeof portNames)[number], number>>;

/** Passwords and keys of the sandbox's own servers. */
export type SandboxSecrets = Readonly<
  Record<"postgresPassword" | "brokerPassword" | "brokerKey" | "oidcClientSecret" | "cookieKey", string>
>;

/** Folder and content of the state. The same folder gives the same ports and passwords. */
export interface State {
  readonly folder: string;
  readonly ports: Ports;
  readonly secrets: SandboxSecrets;
  /** True if an earlier start left data here. */
  readonly isKept: boolean;
}

const stateFile = "sandbox.json";
const lockFile = "sandbox.mutex";
const remedy = "--reset deletes it and starts with an empty state";
/** Servers of a sandbox that was killed end by themselves within this time. */
const portsFreeWithinMs = 8_000;

/**
 * Loads the state, or makes a new one; `reset` throws the old one away. What an older version did not keep yet is added. The folder is
 * ours until the stack is disposed: throws when another sandbox uses it, or when another program took one of its ports.
 */
export async function openState(folder: string, reset: boolean, stack: AsyncDisposableStack): Promise<State> {
  await makeFolder(folder);
  const lock = await tryFileLock(join(folder, lockFile));
  if (lock === undefined)
    throw new Error(`another sandbox runs with ${folder}; stop it, or use another folder with --dir`);
  stack.use(lock);
  if (reset) await empty(folder);
  const kept = await readKept(join(folder, stateFile));
  const ports = await takePorts(kept?.["ports"], stack);
  const secrets = completeSecrets(kept?.["secrets"]);
  const fresh = join(folder, `${stateFile}.new`);
  await writeFile(fresh, JSON.stringify({ ports, secrets }, undefined, 2), { mode: 0o600 });
  await rename(fresh, join(folder, stateFile));
  return { folder, ports, secrets, isKept: kept !== undefined };
}

/** Restricts the folder to this user, because it holds passwords and keys. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o700);
  } catch (cause) {
    const text = `cannot use ${folder} for the sandbox's data: ${String(cause)}; name a folder of your own with --dir`;
    throw new Error(text, { cause });
  }
}

async function empty(folder: string): Promise<void> {
  for (const home of dataHomes(folder)) await removeDataHome(home);
  for (const name of await readdir(folder))
    if (!name.startsWith(lockFile)) await rm(join(folder, name), { recursive: true, force: true });
}

/** Returns the folder with the data of PostgreSQL, or a link to it. */
export const postgresFolder = (folder: string): string => join(folder, "postgres");

/** Returns the folder in which the broker keeps the servers of single instances, or a link to it. */
export const serversFolder = (folder: string): string => join(folder, "servers");

/** Returns all data of a sandbox that root may have had to keep elsewhere; `removeDataHome` removes each. */
export const dataHomes = (of: string): readonly string[] => [postgresFolder(of), serversFolder(of)];

async function readKept(file: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {
    // Text that is no JSON is no state either.
  }
  throw new Error(`${file} is no state of a sandbox; ${remedy}`);
}

/**
 * Returns the kept ports, and new ones for those that are missing. They stay reserved until the stack is disposed: most servers begin to listen a
 * minute later.
 */
async function takePorts(kept: unknown, stack: AsyncDisposableStack): Promise<Ports> {
  const known = portNames.filter((name) => valueAt(kept, name) !== undefined);
  const ports = Object.fromEntries(known.map((name) => [name, valueAt(kept, name)]));
  if (!areNumbers(ports)) throw new Error(`the kept state has an invalid port; ${remedy}`);
  await reserveKept(ports, stack);
  const missing = portNames.filter((name) => !known.includes(name));
  const reserved = stack.use(await reservePorts(missing.length));
  const added = Object.fromEntries(missing.map((name, index) => [name, reserved.ports[index]]));
  return { ...ports, ...added } as Ports;
}

function areNumbers(values: Readonly<Record<string, unknown>>): values is Readonly<Record<string, number>> {
  return Object.values(values).every(Number.isInteger);
}

/** Returns the kept secrets, and new ones for those that are missing. Default: all are new. */
export function completeSecrets(kept?: unknown): SandboxSecrets {
  const secret = (name: keyof SandboxSecrets, encoding: BufferEncoding): string =>
    textAt(kept, name) ?? randomBytes(32).toString(encoding);
  return {
    postgresPassword: secret("postgresPassword", "base64url"),
    brokerPassword: secret("brokerPassword", "base64url"),
    brokerKey: secret("brokerKey", "hex"),
    oidcClientSecret: secret("oidcClientSecret", "base64url"),
    cookieKey: secret("cookieKey", "base64"),
  };
}

/** Waits for servers of a sandbox that was killed. Throws when another program has one of the ports. */
async function reserveKept(
  ports: Readonly<Record<string, number>>,
  stack: AsyncDisposableStack,
): Promise<void> {
  let left = Object.entries(ports);
  const areOurs = async (): Promise<boolean> => {
    const tries = await Promise.all(left.map(([, port]) => reservePort(port)));
    for (const reserved of tries) if (reserved !== undefined) stack.use(reserved);
    left = left.filter((_, index) => tries[index] === undefined);
    return left.length === 0;
  };
  const options = { timeoutMs: portsFreeWithinMs };
  await waitFor("the sandbox's ports to be free", areOurs, options).catch((cause: unknown) => {
    const uses = left.map(([name, port]) => `${port} (${name})`).join(", ");
    const problem = `another program uses port ${uses} on loopback`;
    throw new Error(`${problem}; stop it, or choose new ports with --reset`, { cause });
  });
}
