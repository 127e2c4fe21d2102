/**
 * `npm run bench:rolling`: a whole sandbox in whose app cluster people apply and change claims of databases while one of its programs after
 * the other is told to end (SIGTERM) and comes back in its place, three times in each burst. `--claims 16`, `--only words` of the lines.
 */
import { join } from "node:path";
import { namespaces } from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { namespaceObject, waitFor } from "@klutch/kube-testing";
import { describeLoad } from "./harness/machine.ts";
import { runBenchmark } from "./harness/program.ts";
import { quantile, secondsText } from "./harness/statistics.ts";
import { childOf, runsApp } from "../e2e/children.ts";
import { instances } from "../e2e/claim-kinds.ts";
import { Ledger } from "../e2e/faults/chains/ledger.ts";
import { postgresUrl } from "../e2e/faults/chains/fixture.ts";
import { type OwnSandbox, startOwnSandbox } from "../e2e/own-sandbox.ts";
import { change, claimNamespace, create, type During, remove, type Seen } from "./rolling/burst.ts";

type Finder = (words: readonly string[]) => boolean;

const app =
  (name: string): Finder =>
  (words) =>
    runsApp(words, name);
const parts: readonly (readonly [title: string, find: Finder | undefined])[] = [
  ["nothing ends", undefined],
  ["provider", app("provider-anynines")],
  ["function", app("function-klutch")],
  ["Crossplane", ([program = "", command]) => program.endsWith("/crossplane") && command === "core"],
  ["backend", app("backend")],
  ["konnectors", app("konnector")],
];

async function main({ claims: count, only }: { claims: number; only: string }): Promise<boolean> {
  await using sandbox = await startOwnSandbox("rolling");
  await sandbox.bind(instances.plural);
  const client = await sandbox.client("app-a", { flowControl: false });
  await client.create(namespaces, namespaceObject(claimNamespace));
  const { folder } = sandbox;
  const places = { postgresUrl: await postgresUrl(folder), backupFolder: join(folder, "backups") };
  await using ledger = await Ledger.open(places);
  // The namespace's mapping and all first times.
  await create(client, ["warm"], async () => undefined);
  await remove(client, ["warm"]);
  console.log(`load ${describeLoad()}`);
  let isGood = true;
  for (const [title, find] of parts)
    if (only.split(",").some((word) => title.includes(word)))
      isGood = (await measure({ sandbox, client, ledger }, { title, find, count })) && isGood;
  return isGood;
}

interface Scene {
  readonly sandbox: OwnSandbox;
  readonly client: KubeClient;
  readonly ledger: Ledger;
}

interface Line {
  readonly title: string;
  readonly find: Finder | undefined;
  readonly count: number;
}

/** Prints one line. False when something was lost or made twice. */
async function measure({ sandbox, client, ledger }: Scene, { title, find, count }: Line): Promise<boolean> {
  const names = Array.from(
    { length: count },
    (_, index) => `${title.toLowerCase().replaceAll(" ", "-")}-${index}`,
  );
  const during: During = async (number) => {
    if (find === undefined || ![4, 8, 12].includes(number)) return;
    process.kill(await waitFor("the program to run", () => childOf(sandbox.pid, find)), "SIGTERM");
  };
  const known = (await ledger.entries()).length;
  const created = await create(client, names, during);
  const made = (await ledger.entries())
    .slice(known)
    .filter(({ table, did }) => table === "instances" && did === "INSERT");
  const changed = await change(client, names, during);
  await remove(client, names);
  const lost = [...created.lost, ...changed.lost];
  for (const one of lost) console.log(`lost: ${one}`);
  const double = made.length - count + created.failed;
  console.log(
    `${title}: ${2 * count} requests, ${created.failed + changed.failed} failed, ${lost.length} lost, ${double} made twice; ` +
      `created → ready ${waits(created)}; changed → ready ${waits(changed)}`,
  );
  return lost.length === 0 && double === 0;
}

function waits({ waits: all }: Seen): string {
  return `half ${secondsText(quantile(all, 0.5))}, longest ${secondsText(quantile(all, 1))}`;
}

process.exitCode = await runBenchmark({ claims: 16, only: "" }, main);
