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
export async function runChain(fixture: Fixture, plan: ChainPlan): Promise<ChainResult> {
  const began = performance.now();
  const chain = new Chain(fixture, plan);
  try {
    await chain.run();
  } catch (error) {
    chain.lost.push(error instanceof Error ? error.message : String(error));
  } finally {
    await chain.end();
  }
  const { lost, database } = chain;
  const formerIds = formerIdsOf(fixture, plan.name);
  return { name: plan.name, database, formerIds, lost, seconds: (performance.now() - began) / 1000 };
}

class Chain {
  readonly lost: string[] = [];
  database: string | undefined;
  readonly #fixture: Fixture;
  readonly #plan: ChainPlan;
  readonly #claims: Claims;
  readonly #secretName: string;
  readonly #strikes: Promise<void>[] = [];

  constructor(fixture: Fixture, plan: ChainPlan) {
    this.#fixture = fixture;
    this.#plan = plan;
    this.#claims = new Claims(fixture.client, claimNamespace, claimTimeoutMs);
    this.#secretName = `${plan.name}-creds`;
  }

  async run(): Promise<void> {
    const { rows } = this.#plan;
    await this.#make("create");
    await this.#make("bind");
    const uri = await this.#uri();
    this.#lookAtSecrets();
    await sql(uri, "create table t as select i, md5(i::text) as word from generate_series(1, $1::int) i", [
      rows,
    ]);
    const written = await content(uri);
    await this.#make("backup");
    await sql(uri, "drop table t");
    await this.#make("restore");
    this.#expect("the rows of before the backup", await content(uri), written);
    await sql(uri, "insert into t values (0, 'after')");
    const later = await content(uri);
    this.#strike("keep");
    await sleep(keepMs);
    await this.end();
    this.#expect("the rows of after the restore", await content(uri), later);
    await this.#delete();
  }

  async end(): Promise<void> {
    await Promise.all(this.#strikes);
  }

  /** Creates the claim and waits until it is Ready; the chain relies on that condition from then on. */
  async #make(step: keyof typeof made): Promise<void> {
    const { name } = this.#plan;
    const [type, specOf] = made[step];
    await this.#claims.create(type, name, specOf(name));
    this.#strike(step);
    await this.#claims.ready(type, name);
  }

  async #delete(): Promise<void> {
    const { name } = this.#plan;
    const types = Object.values(made).map(([type]) => type);
    // All are deleted at once and in the wrong order: the provider has to know which object needs which.
    for (const type of types) await this.#fixture.client.delete(type, { namespace: claimNamespace, name });
    this.#strike("delete");
    for (const type of types) await this.#claims.gone(type, name);
  }

  #strike(step: Step): void {
    for (const kill of this.#plan.kills.filter((one) => one.step === step)) {
      const struck = sleep(kill.afterMs).then(() => this.#fixture.killer.strike(kill));
      // It is awaited at the end, and may fail before that.
      struck.catch(() => undefined);
      this.#strikes.push(struck);
    }
  }

  async #uri(): Promise<string> {
    const secret = await this.#claims.find(secrets, this.#secretName);
    const uri = secretText(secret, "uri");
    if (uri === undefined) throw new Error(`Secret ${this.#secretName} has no key uri`);
    this.database = new URL(uri).pathname.slice(1);
    return uri;
  }

  /** Checks every state of the Secret, because a pod that mounts it does not wait for Ready. */
  #lookAtSecrets(): void {
    const uris = this.#fixture.secrets.of(this.#secretName).map((secret) => secretText(secret, "uri"));
    const strange = uris.filter((uri) => !leadsTo(uri, this.database)).length;
    if (strange > 0) this.lost.push(`${strange} of ${uris.length} states of the Secret led elsewhere`);
  }

  #expect(what: string, seen: string, wanted: string): void {
    if (seen !== wanted) this.lost.push(`${what}: ${seen} instead of ${wanted}`);
  }
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
function formerIdsOf({ instances: managed }: Fixture, claim: string): readonly string[] {
  const states = managed.where(({ metadata }) => metadata.labels?.[claimNameLabel] === claim);
  const ids = states.map(
    ({ metadata }) => metadata.annotations?.["anynines.crossplane.io/former-instance-id"],
  );
  return [...new Set(ids.filter((id) => id !== undefined))];
}

/** Number and digest of the rows. */
async function content(uri: string): Promise<string> {
  const text = "select count(*) || ' rows ' || md5(string_agg(i || word, ',' order by i)) as content from t";
  const [row] = await sql(uri, text);
  return String(row?.["content"]);
}
