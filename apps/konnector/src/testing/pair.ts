/** Short questions that tests ask about one API between the two clusters. */
import { apiServiceBindings, consumerNamespace } from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  isTrue,
  type ResourceType,
} from "@klutch/kube-core";
import { type TestCluster, type WaitOptions, waitFor } from "@klutch/kube-testing";
import { tenantNamespace } from "./provider-side.ts";
import { widget, type Fixture } from "./fixture.ts";

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
  /** Creates a claim, waits for its upstream object, and gives that back. */
  readonly createSynced: (
    type: ResourceType,
    name: string,
    spec?: unknown,
    options?: WaitOptions,
  ) => Promise<DynamicObject>;
}

/** The questions for a fixture. */
export function pairOf({ consumer, provider }: Pick<Fixture, "consumer" | "provider">): Pair {
  const findIn =
    ({ client }: TestCluster, namespace: string): Pair["onProvider"] =>
    (type, name) =>
      client.find<DynamicObject>(type, type.namespaced ? { namespace, name } : { name });
  const onProvider = findIn(provider, serviceNamespace);
  const binding = (name: string): Promise<DynamicObject | undefined> =>
    consumer.client.find<DynamicObject>(apiServiceBindings, { namespace: consumerNamespace, name });
  const create: Pair["create"] = async (type, object) => {
    await waitFor(`${type.plural} to be served`, () => consumer.client.list(type));
    return consumer.client.create(type, object);
  };
  return {
    onProvider,
    onConsumer: findIn(consumer, "app"),
    binding,
    create,
    async createSynced(type, name, spec = {}, options = {}) {
      await create(type, widget(type, name, spec));
      return waitFor(`${name} on the provider`, () => onProvider(type, name), options);
    },
    async untilReady(name) {
      await waitFor(`${name} to be ready`, async () => isTrue(conditionsOf(await binding(name)), "Ready"));
    },
    untilReason: (name, type, reason) =>
      waitFor(`${type} of ${name} to be ${reason}`, async () => {
        const found = findCondition(conditionsOf(await binding(name)), type);
        return found?.reason === reason ? (found.message ?? "-") : undefined;
      }),
  };
}
