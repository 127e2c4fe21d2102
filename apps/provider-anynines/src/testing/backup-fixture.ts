/**
 * The provider's controllers of backups and restores in virtual time, against the model of an API server and a fake backup manager. The
 * process can end at each effect; another one is started at once.
 */
import { namespacedProviderConfigUsages, providerConfigUsages, usageLedgers } from "@klutch/api";
import type { BackupManagerClient } from "@klutch/backup-manager";
import type { KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  namespaces,
  type ResourceType,
} from "@klutch/kube-core";
import { ApiServerModel, Effects, seededRandom, VirtualClock, withEffects } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { BackupCaches } from "../caches/backups.ts";
import { watchManaged } from "../wakes.ts";
import { createCaches } from "../caches/instances.ts";
import {
  type ControllerParts,
  createBackupController,
  createBindingController,
  createInstanceController,
  createRestoreController,
} from "../controllers.ts";
import { clusterScopedKinds, refIn, team, type TestKinds } from "./kinds.ts";
import { MemoryManager } from "./memory-manager.ts";
import { memoryBrokers } from "./memory-broker.ts";

const managerConfig = "postgresql-backup-manager";

/** Everything that one test needs; processes run until it is disposed. */
export class BackupFixture implements AsyncDisposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly server: ApiServerModel;
  readonly manager: MemoryManager;
  /** By names of their ProviderConfigs; every other name is that of `manager`. */
  readonly managers: Map<string, BackupManagerClient> = new Map();
  readonly effects: Effects;
  /** The user. */
  readonly user: KubeClient;
  /** Messages of the provider for people. */
  readonly notices: string[] = [];
  /** The kinds of its scope. */
  readonly types: TestKinds["types"];
  /** Number of process starts. */
  starts = 0;
  readonly #kinds: TestKinds;
  readonly #running: { readonly stop: AbortController; readonly ended: Promise<unknown> }[] = [];

  constructor(effects: Effects = new Effects(), kinds: TestKinds = clusterScopedKinds) {
    this.effects = effects;
    this.#kinds = kinds;
    this.types = kinds.types;
    this.server = new ApiServerModel({ clock: this.clock, uidSeed: 1 });
    const { configs, ...managed } = this.types;
    for (const type of [...Object.values<ResourceType>(managed), ...configs])
      this.server.register({ type, statusSubresource: true });
    for (const type of [providerConfigUsages, namespacedProviderConfigUsages, usageLedgers])
      this.server.register({ type, statusSubresource: false });
    this.manager = new MemoryManager(this.clock);
    this.user = this.server.client({ clusterName: "user" });
  }

  /** Starts the provider; when it crashes, the next one starts. */
  start(): void {
    this.starts++;
    const stop = new AbortController();
    const effect = this.effects.ofProcess(() => {
      stop.abort(new Error("crashed"));
      this.start();
    });
    const client = withEffects(this.server.client({ clusterName: "provider" }), effect);
    const { clock } = this;
    const random = seededRandom(this.starts);
    const logger = silentLogger;
    const scope = this.types;
    const caches = createCaches({ client, logger, clock, random, scope });
    const backupCaches = new BackupCaches({ client, logger, clock, random, scope });
    const manager = this.manager.client(effect);
    const parts: ControllerParts = {
      client,
      caches,
      backupCaches,
      brokers: memoryBrokers,
      managers: { get: async (name) => this.managers.get(name) ?? manager },
      usages: new Set(),
      workers: 2,
      pollIntervalMs: 60_000,
      confirmLossMs: 30_000,
      clock,
      random,
      logger,
      metrics: createMetrics(),
      onProblem: undefined,
      onMissing: () => undefined,
      onLeft: () => undefined,
      notice: (_about, message) => void this.notices.push(message),
    };
    const controllers = {
      instances: createInstanceController(parts),
      bindings: createBindingController(parts),
      backups: createBackupController(parts),
      restores: createRestoreController(parts),
    };
    watchManaged(parts, controllers);
    const informers = [caches.instances, caches.bindings, backupCaches.backups, backupCaches.restores];
    for (const informer of informers) informer.start({ signal: stop.signal });
    const synced = Promise.all(informers.map((informer) => informer.whenSynced({ signal: stop.signal })));
    const ended = synced
      .then(() => Promise.all(Object.values(controllers).map((one) => one.start({ signal: stop.signal }))))
      .catch(() => undefined);
    this.#running.push({ stop, ended });
  }

  /** Ends the provider until the next `start`. */
  async pause(): Promise<void> {
    for (const { stop } of this.#running.splice(0)) stop.abort(new Error("paused"));
    await this.clock.advance(0);
  }

  /** An instance that is ready, with rows. */
  async addInstance(name = "db", id = `${name}-id`, changes: ManagedChanges = {}): Promise<void> {
    this.manager.rows.set(id, "rows");
    if ((await this.user.find(namespaces, { name: team })) === undefined)
      await this.user.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: team } });
    await this.#create(this.types.instances, {
      ...managed("ServiceInstance", name, changes),
      spec: {
        providerConfigRef: { name: "postgresql-service-broker" },
        forProvider: { acceptsIncomplete: true, serviceName: "service", planName: "plan" },
      },
    });
    const atProvider = { instanceId: id, serviceId: "s", planId: "p", state: "provisioned" };
    await this.setStatus(this.types.instances, name, atProvider);
  }

  async addBackup(name: string, changes: ManagedChanges = {}): Promise<void> {
    await this.#create(this.types.backups, {
      ...managed("Backup", name, changes),
      spec: {
        providerConfigRef: { name: managerConfig },
        forProvider: { instanceName: "db", ...changes.forProvider },
        ...changes.spec,
      },
    });
  }

  async addRestore(name: string, changes: ManagedChanges = {}): Promise<void> {
    await this.#create(this.types.restores, {
      ...managed("Restore", name, changes),
      spec: {
        providerConfigRef: { name: managerConfig },
        forProvider: { backupName: "b", ...changes.forProvider },
        ...changes.spec,
      },
    });
  }

  async addBinding(name: string): Promise<void> {
    await this.#create(this.types.bindings, {
      ...managed("ServiceBinding", name),
      spec: {
        providerConfigRef: { name: "postgresql-service-broker" },
        forProvider: { instanceName: "db", acceptsIncomplete: true },
      },
    });
  }

  /** As another provider left it. */
  async setStatus(type: ResourceType, name: string, atProvider: object): Promise<void> {
    const subresource = { subresource: "status" } as const;
    await this.user.mergePatch(type, refIn(type, name), { status: { atProvider } }, subresource);
  }

  /** `status reason`, and the message if there is one, of a condition; empty without it. */
  async condition(
    type: ResourceType,
    name: string,
    condition: "Ready" | "Synced" = "Ready",
  ): Promise<string> {
    const object = await this.find(type, name);
    const found = findCondition(conditionsOf(object), condition);
    return [found?.status, found?.reason, found?.message].filter((text) => text !== undefined).join(" ");
  }

  find(type: ResourceType, name: string): Promise<DynamicObject | undefined> {
    return this.user.find<DynamicObject>(type, refIn(type, name));
  }

  async delete(type: ResourceType, name: string): Promise<void> {
    await this.user.delete(type, refIn(type, name));
  }

  async #create(type: ResourceType, object: DynamicObject): Promise<void> {
    await this.user.create(type, this.#kinds.of(object));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { stop } of this.#running) stop.abort(new Error("the test ended"));
    await this.clock.advance(0);
  }
}

/** Labels, annotations and fields that a test writes on an object of its own. */
export interface ManagedChanges {
  readonly forProvider?: object;
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

function managed(
  kind: string,
  name: string,
  { annotations, labels: more }: ManagedChanges = {},
): Pick<DynamicObject, "apiVersion" | "kind" | "metadata"> {
  const labels = { "crossplane.io/claim-name": name, "crossplane.io/claim-namespace": "team", ...more };
  return { apiVersion: "dataservices.anynines.com/v1", kind, metadata: { name, labels, annotations } };
}
