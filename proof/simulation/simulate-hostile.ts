/**
 * One seed of the simulation with a provider that means harm: two app clusters, the real agent for each, people at work. Outside of bound
 * kinds and accepted permission claims no byte goes to the provider, and no write lands in the app cluster. The checks know the promises,
 * not how the agent keeps them.
 */
import {
  adoptedAnnotation,
  apiServiceBindings,
  claimedFromLabel,
  consumerNamespace,
  kubeconfigKey,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { type ApiServerModel, namespaceObject, secretObject, seededRandom } from "@klutch/kube-testing";
import {
  type DynamicObject,
  events,
  isRecord,
  namespaces,
  recordsAt,
  secrets,
  textAt,
} from "@klutch/kube-core";
import type { AgentWrite, Distort, SimulatedAgent } from "./agent.ts";
import { simulatedApis } from "./apis.ts";
import { reasonOf } from "./deeds.ts";
import { doHarm, endlessNow, forbiddenNamespaces, lieAbout, lonelyNamespace } from "./hostile-provider.ts";
import { misplaced, ProviderWords } from "./places.ts";
import { objectsOf } from "./snapshot.ts";
import { type SimulationResult, Stage } from "./stage.ts";
import { doForge } from "./taken-over.ts";
import { type SimulatedTenant, workNamespaces } from "./tenant.ts";
import { act, type Ledger, lostEdits } from "./users.ts";

export interface HostileOptions {
  /** Changes exports, too. Default true. */
  readonly withExports?: boolean | undefined;
  /** The first app cluster has an agent in foreign hands besides its own. Default false. */
  readonly takenOver?: boolean | undefined;
  /** For the healthy agents, to see that the checks notice a bad one. */
  readonly misread?: Distort | undefined;
}

const checkEveryMs = 5_000;
const quietMs = 30_000;
const providerObjectsLimit = 20;

interface Cluster {
  readonly tenant: SimulatedTenant;
  readonly ledger: Ledger;
  readonly agent: SimulatedAgent;
}

/** Runs one seed to its end. The same seed takes the same course. */
export async function simulateHostile(seed: number, options: HostileOptions = {}): Promise<SimulationResult> {
  const stage = new Stage(seed);
  const { client, clock, provider, random, record } = stage;
  const monitor = hostileMonitor(stage, providerObjectsLimit, options.takenOver);
  const clusters: Cluster[] = [];
  const tenants = await stage.prepare(async (tenant, index) => {
    await putCanaries(tenant.direct);
    const agent = stage.startAgent({
      tenant,
      number: index,
      faults: stage.faults(index),
      distort: lieAbout(seededRandom(seed + index * 2_000)),
      isEndless: endlessNow(seededRandom(seed + index * 3_000)),
      providerObjectsLimit,
      misread: options.misread,
      judge: (write) => monitor.wrote(tenant, write),
    });
    clusters.push({ tenant, ledger: new Map(), agent });
  });
  // Errors of a hostile provider's own controllers are its own affair.
  stage.startProvider({ next: 1 }, (error) => record(`a controller of the provider ended: ${String(error)}`));
  const fixture = { client, provider, tenants, random, withExports: options.withExports ?? true };
  const harm = async (): Promise<void> => {
    try {
      record(`the provider ${await doHarm(fixture)}`);
      monitor.noteProvider();
    } catch (error) {
      record(`the provider is refused: ${reasonOf(error, 120)}`);
    }
  };
  const [liar, victim] = tenants;
  const forge = async (): Promise<void> =>
    record(
      `the agent in foreign hands ${await doForge({ liar, victim, client, provider, random }).catch(reasonOf)}`,
    );
  const work = async (): Promise<void> => {
    const cluster = clusters[Math.floor(random() * clusters.length)];
    if (cluster === undefined) return;
    const { tenant, ledger } = cluster;
    const done = await act(tenant, ledger, clock, random).catch(
      (error: unknown) => `cannot work: ${reasonOf(error)}`,
    );
    record(`${tenant.name}: ${done}`);
  };
  const check = (): void => tenants.forEach((tenant) => monitor.check(tenant));
  const trouble = stage.trouble(1_500, () =>
    options.takenOver === true && random() < 0.4 ? forge() : random() < 0.6 ? harm() : work(),
  );
  await clock.resolve(Promise.all([trouble, stage.watchOver(checkEveryMs, check)]));
  await clock.advance(quietMs);
  check();
  // Bound objects are open to the hand of the agent.
  for (const { tenant, ledger } of clusters)
    if (tenant !== liar || options.takenOver !== true) lostEdits(tenant, ledger).forEach(stage.say);
  await stage.end(clusters.map(({ agent }) => agent));
  return stage.result();
}

/** The content of every Secret of the app clusters that is none of the provider's business. */
const canary = "the-canary-must-not-reach-the-provider";
const encoded = Buffer.from(canary).toString("base64");
const ownSecret = "own";

const crossingTypes = ["Opaque", "kubernetes.io/tls"];
const steering = /(kubernetes\.io\/(?!name$)|argocd|helm\.sh)/;
const own = /^klutch\.anynines\.com\//;
const control = /[\p{Cc}\u202a-\u202e]/u;

/** Puts Secrets into an app cluster that must stay there. */
async function putCanaries(direct: KubeClient): Promise<void> {
  for (const name of ["klutch-system", lonelyNamespace])
    await direct.create(namespaces, namespaceObject(name));
  for (const namespace of [...forbiddenNamespaces, ...workNamespaces])
    await direct.create(secrets, secretObject(namespace, ownSecret, { kubeconfig: canary }));
}

/** Sees each write before it is made, and what both sides hold when it is asked; tells the stage what must not have been. */
function hostileMonitor(stage: Stage, limit: number, takenOver = false) {
  const words = new ProviderWords(stage.provider);
  /** An agent is about to write. */
  const wrote = (tenant: SimulatedTenant, write: AgentWrite): void => {
    const { side, verb, type, namespace, name, body } = write;
    const what = `${verb} ${type.plural} ${namespace ?? ""}/${name} on the ${side}`;
    const why = misplaced(tenant, write, words);
    if (why !== undefined) stage.say(why);
    if (side === "provider") {
      if (JSON.stringify(body ?? null).includes(encoded))
        stage.say(`a secret of the app cluster goes to the provider: ${what}`);
      return;
    }
    if (type.plural === apiServiceBindings.plural && changesSpec(body))
      stage.say(`the agent changes what a person accepted: ${what}`);
    const isBoundKind = simulatedApis.some((api) => api.type.plural === type.plural);
    if (!isBoundKind) return;
    if (verb === "delete") stage.say(`a claim is deleted: ${what}`);
    if (verb !== "create" && changesSpec(body)) stage.say(`a claim is changed: ${what}`);
    if (verb === "create" && forbiddenNamespaces.includes(namespace ?? "") && namespace !== lonelyNamespace)
      stage.say(`an object is brought to where it must not be: ${what}`);
  };
  /** Checks what one app cluster and the provider hold now. */
  const check = ({ name: tenantName, consumer }: SimulatedTenant): void => {
    const say = (text: string): void => stage.say(`${tenantName}: ${text}`);
    const perNamespace = new Map<string, number>();
    for (const secret of objectsOf(consumer, secrets)) {
      const { namespace = "", name = "", labels } = secret.metadata;
      if (labels?.[claimedFromLabel] === undefined) continue;
      const what = `Secret ${namespace}/${name}`;
      perNamespace.set(namespace, (perNamespace.get(namespace) ?? 0) + 1);
      if (!workNamespaces.includes(namespace)) say(`${what} came to where nothing lives`);
      const type = secret["type"] ?? "Opaque";
      if (!crossingTypes.some((one) => one === type)) say(`${what} has the type ${JSON.stringify(type)}`);
      checkKeys(secret, (key) => say(`${what} brought ${key}`));
    }
    for (const [namespace, count] of perNamespace)
      if (count > limit) say(`${count} copies in namespace ${namespace}, ${limit} are allowed`);
    for (const { type } of simulatedApis)
      for (const object of objectsOf(consumer, type)) {
        for (const { reason, message } of recordsAt(object.status, "conditions"))
          if (control.test(`${textAt(reason)}${textAt(message)}`))
            say(`${type.plural} ${object.metadata.name ?? ""} shows ${JSON.stringify([reason, message])}`);
        // A hand in the app cluster marks claims as it likes.
        if (object.metadata.annotations?.[adoptedAnnotation] === "true" && !takenOver)
          checkKeys(object, (key) => say(`${type.plural} ${object.metadata.name ?? ""} brought ${key}`));
      }
    checkOwn(consumer, say);
    for (const event of objectsOf(consumer, events)) {
      const message = String(event["message"]);
      if (control.test(message) || control.test(String(event["reason"])) || message.length > 1024)
        say(`an event shows ${JSON.stringify(message.slice(0, 60))}`);
    }
    const onProvider = [secrets, ...simulatedApis.map(({ type }) => type)].flatMap((type) =>
      objectsOf(stage.provider, type),
    );
    if (JSON.stringify(onProvider).includes(encoded)) say("a secret of the app cluster is on the provider");
  };
  // The provider has done something.
  const noteProvider = (): void => words.note();
  return { wrote, check, noteProvider };
}

/** Returns true for a write of whole objects, of a merge patch or of operations that changes a spec. */
function changesSpec(body: unknown): boolean {
  if (Array.isArray(body)) return body.some((operation) => textAt(operation, "path")?.startsWith("/spec"));
  return isRecord(body) && body["spec"] !== undefined;
}

/** Checks that the people's own objects in the app cluster are unchanged. */
function checkOwn(consumer: ApiServerModel, say: (text: string) => void): void {
  const byKey = new Map(
    objectsOf(consumer, secrets).map((one) => [`${one.metadata.namespace}/${one.metadata.name}`, one]),
  );
  for (const namespace of [...forbiddenNamespaces, ...workNamespaces]) {
    const secret = byKey.get(`${namespace}/${ownSecret}`);
    const isSame = isRecord(secret?.["data"]) && secret["data"]["kubeconfig"] === encoded;
    if (!isSame || secret?.metadata.annotations !== undefined)
      say(`Secret ${namespace}/${ownSecret} was changed`);
  }
  if (!byKey.has(`${consumerNamespace}/${kubeconfigKey}`)) say("the kubeconfig Secret is gone");
  if (objectsOf(consumer, apiServiceBindings).length !== simulatedApis.length) say("a binding is gone");
}

function checkKeys({ metadata }: DynamicObject, say: (key: string) => void): void {
  const found = [...Object.keys(metadata.labels ?? {}), ...Object.keys(metadata.annotations ?? {})];
  for (const key of found) if (steering.test(key) && !own.test(key)) say(key);
}
