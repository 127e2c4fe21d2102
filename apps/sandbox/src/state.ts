/** What is kept between starts besides the servers' own data: ports, so that kubeconfigs and URLs stay valid, and passwords. */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reservePorts } from "@klutch/engines";

const portNames = [
  "controlPlaneEtcd",
  "controlPlanePeer",
  "controlPlaneApi",
  "appAEtcd",
  "appAPeer",
  "appAApi",
  "appBEtcd",
  "appBPeer",
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
] as const;

/** Fixed ports by purpose. */
export type Ports = { readonly [K in (typeof portNames)[number]]: number };

/** Passwords and keys of the sandbox's own servers. */
export interface SandboxSecrets {
  readonly postgresPassword: string;
  readonly brokerPassword: string;
  readonly brokerKey: string;
  readonly oidcClientSecret: string;
  readonly cookieKey: string;
}

/** See the module comment. */
export interface SandboxState {
  readonly folder: string;
  readonly ports: Ports;
  readonly secrets: SandboxSecrets;
  /** Whether an earlier start left data here. */
  readonly isKept: boolean;
}

/** Loads the state, or makes a new one; `reset` throws the old one away. */
export async function openState(folder: string, reset: boolean): Promise<SandboxState> {
  if (reset) await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  // PostgreSQL runs as another user when the sandbox runs as root, and must be able to enter.
  await chmod(folder, 0o755);
  const file = join(folder, "sandbox.json");
  const kept = await readFile(file, "utf8").catch(() => undefined);
  if (kept !== undefined)
    return { folder, isKept: true, ...(JSON.parse(kept) as Pick<SandboxState, "ports" | "secrets">) };
  await using reserved = await reservePorts(portNames.length);
  const ports = Object.fromEntries(
    portNames.map((name, index) => [name, reserved.ports[index]]),
  ) as unknown as Ports;
  const secret = (): string => randomBytes(24).toString("base64url");
  const secrets = {
    postgresPassword: secret(),
    brokerPassword: secret(),
    brokerKey: randomBytes(32).toString("hex"),
    oidcClientSecret: secret(),
    cookieKey: randomBytes(32).toString("base64"),
  };
  await writeFile(file, JSON.stringify({ ports, secrets }, undefined, 2), { mode: 0o600 });
  return { folder, ports, secrets, isKept: false };
}
