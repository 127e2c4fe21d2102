/** Dex, as its configuration and as a process; its people log in by a password, and its keys and records are in memory. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RunningProcess, startProcess } from "./process.ts";
import { resolveEngine } from "./resolve.ts";

/** Password of all people, and its hash (bcrypt). */
export const dexPassword = "password";
const passwordHash = "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W";

/** Clients and people. */
export interface DexSettings {
  /** The confidential client that logs people in. */
  readonly client: { readonly id: string; readonly secret: string; readonly callbackUrl: string };
  /** Id of a public client for logins on another device. Default: there is none. */
  readonly deviceClient?: string | undefined;
  readonly people: readonly { readonly email: string; readonly username: string; readonly userID: string }[];
}

/** Returns the configuration. `web`: the listen options, in Dex' own words. */
export function dexConfig(issuer: string, web: object, settings: DexSettings): object {
  const { client, deviceClient, people } = settings;
  const { id, secret, callbackUrl } = client;
  return {
    issuer,
    storage: { type: "memory" },
    web,
    oauth2: { skipApprovalScreen: true },
    enablePasswordDB: true,
    staticClients: [
      { id, name: "Klutch", secret, redirectURIs: [callbackUrl] },
      ...(deviceClient === undefined
        ? []
        : [{ id: deviceClient, name: "Klutch on another device", public: true }]),
    ],
    staticPasswords: people.map((person) => ({ ...person, hash: passwordHash })),
  };
}

/** Returns the issuer of a Dex on this port of loopback. */
export function dexIssuer(port: number): string {
  return `http://127.0.0.1:${port}/dex`;
}

/** Starts it on this port with its files in the folder; one that comes back signs with other keys. */
export async function startDex(port: number, folder: string, settings: DexSettings): Promise<RunningProcess> {
  const issuer = dexIssuer(port);
  const config = join(folder, "dex.json");
  await writeFile(config, JSON.stringify(dexConfig(issuer, { http: `127.0.0.1:${port}` }, settings)));
  return startProcess({
    name: "dex",
    command: await resolveEngine("dex"),
    args: ["serve", config],
    logFile: join(folder, "dex.log"),
    ready: async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).ok,
  });
}
