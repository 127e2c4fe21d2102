/**
 * One seed of the simulation with an app cluster that means harm: it and another one share a provider, each with the real agent. What
 * the other one has stays as its own people made it, and nothing of either is seen by the other.
 */
import { consumerNameAnnotation } from "@klutch/api";
import { isRecord, namespaces, recordAt, secrets } from "@klutch/kube-core";
import { ApiServerModel, seededFaults, seededRandom, VirtualClock } from "@klutch/kube-testing";
import { checkInvariants } from "@klutch/sync";
import { type SimulatedAgent, startAgent, type Tamper } from "./agent.ts";
import { simulatedApis } from "./apis.ts";
import { runProvider, serveNamespaces } from "./control-plane.ts";
import { doLie } from "./hostile-tenant.ts";
import { misplaced, ProviderWords } from "./places.ts";
import type { SimulationResult } from "./simulate.ts";
import { calm, lostEdits } from "./simulate-hostile.ts";
import { objectsOf, snapshotOf } from "./snapshot.ts";
import { createTenant, prepareProvider, type SimulatedTenant } from "./tenant.ts";
import { act, type Ledger } from "./users.ts";

const checkEveryMs = 2_000;
const troubleMs = 60_000;
const quietLimitMs = 300_000;

/** Runs one seed to its end. The same seed takes the same course. `tamper` is for the liar's agent. */
export async function simulateTenant(
  seed: number,
  options: { readonly tamper?: Tamper | undefined } = {},
): Promise<SimulationResult> {
  const clock = new VirtualClock({ tieBreak: seededRandom(seed + 1) });
  const provider = new ApiServerModel({ clock, uidSeed: seed * 10 });
  const client = provider.client({ clusterName: "the provider", user: "provider" });
  const stop = new AbortController();
  const story: string[] = [];
  const broken: string[] = [];
  const words = new ProviderWords(provider);
  let writes = 0;
  const at = (text: string): string => `${(clock.monotonic() / 1000).toFixed(3)} s: ${text}`;
  const record = (text: string): void => void story.push(at(text));
  const say = (text: string): void => void broken.push(at(text));
  const start = (tenant: SimulatedTenant, index: number): SimulatedAgent =>
    startAgent({
      tenant,
      provider,
      identity: `${tenant.name}-agent`,
      faults: seededFaults(seed * 100 + index, calm),
      clock,
      random: seededRandom(seed + index * 1_000),
      tamper: index === 1 ? options.tamper : undefined,
      onWrite: (write) => {
        writes++;
        const { side, verb, type, namespace = "", name } = write;
        record(`${tenant.name} sends ${verb} ${type.plural} ${namespace}/${name} to the ${side}`);
        // Where the liar's agent writes in the liar's own cluster is the liar's own affair.
        const why = index === 1 && side === "consumer" ? undefined : misplaced(tenant, write, words);
        if (why !== undefined) say(`${tenant.name}: ${why}`);
        if (side === "provider" && index === 1 && namesOther(write.body, victim))
          say(`the liar's agent says that it is the other's: ${verb} ${type.plural} ${namespace}/${name}`);
      },
    });
  const prepare = async (): Promise<readonly [SimulatedTenant, SimulatedTenant]> => {
    await prepareProvider(client);
    return [await createTenant(1, seed, clock, client), await createTenant(2, seed, clock, client)];
  };
  const [liar, victim] = await clock.resolve(prepare());
  const agents = [start(liar, 1), start(victim, 2)];
  const background = [
    serveNamespaces(client, clock, seededRandom(seed + 2), stop.signal),
    runProvider(client, clock, seededRandom(seed + 3), { next: 1 }, stop.signal),
  ];
  for (const work of background)
    work.catch((error: unknown) => say(`a controller of the provider ended: ${String(error)}`));
  const random = seededRandom(seed);
  const ledger: Ledger = new Map();
  const liarsLedger: Ledger = new Map();
  const world = { liar, victim, client, provider, random };
  const refused = (error: unknown): string =>
    `is refused: ${error instanceof Error ? error.message.slice(0, 160) : String(error)}`;
  const check = (): void => {
    for (const text of seenAcross(liar, victim, provider)) say(text);
  };
  const trouble = async (): Promise<void> => {
    const until = clock.monotonic() + troubleMs;
    while (clock.monotonic() < until) {
      const choice = random();
      if (choice < 0.6) record(`the liar ${await doLie(world).catch(refused)}`);
      else if (choice < 0.9)
        record(`${victim.name}: ${await act(victim, ledger, clock, random).catch(refused)}`);
      else record(`${liar.name}: ${await act(liar, liarsLedger, clock, random).catch(refused)}`);
      await clock.sleep(random() < 0.5 ? random() * 30 : random() * 1_500);
    }
  };
  const watchOver = async (): Promise<void> => {
    for (let passed = 0; passed < troubleMs; passed += checkEveryMs) {
      await clock.sleep(checkEveryMs);
      check();
    }
  };
  await clock.resolve(Promise.all([trouble(), watchOver()]));
  const open = (): readonly string[] => [
    ...lostEdits(victim, ledger),
    // What the liar says of its own things is not the other's affair.
    ...checkInvariants(snapshotOf(victim, [liar], provider, clock.now()))
      .filter(({ side, object }) => side !== "provider" || !object.includes(` ${liar.namespace}-`))
      .map(
        ({ invariant, side, object, message }) =>
          `${victim.name} ${invariant}: ${side} ${object}: ${message}`,
      ),
  ];
  for (let passed = 0; passed < quietLimitMs && open().length > 0; passed += checkEveryMs)
    await clock.advance(checkEveryMs);
  for (const text of open()) say(`after the lies ended, ${text}`);
  check();
  for (const agent of agents) {
    if (agent.failure() !== undefined) say(`${agent.identity} ended: ${String(agent.failure())}`);
    agent.kill();
  }
  stop.abort(new Error("the simulation ended"));
  await clock.advance(1_000);
  return { seed, broken: [...new Set(broken)], story, writes, lasted: clock.monotonic() };
}

