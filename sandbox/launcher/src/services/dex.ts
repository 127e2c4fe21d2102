/** Dex as identity provider, with one user. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { resolveEngine } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import { keepProcess } from "../supervise.ts";
import type { SandboxBase } from "../context.ts";

/** The sandbox's only user. The password guards nothing but this machine's loopback. */
export const sandboxUser = { email: "developer@example.com", password: "password" } as const;
/** bcrypt of the password above. */
const passwordHash = "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W";
const userID = "a3c9f5e2-0f0b-4c43-9f62-0c1f3b3f7d10";

/** Client id of the backend. */
export const oidcClientId = "klutch-backend";

/** Options that differ between instances of Dex. */
export interface DexOptions {
  readonly issuer: string;
  /** Listen options, in Dex' own words. */
  readonly web: Readonly<Record<string, string>>;
  readonly clientSecret: string;
  /** URL at which the backend is reached. */
  readonly backendUrl: string;
}

/** Returns Dex's configuration, with the sandbox's user and the backend as its client. */
export function dexConfig({ issuer, web, clientSecret, backendUrl }: DexOptions): object {
  return {
    issuer,
    storage: { type: "memory" },
    web,
    oauth2: { skipApprovalScreen: true },
    enablePasswordDB: true,
    staticClients: [
      { id: oidcClientId, name: "Klutch", secret: clientSecret, redirectURIs: [`${backendUrl}/callback`] },
    ],
    staticPasswords: [{ email: sandboxUser.email, hash: passwordHash, username: "developer", userID }],
  };
}

/** Starts Dex, and returns its issuer. */
export async function startDex(context: SandboxBase): Promise<string> {
  const { ports, secrets, folder } = context.state;
  const file = join(folder, "dex", "config.yaml");
  const issuer = `http://127.0.0.1:${ports.dex}/dex`;
  const config = dexConfig({
    issuer,
    web: { http: `127.0.0.1:${ports.dex}` },
    clientSecret: secrets.oidcClientSecret,
    backendUrl: `http://127.0.0.1:${ports.backend}`,
  });
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, formatYaml(config), { mode: 0o600 });
  await keepProcess(context, {
    name: "dex",
    command: await resolveEngine("dex"),
    args: ["serve", file],
    logFile: join(folder, "dex", "dex.log"),
    ready: `${issuer}/.well-known/openid-configuration`,
  });
  return issuer;
}
