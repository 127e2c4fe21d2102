/**
 * A deterministic kube-apiserver in memory, for simulations that run our agents in virtual time. It implements `KubeClient` directly;
 * there is no wire. `model.real.test.ts` compares it with the real server.
 *
 * Not modelled: authentication and authorisation, admission beyond the namespace lifecycle, CEL and the schema keywords that
 * `structural.ts` names, conversion webhooks (versions differ in `apiVersion` only), strategic merge patch, the scale and token
 * subresources, graceful deletion, deleteCollection, whole numbers beyond 2^53, conflicts of names between definitions.
 */
import type { Clock, KubeClient, Random, WatchOptions } from "@klutch/kube";
import { namespaces, type ResourceType, wholeSeconds } from "@klutch/kube-core";
import { builtinResources } from "./builtin.ts";
import { createModelClient, type ModelClientOptions } from "./client.ts";
import { collectGarbage, type ControllerOptions, startControllers } from "./controllers.ts";
import { discover } from "./discovery.ts";
import { Endpoints } from "./endpoints.ts";
import { seededRandom } from "./faults.ts";
import type { JsonObject } from "./json.ts";
import { familyOf, type ResourceDefinition, ResourceTable } from "./resources.ts";
import { Store } from "./store.ts";
import { WatchConnection } from "./watch-connection.ts";

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

const minWatchMs = 1_800_000;

/** A server. Its clients share its objects; everything they get is frozen. */
export class ApiServerModel {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #options: ApiServerModelOptions;
  readonly #store = new Store();
  readonly #resources = new ResourceTable();
  readonly #endpoints: Endpoints;
  readonly #controllers: ControllerOptions;
  readonly #connections = new Set<WatchConnection>();
  #uids = 0;

  constructor(options: ApiServerModelOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#random = seededRandom(options.uidSeed);
    const context = {
      store: this.#store,
      now: () => wholeSeconds(this.#clock.now()),
      newUid: () => this.#newUid(),
      random: this.#random,
    };
    this.#endpoints = new Endpoints(context, this.#resources);
    for (const definition of builtinResources) this.register(definition);
    this.#controllers = {
      ...context,
      resources: this.#resources,
      endsNamespaces: options.endsNamespaces ?? true,
      onSchemaChange: (family) => this.#endWatches(family),
    };
    startControllers(this.#controllers);
    const how = { manager: "kube-apiserver", subresource: "", isDryRun: false };
    for (const name of ["default", "kube-system"]) {
      this.#endpoints.create(namespaces, { metadata: { name } }, how);
    }
  }

  /** The latest resource version. */
  get resourceVersion(): string {
    return String(this.#store.revision);
  }

  /** Serves a resource from now on; replaces an earlier declaration. */
  register(definition: ResourceDefinition): void {
    this.#resources.register(definition);
  }

  /** Stops serving all versions of a resource and ends its watches. Its objects stay. */
  unregister(type: ResourceType): void {
    this.#resources.unregister(familyOf(type));
    this.#endWatches(familyOf(type));
  }

  /** A client of this server. */
  client(options: ModelClientOptions): KubeClient {
    return createModelClient({
      options,
      endpoints: this.#endpoints,
      clock: this.#clock,
      random: this.#random,
      discover: (request) => discover(this.#resources, request),
      connect: (type, watchOptions) => this.#connect(type, watchOptions, options),
      disconnect: (connection) => {
        connection.close();
        this.#connections.delete(connection);
      },
    });
  }

  /** Every stored object of a resource, in order, at once and without faults: for invariants. */
  objects(type: ResourceType): readonly JsonObject[] {
    return this.#store.list(familyOf(type));
  }

  /** Forgets the history: later watches and pages from before now are answered 410. */
  compact(): void {
    this.#store.compact();
  }

  /** Breaks the open watches, all or those of one client name, as a restart of the server does. */
  disconnect(clusterName?: string): void {
    for (const connection of this.#connections)
      if (clusterName === undefined || clusterName === connection.cluster) connection.cut();
  }

  /** Deletes the objects that have lost all their owners, until nothing is left to delete. */
  collectGarbage(): void {
    while (collectGarbage(this.#controllers));
  }

  #connect(type: ResourceType, watchOptions: WatchOptions, client: ModelClientOptions): WatchConnection {
    const resource = this.#endpoints.resource(type);
    const connection = new WatchConnection({
      store: this.#store,
      clock: this.#clock,
      resource,
      cluster: client.clusterName,
      faults: client.faults,
      options: watchOptions,
      defaultTimeoutMs: minWatchMs * (1 + this.#random()),
    });
    this.#connections.add(connection);
    return connection;
  }

  #endWatches(family: string): void {
    for (const connection of this.#connections) if (connection.family === family) connection.end();
  }

  #newUid(): string {
    const hex = (value: number, digits: number): string => (value >>> 0).toString(16).padStart(digits, "0");
    return `${hex(this.#options.uidSeed, 8)}-0000-4000-8000-${hex(++this.#uids, 12)}`;
  }
}
