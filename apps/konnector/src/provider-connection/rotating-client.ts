/**
 * A client whose credentials can be swapped while it runs. New requests use the new credentials at once; watches that are
 * open stay on the connection they have and move over when they end by themselves, so a rotation costs no relist.
 */
import { isUnauthorized, type KubeClient } from "@klutch/kube";

/** Client whose connection can be replaced. */
export interface RotatingClient extends KubeClient {
  /** Uses `next` from now on; the previous client is closed when its last request and watch have ended. */
  rotate(next: KubeClient): Promise<void>;
}

/** One set of credentials and what still uses it. */
class Generation {
  readonly client: KubeClient;
  readonly #onRefused: () => void;
  #users = 0;
  #isRetired = false;
  #closing: Promise<void> | undefined;

  constructor(client: KubeClient, onRefused: () => void) {
    this.client = client;
    this.#onRefused = onRefused;
  }

  async use<R>(send: (client: KubeClient) => Promise<R>): Promise<R> {
    this.#users++;
    try {
      return await send(this.client);
    } catch (error) {
      this.#reportRefusal(error);
      throw error;
    } finally {
      await this.#leave();
    }
  }

  async *stream<R>(open: (client: KubeClient) => AsyncIterable<R>): AsyncGenerator<R> {
    this.#users++;
    try {
      yield* open(this.client);
    } catch (error) {
      this.#reportRefusal(error);
      throw error;
    } finally {
      await this.#leave();
    }
  }

  async retire(): Promise<void> {
    this.#isRetired = true;
    if (this.#users === 0) await this.close();
  }

  async close(): Promise<void> {
    this.#closing ??= Promise.resolve(this.client[Symbol.asyncDispose]());
    await this.#closing;
  }

  /** That credentials which are no longer in use are refused is no news. */
  #reportRefusal(error: unknown): void {
    if (!this.#isRetired && isUnauthorized(error)) this.#onRefused();
  }

  async #leave(): Promise<void> {
    this.#users--;
    if (this.#isRetired && this.#users === 0) await this.close();
  }
}

/** Wraps `first`, which it owns from now on. `onRefused` is called for each 401 that the credentials in use meet. */
export function rotatingClient(first: KubeClient, onRefused: () => void = () => {}): RotatingClient {
  let current = new Generation(first, onRefused);
  const retired: Generation[] = [];
  return {
    clusterName: first.clusterName,
    get: (type, ref, options) => current.use((client) => client.get(type, ref, options)),
    find: (type, ref, options) => current.use((client) => client.find(type, ref, options)),
    list: (type, options) => current.use((client) => client.list(type, options)),
    listAll: (type, options) => current.stream((client) => client.listAll(type, options)),
    watch: (type, options) => current.stream((client) => client.watch(type, options)),
    create: (type, object, options) => current.use((client) => client.create(type, object, options)),
    replace: (type, object, options) => current.use((client) => client.replace(type, object, options)),
    apply: (type, object, options) => current.use((client) => client.apply(type, object, options)),
    mergePatch: (type, ref, patch, options) =>
      current.use((client) => client.mergePatch(type, ref, patch, options)),
    jsonPatch: (type, ref, operations, options) =>
      current.use((client) => client.jsonPatch(type, ref, operations, options)),
    delete: (type, ref, options) => current.use((client) => client.delete(type, ref, options)),
    request: (options) => current.use((client) => client.request(options)),
    async rotate(next) {
      const previous = current;
      current = new Generation(next, onRefused);
      retired.push(previous);
      await previous.retire();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([current, ...retired].map((generation) => generation.close()));
    },
  };
}
