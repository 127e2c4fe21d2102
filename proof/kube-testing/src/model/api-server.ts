/**
 * A deterministic kube-apiserver in memory, for simulations that run our agents in virtual time. It implements `KubeClient` directly;
 * there is no wire. `model.real.test.ts` compares it with the real server.
 *
 * Not modelled: authentication and authorisation, admission beyond the namespace lifecycle, CEL and the schema keywords that
 * `structural.ts` names, conversion webhooks (versions differ in `apiVersion` only), strategic merge patch, the scale and token
 * subresources, graceful deletion, deleteCollection, whole numbers beyond 2^53, conflicts of names between definitions.
 */
import type { Clock, KubeClient } from "@klutch/kube";
import { namespaces, type ResourceType, wholeSeconds } from "@klutch/kube-core";
import { builtinResources } from "./builtin.ts";
import { createModelClient, type ModelClientOptions, type ServerParts } from "./client.ts";
import { collectGarbage, type ControllerOptions, startControllers } from "./controllers.ts";
import { Endpoints } from "./endpoints.ts";
import { seededRandom } from "./faults.ts";
import type { JsonObject } from "./json.ts";
import { familyOf, type ResourceDefinition, ResourceTable } from "./resources.ts";
import { Store, type StoreBackup } from "./store.ts";

/** Options of a model. */
export interface ApiServerModelOptions {
  readonly clock: Clock;
  /**
   * Two models with different seeds never give out the same uid. Also decides generated names, and the fate of requests that were
   * given up.
   */
  readonly uidSeed: number;
  /** Runs the namespace controller, so that deleted namespaces are emptied and removed. Default true. */
  readonly endsNamespaces?: boolean | undefined;
}

/** A server. Its clients share its objects; everything they get is frozen. */
export class ApiServerModel {
  readonly #parts: ServerParts;
  readonly #controllers: ControllerOptions;

  constructor({ clock, uidSeed, endsNamespaces = true }: ApiServerModelOptions) {
    const [store, resources, random] = [new Store(), new ResourceTable(), seededRandom(uidSeed)];
    let uids = 0;
    const hex = (value: number, digits: number): string => (value >>> 0).toString(16).padStart(digits, "0");
    const context = {
      store,
      now: () => wholeSeconds(clock.now()),
      newUid: () => `${hex(uidSeed, 8)}-0000-4000-8000-${hex(++uids, 12)}`,
      random,
    };
    const endpoints = new Endpoints(context, resources);
    this.#parts = { store, resources, endpoints, clock, random, connections: new Set() };
    for (const definition of builtinResources) this.register(definition);
    const onSchemaChange = (family: string): void => this.#endWatches(family);
    this.#controllers = { ...context, resources, endsNamespaces, onSchemaChange };
    startControllers(this.#controllers);
    const how = { manager: "kube-apiserver", subresource: "", isDryRun: false };
    for (const name of ["default", "kube-system"]) endpoints.create(namespaces, { metadata: { name } }, how);
  }

  /** Serves a resource from now on; replaces an earlier declaration. */
  register(definition: ResourceDefinition): void {
    this.#parts.resources.register(definition);
  }

  /** Stops serving all versions of a resource and ends its watches. Its objects stay. */
  unregister(type: ResourceType): void {
    this.#parts.resources.unregister(familyOf(type));
    this.#endWatches(familyOf(type));
  }

  /** A client of this server. */
  client(options: ModelClientOptions): KubeClient {
    return createModelClient(this.#parts, options);
  }

  /** Every stored object of a resource, in order, at once and without faults: for invariants. */
  objects(type: ResourceType): readonly JsonObject[] {
    return this.#parts.store.list(familyOf(type));
  }

  /** Forgets the history: later watches and pages from before now are answered 410. */
  compact(): void {
    this.#parts.store.compact();
  }

  /** Breaks the open watches, all or those of one client name, as a restart of the server does. */
  disconnect(clusterName?: string): void {
    for (const connection of this.#parts.connections)
      if (clusterName === undefined || clusterName === connection.cluster) connection.cut();
  }

  /** Copies all objects and their versions, as a backup of etcd does. */
  backUp(): StoreBackup {
    return this.#parts.store.backUp();
  }

  /** Goes back to a copy and breaks all watches. The definitions that are served must be those of the copy. */
  restore(backup: StoreBackup): void {
    this.#parts.store.restore(backup);
    this.disconnect();
  }

  /** Deletes the objects that have lost all their owners, until nothing is left to delete. */
  collectGarbage(): void {
    while (collectGarbage(this.#controllers));
  }

  #endWatches(family: string): void {
    for (const connection of this.#parts.connections) if (connection.family === family) connection.end();
  }
}
