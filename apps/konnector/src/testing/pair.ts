/** Short questions that tests ask about one API between the two clusters. */
import { apiServiceBindings, consumerNamespace } from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  isTrue,
  type ResourceType,
} from "@klutch/kube-core";
import { isNotFound } from "@klutch/kube";
import { waitFor } from "@klutch/kube-testing";
import { tenantNamespace } from "./provider-side.ts";
import type { World } from "./world.ts";

/** The service namespace of the app cluster's namespace `app`. */
export const serviceNamespace: string = `${tenantNamespace}-app`;

/** Questions about the objects of one resource in the namespace `app`, and about bindings. */
export interface Pair {
  readonly onProvider: (type: ResourceType, name: string) => Promise<DynamicObject | undefined>;
  readonly onConsumer: (type: ResourceType, name: string) => Promise<DynamicObject | undefined>;
  readonly binding: (name: string) => Promise<DynamicObject | undefined>;
  readonly untilReady: (name: string) => Promise<void>;
  /** Waits until the binding's condition has the reason, and gives back its message. */
  readonly untilReason: (name: string, type: string, reason: string) => Promise<string>;
  /** Creates in the app cluster, as soon as the resource is served there. */
  readonly create: (type: ResourceType, object: DynamicObject) => Promise<DynamicObject>;
}

/** The questions for a world. */
export function pairOf({ consumer, provider }: World): Pair {
  const find = async (
    client: World["consumer"]["client"],
    type: ResourceType,
    namespace: string,
    name: string,
  ): Promise<DynamicObject | undefined> => {
    try {
      return await client.get<DynamicObject>(type, type.namespaced ? { namespace, name } : { name });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
  const binding = (name: string): Promise<DynamicObject | undefined> =>
    find(consumer.client, apiServiceBindings, consumerNamespace, name);
  return {
    onProvider: (type, name) => find(provider.client, type, serviceNamespace, name),
    onConsumer: (type, name) => find(consumer.client, type, "app", name),
    binding,
    async untilReady(name) {
      await waitFor(`${name} to be ready`, async () => isTrue(conditionsOf(await binding(name)), "Ready"));
    },
    untilReason: (name, type, reason) =>
      waitFor(`${type} of ${name} to be ${reason}`, async () => {
        const found = findCondition(conditionsOf(await binding(name)), type);
        return found?.reason === reason ? (found.message ?? "-") : undefined;
      }),
    async create(type, object) {
      await waitFor(`${type.plural} to be served`, () => consumer.client.list(type));
      return consumer.client.create(type, object);
    },
  };
}
