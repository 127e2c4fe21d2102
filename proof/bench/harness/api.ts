/**
 * The benchmark's own access to one cluster: several HTTP/2 connections used in turn, and a count of what was sent, so that it can
 * be taken off the server's own counters to get what the agent sent.
 */
import { ApiError, type ClusterConfig, createKubeClient, type KubeClient } from "@klutch/kube";
import type { DynamicObject, KubeObject, ObjectRef, ResourceType } from "@klutch/kube-core";

/** Key of a call: `verb group/resource[/subresource] code`, in the words of `apiserver_request_total`. */
export function callKey(
  verb: string,
  { group, plural }: { readonly group: string; readonly plural: string },
  code: number | string,
  subresource = "",
): string {
  const sub = subresource === "" ? "" : `/${subresource}`;
  return `${verb} ${group}/${plural}${sub} ${code}`;
}

const connections = 4;

/** The status, if it is not the object itself. */
type Part = "status" | undefined;

/** Waits for nothing and holds nothing back: flow control is off. */
export class BenchApi implements AsyncDisposable {
  /** The number of answers to each call, by `callKey`. */
  readonly calls: Map<string, number> = new Map();
  readonly #clients: readonly KubeClient[];
  #next = 0;

  constructor(config: ClusterConfig) {
    this.#clients = Array.from({ length: connections }, () =>
      createKubeClient(config, { userAgent: "bench", flowControl: false, requestTimeoutMs: 120_000 }),
    );
  }

  get(type: ResourceType, ref: ObjectRef): Promise<DynamicObject> {
    return this.#counted("GET", type, (client) => client.get<DynamicObject>(type, ref));
  }

  create(type: ResourceType, object: KubeObject): Promise<KubeObject> {
    return this.#counted("POST", type, (client) => client.create(type, object));
  }

  /** JSON merge patch, of the object or its status. */
  patch(type: ResourceType, ref: ObjectRef, patch: object, part?: Part): Promise<KubeObject> {
    const options = part === undefined ? {} : { subresource: part };
    return this.#counted("PATCH", type, (client) => client.mergePatch(type, ref, patch, options), part);
  }

  /** Server-side apply in another manager's name. */
  apply(type: ResourceType, object: KubeObject, fieldManager: string, part?: Part): Promise<KubeObject> {
    const options = { fieldManager, force: true, ...(part === undefined ? {} : { subresource: part }) };
    return this.#counted("APPLY", type, (client) => client.apply(type, object, options), part);
  }

  delete(type: ResourceType, ref: ObjectRef): Promise<boolean> {
    return this.#counted("DELETE", type, (client) => client.delete(type, ref));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client[Symbol.asyncDispose]()));
  }

  async #counted<T>(
    verb: string,
    type: ResourceType,
    send: (client: KubeClient) => Promise<T>,
    part?: Part,
  ): Promise<T> {
    const client = this.#clients[this.#next++ % connections];
    if (client === undefined) throw new Error("there is no client");
    let code = verb === "POST" ? 201 : 200;
    try {
      const answer = await send(client);
      if (answer === false) code = 404;
      return answer;
    } catch (error) {
      code = error instanceof ApiError ? error.status : 0;
      throw error;
    } finally {
      const key = callKey(verb, type, code, part);
      this.calls.set(key, (this.calls.get(key) ?? 0) + 1);
    }
  }
}

/** Runs `work` on every item, at most `limit` (default 32) at the same time. The first failure ends it. */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<unknown>,
  limit = 32,
): Promise<void> {
  const rest = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of rest) await work(item, index);
  };
  await Promise.all(Array.from({ length: limit }, worker));
}
