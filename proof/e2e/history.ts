/** Every state of some claims that a client of the app cluster could see, in order. */
import type { KubeClient } from "@klutch/kube";
import type { DynamicObject, ResourceType } from "@klutch/kube-core";
import { followObjects } from "@klutch/kube-testing";

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
  const listed = Promise.withResolvers<void>();
  let failure: unknown;
  const following = followObjects(client, type, {
    namespace,
    idleTimeoutMs,
    signal: stop.signal,
    onListed: listed.resolve,
    onChange: (_kind, object) => void states.push(object),
    onFailure: (error) => {
      throw error;
    },
  }).catch((error: unknown) => {
    failure = error;
    listed.reject(error);
  });
  await listed.promise;
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
