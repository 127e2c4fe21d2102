/**
 * Checks the limits of a hostile provider: outside of bound kinds and accepted permission claims no byte goes to the provider, and no
 * write lands in the app cluster. It knows the promises, not how the agent keeps them.
 */
import { adoptedAnnotation, apiServiceBindings, claimedFromLabel, consumerNamespace } from "@klutch/api";
import { type KubeClient } from "@klutch/kube";
import { type ApiServerModel, namespaceObject, secretObject } from "@klutch/kube-testing";
import { type DynamicObject, events, isRecord, namespaces, secrets } from "@klutch/kube-core";
import type { AgentWrite } from "./agent.ts";
import { simulatedApis } from "./apis.ts";
import { forbiddenNamespaces, lonelyNamespace } from "./hostile-provider.ts";
import { kubeconfigSecret, misplaced, ProviderWords } from "./places.ts";
import { objectsOf } from "./snapshot.ts";
import type { Stage } from "./stage.ts";
import { type SimulatedTenant, workNamespaces } from "./tenant.ts";

/** The content of every Secret of the app clusters that is none of the provider's business. */
const canary = "the-canary-must-not-reach-the-provider";
const encoded = Buffer.from(canary).toString("base64");
const ownSecret = "own";

const crossingTypes = ["Opaque", "kubernetes.io/tls"];
const steering = /(kubernetes\.io\/(?!name$)|argocd|helm\.sh)/;
const own = /^klutch\.anynines\.com\//;
const control = /[\p{Cc}\u202a-\u202e]/u;

/** Puts Secrets into an app cluster that must stay there. */
export async function putCanaries(direct: KubeClient): Promise<void> {
  for (const name of ["klutch-system", lonelyNamespace])
    await direct.create(namespaces, namespaceObject(name));
  for (const namespace of [...forbiddenNamespaces, ...workNamespaces])
    await direct.create(secrets, secretObject(namespace, ownSecret, { kubeconfig: canary }));
}

/** Sees each write before it is made, and what both sides hold when it is asked; tells the stage what must not have been. */
export class HostileMonitor {
  readonly #stage: Stage;
  readonly #limit: number;
  readonly #words: ProviderWords;

  constructor(stage: Stage, limit: number) {
    this.#stage = stage;
    this.#limit = limit;
    this.#words = new ProviderWords(stage.provider);
  }

  /** The provider has done something. */
  noteProvider(): void {
    this.#words.note();
  }

  /** An agent is about to write. */
  wrote(tenant: SimulatedTenant, write: AgentWrite): void {
    const { side, verb, type, namespace, name, body } = write;
    const what = `${verb} ${type.plural} ${namespace ?? ""}/${name} on the ${side}`;
    const why = misplaced(tenant, write, this.#words);
    if (why !== undefined) this.#stage.say(why);
    if (side === "provider") {
      if (JSON.stringify(body ?? null).includes(encoded))
        this.#stage.say(`a secret of the app cluster goes to the provider: ${what}`);
      return;
    }
    const isBoundKind = simulatedApis.some((api) => api.type.plural === type.plural);
    if (!isBoundKind) return;
    if (verb === "delete") this.#stage.say(`a claim is deleted: ${what}`);
    if (verb !== "create" && isRecord(body) && body["spec"] !== undefined)
      this.#stage.say(`a claim is changed: ${what}`);
    if (verb === "create" && forbiddenNamespaces.includes(namespace ?? "") && namespace !== lonelyNamespace)
      this.#stage.say(`an object is brought to where it must not be: ${what}`);
  }

  /** Checks what one app cluster and the provider hold now. */
  check({ name: tenantName, consumer }: SimulatedTenant): void {
    const say = (text: string): void => this.#stage.say(`${tenantName}: ${text}`);
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
      if (count > this.#limit) say(`${count} copies in namespace ${namespace}, ${this.#limit} are allowed`);
    for (const { type } of simulatedApis)
      for (const object of objectsOf(consumer, type))
        if (object.metadata.annotations?.[adoptedAnnotation] === "true")
          checkKeys(object, (key) => say(`${type.plural} ${object.metadata.name ?? ""} brought ${key}`));
    this.#checkOwn(consumer, say);
    for (const event of objectsOf(consumer, events)) {
      const message = String(event["message"]);
      if (control.test(message) || control.test(String(event["reason"])) || message.length > 1024)
        say(`an event shows ${JSON.stringify(message.slice(0, 60))}`);
    }
    const onProvider = [secrets, ...simulatedApis.map(({ type }) => type)].flatMap((type) =>
      objectsOf(this.#stage.provider, type),
    );
    if (JSON.stringify(onProvider).includes(encoded)) say("a secret of the app cluster is on the provider");
  }

  /** Checks that the people's own objects in the app cluster are unchanged. */
  #checkOwn(consumer: ApiServerModel, say: (text: string) => void): void {
    const byKey = new Map(
      objectsOf(consumer, secrets).map((one) => [`${one.metadata.namespace}/${one.metadata.name}`, one]),
    );
    for (const namespace of [...forbiddenNamespaces, ...workNamespaces]) {
      const secret = byKey.get(`${namespace}/${ownSecret}`);
      const isSame = isRecord(secret?.["data"]) && secret["data"]["kubeconfig"] === encoded;
      if (!isSame || secret?.metadata.annotations !== undefined)
        say(`Secret ${namespace}/${ownSecret} was changed`);
    }
    if (!byKey.has(`${consumerNamespace}/${kubeconfigSecret}`)) say("the kubeconfig Secret is gone");
    if (objectsOf(consumer, apiServiceBindings).length !== simulatedApis.length) say("a binding is gone");
  }
}

function checkKeys({ metadata }: DynamicObject, say: (key: string) => void): void {
  const found = [...Object.keys(metadata.labels ?? {}), ...Object.keys(metadata.annotations ?? {})];
  for (const key of found) if (steering.test(key) && !own.test(key)) say(key);
}
