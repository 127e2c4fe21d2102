/** One chain: create, bind, write rows, back up, destroy the rows, restore, write more, delete. Kills come by its plan. */
import { setTimeout as sleep } from "node:timers/promises";
import { claimNameLabel } from "@klutch/api";
import { conditionsOf, type DynamicObject, findCondition, secrets, secretText } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { Client } from "pg";
import { type ClaimName, claimsOf, claimTypes } from "./claims.ts";
import { type ChainResult, leadsTo } from "./judge.ts";
import type { ChainPlan, Step } from "./plan.ts";
import { claimNamespace, type World } from "./world.ts";

const stepTimeoutMs = 600_000;
/** So long the restored rows are watched. */
const keepMs = 3_000;

/** Ends also when something is lost; says what. */
export async function runChain(world: World, plan: ChainPlan): Promise<ChainResult> {
  const began = performance.now();
  const chain = new Chain(world, plan);
  try {
    await chain.run();
  } catch (error) {
    chain.lost.push(error instanceof Error ? error.message : String(error));
  } finally {
    await chain.end();
  }
  const { lost, database } = chain;
  const formerIds = formerIdsOf(world, plan.name);
  return { name: plan.name, database, formerIds, lost, seconds: (performance.now() - began) / 1000 };
}

class Chain {
  readonly lost: string[] = [];
  database: string | undefined;
  readonly #world: World;
  readonly #plan: ChainPlan;
  readonly #claims: Readonly<Record<ClaimName, DynamicObject>>;
  readonly #strikes: Promise<void>[] = [];

  constructor(world: World, plan: ChainPlan) {
    this.#world = world;
    this.#plan = plan;
    this.#claims = claimsOf(plan.name);
  }

  async run(): Promise<void> {
    await this.#make("create", "instance");
    await this.#make("bind", "binding");
    const uri = await this.#uri();
    this.#lookAtSecrets();
    const { rows } = this.#plan;
    await sql(uri, "create table t as select i, md5(i::text) as word from generate_series(1, $1::int) i", [
      rows,
    ]);
    const written = await content(uri);
    await this.#make("backup", "backup");
    await sql(uri, "drop table t");
    await this.#make("restore", "restore");
    this.#expect("the rows of before the backup", await content(uri), written);
    await sql(uri, "insert into t values (0, 'after')");
    const later = await content(uri);
    this.#strike("keep");
    await sleep(keepMs);
    await Promise.all(this.#strikes);
    this.#expect("the rows of after the restore", await content(uri), later);
    await this.#delete();
  }

  async end(): Promise<void> {
    await Promise.all(this.#strikes);
  }

  /** Creates the claim and waits until it says that it is ready; from then on its word is taken. */
  async #make(step: Step, name: ClaimName): Promise<void> {
    const { client } = this.#world;
    const type = claimTypes[name];
    await client.create(type, this.#claims[name]);
    this.#strike(step);
    const isReady = async (): Promise<boolean> => {
      const conditions = conditionsOf(await client.get<DynamicObject>(type, this.#ref));
      if (findCondition(conditions, "Ready")?.status === "True") return true;
      throw new Error(JSON.stringify(conditions));
    };
    await waitFor(`${type.kind} to be ready`, isReady, { timeoutMs: stepTimeoutMs, intervalMs: 200 });
  }

  async #delete(): Promise<void> {
    const { client } = this.#world;
    const types = Object.values(claimTypes);
    // At once and in the wrong order: who needs whom is the provider's to know.
    for (const type of types) await client.delete(type, this.#ref);
    this.#strike("delete");
    for (const type of types) {
      const isGone = async (): Promise<boolean> => {
        const found = await client.find<DynamicObject>(type, this.#ref);
        if (found === undefined) return true;
        throw new Error(JSON.stringify(conditionsOf(found)));
      };
      await waitFor(`${type.kind} to be gone`, isGone, { timeoutMs: stepTimeoutMs, intervalMs: 200 });
    }
  }

  #strike(step: Step): void {
    for (const kill of this.#plan.kills.filter((one) => one.step === step)) {
      const struck = sleep(kill.afterMs).then(() => this.#world.killer.strike(kill));
      // It is awaited at the end, and may fail before that.
      struck.catch(() => undefined);
      this.#strikes.push(struck);
    }
  }

  async #uri(): Promise<string> {
    const ref = { namespace: claimNamespace, name: this.#secretName };
    const secret = await this.#world.client.get<DynamicObject>(secrets, ref);
    const uri = secretText(secret, "uri");
    if (uri === undefined) throw new Error(`Secret ${ref.name} has no key uri`);
    this.database = new URL(uri).pathname.slice(1);
    return uri;
  }

  /** Whoever mounts the Secret does not wait for Ready. */
  #lookAtSecrets(): void {
    const uris = this.#world.secrets.of(this.#secretName).map((secret) => secretText(secret, "uri"));
    const strange = uris.filter((uri) => !leadsTo(uri, this.database)).length;
    if (strange > 0) this.lost.push(`${strange} of ${uris.length} states of the Secret led elsewhere`);
  }

  #expect(what: string, seen: string, wanted: string): void {
    if (seen !== wanted) this.lost.push(`${what}: ${seen} instead of ${wanted}`);
  }

  get #secretName(): string {
    return `${this.#plan.name}-creds`;
  }

  get #ref(): { readonly namespace: string; readonly name: string } {
    return { namespace: claimNamespace, name: this.#plan.name };
  }
}

/** Several creates in a row may have lost their answers; the managed resource names one at a time. */
function formerIdsOf({ instances }: World, claim: string): readonly string[] {
  const states = instances.where(({ metadata }) => metadata.labels?.[claimNameLabel] === claim);
  const ids = states.map(
    ({ metadata }) => metadata.annotations?.["anynines.crossplane.io/former-instance-id"],
  );
  return [...new Set(ids.filter((id) => id !== undefined))];
}

/** As an application does it: one login, no second try. */
async function sql(
  uri: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: uri });
  // A login that ends, or a server that stops, ends the session; the query that runs then says so.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Readonly<Record<string, unknown>>>(statement, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** Number and digest of the rows. */
async function content(uri: string): Promise<string> {
  const text = "select count(*) || ' rows ' || md5(string_agg(i || word, ',' order by i)) as content from t";
  const [row] = await sql(uri, text);
  return String(row?.["content"]);
}
