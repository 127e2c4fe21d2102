/**
 * One seed of the simulation with an app cluster that means harm: it and another one share a provider, each with the real agent. The
 * other one's objects stay as its own people made them, and neither sees anything of the other.
 */
import { consumerNameAnnotation } from "@klutch/api";
import {
  type DynamicObject,
  isRecord,
  namespaces,
  recordAt,
  type ResourceType,
  secrets,
} from "@klutch/kube-core";
import type { ApiServerModel } from "@klutch/kube-testing";
import type { Tamper } from "./agent.ts";
import { simulatedApis } from "./apis.ts";
import { placeOf } from "./control-plane.ts";
import { reasonOf } from "./deeds.ts";
import { doLie } from "./hostile-tenant.ts";
import { misplaced, ProviderWords } from "./places.ts";
import { objectsOf, violations } from "./snapshot.ts";
import { type SimulationResult, Stage } from "./stage.ts";
import type { SimulatedTenant } from "./tenant.ts";
import { act, type Ledger, lostEdits } from "./users.ts";

const checkEveryMs = 2_000;
const quietLimitMs = 300_000;

/** Runs one seed to its end. The same seed takes the same course. `tamper` is for the liar's agent. */
export async function simulateTenant(
  seed: number,
  options: { readonly tamper?: Tamper | undefined } = {},
): Promise<SimulationResult> {
  const stage = new Stage(seed);
  const { client, clock, provider, random, record, say } = stage;
  const words = new ProviderWords(provider);
  const [liar, victim] = await stage.prepare(() => undefined);
  const agents = [liar, victim].map((tenant, before) =>
    stage.startAgent({
      tenant,
      number: before + 1,
      faults: stage.faults(before + 1),
      tamper: tenant === liar ? options.tamper : undefined,
      judge: (write) => {
        const { side, verb, type, namespace = "", name } = write;
        // The writes of the liar's agent in the liar's own cluster are the liar's own affair.
        const why = tenant === liar && side === "consumer" ? undefined : misplaced(tenant, write, words);
        if (why !== undefined) say(`${tenant.name}: ${why}`);
        if (side === "provider" && tenant === liar && namesOther(write.body, victim))
          say(`the liar's agent says that it is the other's: ${verb} ${type.plural} ${namespace}/${name}`);
      },
    }),
  );
  stage.startProvider({ next: 1 }, (error) => say(`a controller of the provider ended: ${String(error)}`));
  const ledger: Ledger = new Map();
  const liarsLedger: Ledger = new Map();
  const fixture = { liar, victim, client, provider, random };
  const refused = (error: unknown): string => `is refused: ${reasonOf(error, 160)}`;
  const check = (): void => seenAcross(liar, victim, provider).forEach(say);
  const trouble = stage.trouble(1_500, async () => {
    const choice = random();
    if (choice < 0.6) record(`the liar ${await doLie(fixture).catch(refused)}`);
    else if (choice < 0.9)
      record(`${victim.name}: ${await act(victim, ledger, clock, random).catch(refused)}`);
    else record(`${liar.name}: ${await act(liar, liarsLedger, clock, random).catch(refused)}`);
  });
  await clock.resolve(Promise.all([trouble, stage.watchOver(checkEveryMs, check)]));
  const open = (): readonly string[] => [
    ...lostEdits(victim, ledger),
    // The liar's statements about its own things are not the other's affair.
    ...violations(victim, [liar], stage, ` ${liar.namespace}-`),
  ];
  for (let passed = 0; passed < quietLimitMs && open().length > 0; passed += checkEveryMs)
    await clock.advance(checkEveryMs);
  for (const text of open()) say(`after the lies ended, ${text}`);
  check();
  await stage.end(agents);
  return stage.result();
}

/** Tells whether the written object bears a mark of ours that names the other tenant. */
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

/** Lists the objects of one tenant that are in the place of the other, in its cluster or on the provider. */
function seenAcross(liar: SimulatedTenant, victim: SimulatedTenant, provider: ApiServerModel): string[] {
  const types = [secrets, ...simulatedApis.map(({ type }) => type)];
  const onProvider = ({ namespace: tenant }: SimulatedTenant, type: ResourceType): readonly DynamicObject[] =>
    objectsOf(provider, type).filter(({ metadata: { namespace, name } }) => {
      const where = namespace ?? name ?? "";
      return where.startsWith(`${tenant}-`) || namespace === tenant;
    });
  const dataOf = (tenant: SimulatedTenant): readonly string[] =>
    onProvider(tenant, secrets).flatMap(({ data }) =>
      Object.values(recordAt(data)).filter((value) => typeof value === "string"),
    );
  const own = new Set(dataOf(liar));
  const victims = [
    `"by ${victim.name}"`,
    ...dataOf(victim).filter((value) => !own.has(value) && value.length > 8),
  ];
  const liars = ['"by the liar"', `"by ${liar.name}"`];
  const sides = [
    { tenant: liar, place: "liar's", texts: victims, whose: "other's" },
    { tenant: victim, place: "other's", texts: liars, whose: "liar's" },
  ];
  const seen = types.flatMap((type) =>
    sides.flatMap(({ tenant, place, texts, whose }) => {
      const found = (where: string, objects: readonly DynamicObject[]): string[] =>
        objects
          .filter((object) => shows(object, texts))
          .map(({ metadata }) => `${placeOf(type, metadata)} ${where} shows what is the ${whose}`);
      return [
        ...found(`in the ${place} cluster`, objectsOf(tenant.consumer, type)),
        ...found(`on the provider in the ${place} place`, onProvider(tenant, type)),
      ];
    }),
  );
  const strange = objectsOf(victim.consumer, namespaces)
    .map(({ metadata }) => metadata.name ?? "")
    .filter((name) => name.includes("liar"));
  return [...seen, ...strange.map((name) => `the other's cluster has a namespace ${name}`)];
}

/** Tells whether the object contains any of the texts. */
function shows(object: DynamicObject, texts: readonly string[]): boolean {
  const { managedFields: _fields, ...metadata } = object.metadata;
  const text = JSON.stringify({ ...object, metadata });
  return texts.some((one) => text.includes(one));
}