/** Whether what is written bears a mark of ours that names the other tenant. */
function namesOther(body: unknown, other: SimulatedTenant): boolean {
  const metadata = recordAt(body, "metadata");
  return [metadata["annotations"], metadata["labels"]].some(
    (entries) =>
      isRecord(entries) &&
      Object.entries(entries).some(
        ([key, value]) =>
          key.startsWith("klutch.anynines.com/") &&
          // The name of a claim is what its people like.
          key !== consumerNameAnnotation &&
          String(value).startsWith(other.namespace),
      ),
  );
}

/** What of one tenant is seen in the place of the other, in its cluster or on the provider. */
function seenAcross(liar: SimulatedTenant, victim: SimulatedTenant, provider: ApiServerModel): string[] {
  const types = [secrets, ...simulatedApis.map(({ type }) => type)];
  const isOf = ({ namespace: tenant }: SimulatedTenant, namespace: string | undefined, name = ""): boolean =>
    namespace === undefined
      ? name.startsWith(`${tenant}-`)
      : namespace === tenant || namespace.startsWith(`${tenant}-`);
  const onProvider = (tenant: SimulatedTenant, type: (typeof types)[number]): ReturnType<typeof objectsOf> =>
    objectsOf(provider, type).filter(({ metadata }) => isOf(tenant, metadata.namespace, metadata.name));
  const dataOf = (tenant: SimulatedTenant): readonly string[] =>
    onProvider(tenant, secrets).flatMap(({ data }) =>
      Object.values(recordAt(data)).filter((value) => typeof value === "string"),
    );
  const own = new Set(dataOf(liar));
  const victims = [
    `"by ${victim.name}"`,
    ...dataOf(victim).filter((value) => !own.has(value) && value.length > 8),
  ];
  const found = (
    where: string,
    list: ReturnType<typeof objectsOf>,
    type: { readonly plural: string },
    texts: readonly string[],
    whose: string,
  ): string[] =>
    list.flatMap((object) => {
      const { managedFields: _fields, ...metadata } = object.metadata;
      const text = JSON.stringify({ ...object, metadata });
      return texts.some((one) => text.includes(one))
        ? [`${type.plural} ${metadata.namespace ?? ""}/${metadata.name} ${where} shows what is the ${whose}`]
        : [];
    });
  const liars = ['"by the liar"', `"by ${liar.name}"`];
  const seen = types.flatMap((type) => [
    ...found(`in the liar's cluster`, objectsOf(liar.consumer, type), type, victims, "other's"),
    ...found(`on the provider in the liar's place`, onProvider(liar, type), type, victims, "other's"),
    ...found(`in the other's cluster`, objectsOf(victim.consumer, type), type, liars, "liar's"),
    ...found(`on the provider in the other's place`, onProvider(victim, type), type, liars, "liar's"),
  ]);
  const strange = objectsOf(victim.consumer, namespaces)
    .map(({ metadata }) => metadata.name ?? "")
    .filter((name) => name.includes("liar"));
  return [...seen, ...strange.map((name) => `the other's cluster has a namespace ${name}`)];
}
