/** Every state of some claims that a client of the app cluster could see, in order. */
import type { KubeClient } from "@klutch/kube";
import type { DynamicObject, ResourceType } from "@klutch/kube-core";

/** Records until it is disposed. */
export interface History extends AsyncDisposable {
  /** Returns the states of the objects with this name, oldest first; the last state of a deleted object is its final one. */
  readonly of: (name: string) => readonly DynamicObject[];
  /** Returns the states for which `isMeant` holds, of all names, oldest first. */
  readonly where: (isMeant: (object: DynamicObject) => boolean) => readonly DynamicObject[];
}

/** A claim may rest while others are worked on. */
const idleTimeoutMs = 900_000;

/** Watches one kind from now on, in a namespace or in the whole cluster. Resolves when the first event cannot be missed any more. */
export async function recordHistory(
  client: KubeClient,
  type: ResourceType,
  namespace?: string,
): Promise<History> {
  const stop = new AbortController();
  const states: DynamicObject[] = [];
  const opened = Promise.withResolvers<void>();
  const follow = async (): Promise<void> => {
    const options = { namespace, signal: stop.signal, sendInitialEvents: true, idleTimeoutMs };
    for await (const event of client.watch<DynamicObject>(type, { ...options, onOpen: opened.resolve }))
      if (event.type !== "BOOKMARK") states.push(event.object);
    if (!stop.signal.aborted) throw new Error(`the watch of ${type.plural} ended`);
  };
  let failure: unknown;
  const following = follow().catch((error: unknown) => {
    if (!stop.signal.aborted) failure = error;
    opened.reject(error);
  });
  await opened.promise;
  const where: History["where"] = (isMeant) => {
    if (failure !== undefined) throw new Error(`the watch of ${type.plural} failed`, { cause: failure });
    return states.filter(isMeant);
  };
  return {
    where,
    of: (name) => where(({ metadata }) => metadata.name === name),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await following;
    },
  };
}
