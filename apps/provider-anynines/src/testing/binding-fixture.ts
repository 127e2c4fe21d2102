/** The provider's controller of bindings in virtual time, against the model of an API server and a fake broker. It can crash at each effect. */
import { namespacedProviderConfigUsages, providerConfigUsages } from "@klutch/api";
import { keysOfManagedChange } from "@klutch/crossplane";
import type { KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  namespaces,
  recordAt,
  type Secret,
  secrets,
} from "@klutch/kube-core";
import { ApiServerModel, Effects, seededRandom, VirtualClock, withEffects } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { BackupCaches } from "../caches/backups.ts";
import { createCaches } from "../caches/instances.ts";
import { type ControllerParts, createBindingController } from "../controllers.ts";
import { criticalAnnotationNames } from "../records/annotations.ts";
import { clusterScopedKinds, refIn, type TestKinds } from "./kinds.ts";
import { MemoryBindings } from "./memory-bindings.ts";

const secretRef = { namespace: "team", name: "b-creds" };
const labels = { "crossplane.io/claim-name": "db", "crossplane.io/claim-namespace": "team" };

/** Processes run until it is disposed. */
export class BindingFixture implements AsyncDisposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly broker: MemoryBindings = new MemoryBindings();
  readonly effects: Effects;
  readonly user: KubeClient;
  /** Number of process starts. */
  starts = 0;
  readonly #kinds: TestKinds;
  readonly #server: ApiServerModel;
  readonly #running: { readonly stop: AbortController; readonly ended: Promise<unknown> }[] = [];

  /** `plan`: as of `Effects`. After each effect the login that the Secret has is looked at. */
  constructor(
    plan: ConstructorParameters<typeof Effects>[0] = new Map(),
    kinds: TestKinds = clusterScopedKinds,
  ) {
    this.#kinds = kinds;
    this.effects = new Effects(plan, async () => this.#checkLogin());
    this.#server = new ApiServerModel({ clock: this.clock, uidSeed: 1 });
    const { instances, bindings, configs } = kinds.types;
    for (const type of [instances, bindings, ...configs])
      this.#server.register({ type, statusSubresource: true });
    for (const type of [providerConfigUsages, namespacedProviderConfigUsages, secrets, namespaces])
      this.#server.register({ type, statusSubresource: false });
    this.user = this.#server.client({ clusterName: "user" });
  }

  /** Logins that the Secret had while they did not work, as far as it is watched. */
  readonly broken: string[] = [];
  /** From its being ready to its deletion a binding has a login that works. */
  isWatched = false;

  /** Events after a crash and before the next provider starts. */
  whileDown: () => Promise<void> = () => Promise.resolve();

  /** Starts the provider; when it crashes, the next one starts. */
  start(): void {
    this.starts++;
    const stop = new AbortController();
    const effect = this.effects.ofProcess(() => {
      stop.abort(new Error("crashed"));
      void this.whileDown().then(() => this.start());
    });
    const client = withEffects(this.#server.client({ clusterName: "provider" }), effect);
    const { clock } = this;
    const scope = this.#kinds.types;
    const common = { client, clock, logger: silentLogger, random: seededRandom(this.starts), scope };
    const caches = createCaches(common);
    const broker = this.broker.broker(effect);
    const parts: ControllerParts = {
      ...common,
      caches,
      // Empty: nothing is backed up here.
      backupCaches: new BackupCaches(common),
      brokers: { get: async () => ({ ...broker, [Symbol.asyncDispose]: async () => undefined }) },
      managers: { get: () => Promise.reject(new Error("there is no backup manager")) },
      usages: new Set(),
      workers: 1,
      pollIntervalMs: 60_000,
      confirmLossMs: 30_000,
      metrics: createMetrics(),
      onProblem: undefined,
      onMissing: () => undefined,
      notice: () => undefined,
      onLeft: () => undefined,
    };
    const bindings = createBindingController(parts);
    bindings.watch(caches.bindings, keysOfManagedChange(criticalAnnotationNames));
    const informers = [caches.instances, caches.bindings];
    for (const informer of informers) informer.start({ signal: stop.signal });
    const synced = Promise.all(informers.map((informer) => informer.whenSynced({ signal: stop.signal })));
    const ended = synced.then(() => bindings.start({ signal: stop.signal })).catch(() => undefined);
    this.#running.push({ stop, ended });
  }

  /** A ready instance and a binding of it, which is made when the provider runs. */
  async add(forProvider: object = {}, annotations?: Readonly<Record<string, string>>): Promise<void> {
    const apiVersion = "dataservices.anynines.com/v1";
    const providerConfigRef = { name: "postgresql-service-broker" };
    const { namespace: name } = secretRef;
    await this.user.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    const { instances, bindings } = this.#kinds.types;
    const instance: DynamicObject = {
      apiVersion,
      kind: "ServiceInstance",
      metadata: { name: "db", labels },
      spec: { providerConfigRef, forProvider: { serviceName: "service", planName: "plan" } },
    };
    await this.user.create<DynamicObject>(instances, this.#kinds.of(instance));
    const atProvider = { instanceId: "i", serviceId: "s", planId: "p", state: "provisioned" };
    const subresource = { subresource: "status" } as const;
    await this.user.mergePatch(instances, refIn(instances, "db"), { status: { atProvider } }, subresource);
    const binding: DynamicObject = {
      apiVersion,
      kind: "ServiceBinding",
      metadata: { name: "b", labels: { ...labels, "crossplane.io/claim-name": "b" }, annotations },
      spec: {
        providerConfigRef,
        forProvider: { instanceName: "db", acceptsIncomplete: true, ...forProvider },
        writeConnectionSecretToRef: secretRef,
      },
    };
    await this.user.create<DynamicObject>(bindings, this.#kinds.of(binding));
  }

  /** Changes fields under `spec.forProvider`; null removes one. */
  async edit(forProvider: object): Promise<void> {
    const { bindings } = this.#kinds.types;
    await this.user.mergePatch(bindings, refIn(bindings, "b"), { spec: { forProvider } });
  }

  async delete(): Promise<void> {
    this.isWatched = false;
    const { bindings } = this.#kinds.types;
    await this.user.delete(bindings, refIn(bindings, "b"));
  }

  binding(): Promise<DynamicObject | undefined> {
    const { bindings } = this.#kinds.types;
    return this.user.find<DynamicObject>(bindings, refIn(bindings, "b"));
  }

  /** `status reason`, and the message if there is one. */
  async condition(type: "Ready" | "Synced"): Promise<string> {
    const found = findCondition(conditionsOf(await this.binding()), type);
    return [found?.status, found?.reason, found?.message].filter((text) => text !== undefined).join(" ");
  }

  async rotation(): Promise<Readonly<Record<string, unknown>>> {
    return recordAt((await this.binding())?.status, "atProvider", "rotation");
  }

  /** The password that the Secret has. */
  async password(): Promise<string | undefined> {
    const data = (await this.user.find<Secret>(secrets, secretRef))?.data ?? {};
    return data["password"] === undefined ? undefined : Buffer.from(data["password"], "base64").toString();
  }

  /** Ends the provider; another one may take over. */
  async stop(): Promise<void> {
    for (const { stop } of this.#running) stop.abort(new Error("the test ended"));
    await this.clock.advance(0);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #checkLogin(): Promise<void> {
    const password = await this.password();
    if (password === undefined || !this.isWatched) return;
    if (![...this.broker.logins.values()].includes(password)) this.broken.push(password);
  }
}
