/** A real Dex with people that log in by a password; its keys and records are in memory. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiServiceExportTemplates } from "@klutch/api";
import { dexIssuer, dexPassword, reservePorts, type RunningProcess, startDex } from "@klutch/engines";
import { allowPeople, type BackendProcess, ruleOn } from "@klutch/kube-testing";
import { type Landed, TestBrowser } from "./browser.ts";
import type { OidcClient } from "./identity-provider.ts";
import { prepareReplicas, type ReplicaFixture } from "./replicas.ts";

/** People of Dex, by the name before the address. */
export const dexPeople = ["developer", "mallory", "operator"] as const;

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
  const people = dexPeople.map((username) => ({
    email: addressOf(username),
    username,
    userID: `the-id-of-${username}`,
  }));
  const settings = { client, deviceClient: dexDeviceClient, people };
  const start = async (): Promise<RunningProcess> => stack.use(await startDex(port, folder, settings));
  return { issuer: dexIssuer(port), start };
}

/**
 * Prepares replicas behind a Dex at which `developer` may bind everything, and starts two of them; the Service leads to the first. Flags of a third
 * are the same.
 */
export async function prepareDexReplicas(
  stack: AsyncDisposableStack,
  name: string,
): Promise<
  ReplicaFixture & {
    readonly flags: readonly string[];
    readonly replicas: readonly [BackendProcess, BackendProcess];
  }
> {
  const [port = 0] = stack.use(await reservePorts(1)).ports;
  const fixture = await prepareReplicas(stack, name, async (owner, oidc) => {
    const dex = await prepareDex(owner, port, oidc);
    await dex.start();
    return dex.issuer;
  });
  await allowPeople(fixture.cluster.client, "binds", ruleOn(apiServiceExportTemplates, ["bind"]), [
    ["User", `oidc:${addressOf("developer")}`],
  ]);
  const flags = [
    "--bind-authorization=rbac",
    "--oidc-username-claim=email",
    `--oidc-device-client-id=${dexDeviceClient}`,
  ];
  const replicas = await Promise.all([fixture.start("one", ...flags), fixture.start("two", ...flags)]);
  fixture.service.route(replicas[0].url);
  return { ...fixture, flags, replicas };
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

/** Returns the subject that Dex gives a person. */
export function subjectOf(person: DexPerson): string {
  const field = (tag: number, text: string): Buffer =>
    Buffer.concat([Buffer.from([tag, text.length]), Buffer.from(text)]);
  return Buffer.concat([field(0x0a, `the-id-of-${person}`), field(0x12, "local")]).toString("base64url");
}
