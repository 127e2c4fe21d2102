/** One chain: create, bind, write rows, back up, destroy the rows, restore, write more, delete. Kills come by its plan. */
import { setTimeout as sleep } from "node:timers/promises";
import { claimNameLabel } from "@klutch/api";
import { secrets, secretText } from "@klutch/kube-core";
import { backups, bindings, instances, nano, restores } from "../../claim-kinds.ts";
import { Claims, sql } from "../../claims.ts";
import { type ChainResult, leadsTo } from "./judge.ts";
import type { ChainPlan, Step } from "./plan.ts";
import { claimNamespace, type Fixture } from "./fixture.ts";

const claimTimeoutMs = 600_000;
/** Milliseconds for which programs may be killed before the restored rows are compared. */
const keepMs = 3_000;

/** Runs one chain. Resolves even if something is lost, and lists it in the result. */
export async function runChain(fixture: Fixture, { name, rows, kills }: ChainPlan): Promise<ChainResult> {
  const began = performance.now();
  const claims = new Claims(fixture.client, claimNamespace, claimTimeoutMs);
  const secretName = `${name}-creds`;
  const lost: string[] = [];
  const strikes: Promise<void>[] = [];
  let database: string | undefined;
  const strike = (step: Step): void => {
    for (const kill of kills.filter((one) => one.step === step)) {
      const struck = sleep(kill.afterMs).then(() => fixture.killer.strike(kill));
      // It is awaited at the end, and may fail before that.
      struck.catch(() => undefined);
      strikes.push(struck);
    }
  };
  /** Creates the claim and waits until it is Ready; the chain relies on that condition from then on. */
  const make = async (step: keyof typeof made): Promise<void> => {
    const [type, specOf] = made[step];
    await claims.create(type, name, specOf(name));
    strike(step);
    await claims.ready(type, name);
  };
  const expect = (what: string, seen: string, wanted: string): void => {
    if (seen !== wanted) lost.push(`${what}: ${seen} instead of ${wanted}`);
  };
  const run = async (): Promise<void> => {
    await make("create");
    await make("bind");
    const uri = secretText(await claims.find(secrets, secretName), "uri");
    if (uri === undefined) throw new Error(`Secret ${secretName} has no key uri`);
    database = new URL(uri).pathname.slice(1);
    // Every state of the Secret counts, because a pod that mounts it does not wait for Ready.
    const uris = fixture.secrets.of(secretName).map((secret) => secretText(secret, "uri"));
    const strange = uris.filter((one) => !leadsTo(one, database)).length;
    if (strange > 0) lost.push(`${strange} of ${uris.length} states of the Secret led elsewhere`);
    const table = "create table t as select i, md5(i::text) as word from generate_series(1, $1::int) i";
    await sql(uri, table, [rows]);
    const written = await content(uri);
    await make("backup");
    await sql(uri, "drop table t");
    await make("restore");
    expect("the rows of before the backup", await content(uri), written);
    await sql(uri, "insert into t values (0, 'after')");
    const later = await content(uri);
    strike("keep");
    await sleep(keepMs);
    await Promise.all(strikes);
    expect("the rows of after the restore", await content(uri), later);
    const types = Object.values(made).map(([type]) => type);
    // All are deleted at once and in the wrong order: the provider has to know which object needs which.
    for (const type of types) await fixture.client.delete(type, { namespace: claimNamespace, name });
    strike("delete");
    for (const type of types) await claims.gone(type, name);
  };
  await run().catch((error: unknown) => lost.push(error instanceof Error ? error.message : String(error)));
  await Promise.all(strikes);
  const seconds = (performance.now() - began) / 1000;
  return { name, database, ...namesOf(fixture, name), lost, seconds };
}

const ofInstance = (name: string): object => ({ instanceRef: name, serviceInstanceType: "postgresql" });

/** Names the claim of each step; a chain makes each once, under its own name. */
const made = {
  create: [instances, (): object => nano],
  bind: [bindings, ofInstance],
  backup: [backups, ofInstance],
  restore: [restores, (name: string): object => ({ ...ofInstance(name), backupRef: name })],
} as const;

/** Several creates in a row may have lost their answers; the managed resource names one at a time. */
function namesOf(
  { instances: managed }: Fixture,
  claim: string,
): Pick<ChainResult, "formerIds" | "managedUids"> {
  const states = managed.where(({ metadata }) => metadata.labels?.[claimNameLabel] === claim);
  const former = states.map(
    ({ metadata }) => metadata.annotations?.["anynines.crossplane.io/former-instance-id"],
  );
  return {
    formerIds: unique(former),
    managedUids: unique(states.map(({ metadata }) => metadata.uid)),
  };
}

function unique(ids: readonly (string | undefined)[]): readonly string[] {
  return [...new Set(ids.filter((id) => id !== undefined))];
}

/** Number and digest of the rows. */
async function content(uri: string): Promise<string> {
  const text = "select count(*) || ' rows ' || md5(string_agg(i || word, ',' order by i)) as content from t";
  const [row] = await sql(uri, text);
  return String(row?.["content"]);
}
