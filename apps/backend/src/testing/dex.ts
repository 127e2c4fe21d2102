/** A real Dex with people that log in by a password; its keys and records are in memory. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { resolveEngine, type RunningProcess, startProcess } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import { type Landed, TestBrowser } from "./browser.ts";
import type { OidcClient } from "./identity-provider.ts";

/** Password of all people. */
export const dexPassword = "password";
/** People of Dex, by the name before the address. */
export const dexPeople = ["developer", "mallory"] as const;

/** Its public client for logins on another device. */
export const dexDeviceClient = "klutch-device";

/** One of its people. */
export type DexPerson = (typeof dexPeople)[number];

/** A Dex that is configured, not started. */
export interface Dex {
  readonly issuer: string;
  /** Starts it; a Dex that comes back signs with other keys. */
  readonly start: () => Promise<RunningProcess>;
}

/** Prepares it on this port; everything ends with the stack. */
export async function prepareDex(
  stack: AsyncDisposableStack,
  port: number,
  client: OidcClient,
): Promise<Dex> {
  const folder = await mkdtemp(join(tmpdir(), "klutch-dex-"));
  stack.defer(() => rm(folder, { recursive: true }));
  const issuer = `http://127.0.0.1:${port}/dex`;
  const config = join(folder, "config.yaml");
  await writeFile(
    config,
    formatYaml({
      issuer,
      storage: { type: "memory" },
      web: { http: `127.0.0.1:${port}` },
      oauth2: { skipApprovalScreen: true },
      enablePasswordDB: true,
      staticClients: [
        {
          id: client.id,
          name: "Klutch",
          secret: client.secret,
          redirectURIs: [client.callbackUrl],
        },
        { id: dexDeviceClient, name: "Klutch on another device", public: true },
      ],
      staticPasswords: dexPeople.map((username) => ({
        email: addressOf(username),
        hash: "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W",
        username,
        userID: `the-id-of-${username}`,
      })),
    }),
  );
  const command = await resolveEngine("dex");
  const start = async (): Promise<RunningProcess> =>
    stack.use(
      await startProcess({
        name: "dex",
        command,
        args: ["serve", config],
        logFile: join(folder, "dex.log"),
        ready: async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).ok,
      }),
    );
  return { issuer, start };
}

/** The verified address of a person. */
export function addressOf(person: DexPerson): string {
  return `${person}@example.com`;
}

/** Logs in as the person with the code on this page, in a browser of their own; gives back the last page, and every URL of the browser. */
export async function approveAtDex(
  page: string,
  userCode: string,
  person: DexPerson,
): Promise<{ readonly last: Landed; readonly visited: readonly string[] }> {
  const browser = new TestBrowser();
  const login = await browser.submit(await browser.go(page), "user_code", { user_code: userCode });
  const values = { login: addressOf(person), password: dexPassword };
  const last = await browser.submit(login, 'name="password"', values);
  return { last, visited: browser.visited };
}
