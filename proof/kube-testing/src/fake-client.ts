/** A client for tests that need answers that no real server gives on demand. Every method that is not given throws. */
import type { KubeClient, ListOptions, ListPage, WatchEvent, WatchOptions } from "@klutch/kube";
import type { DynamicObject, KubeObject, ResourceType } from "@klutch/kube-core";

/** The answers. */
export interface FakeAnswers {
  readonly list?: (type: ResourceType, options?: ListOptions) => Promise<ListPage<DynamicObject>>;
  readonly watch?: (options: WatchOptions | undefined) => AsyncIterable<WatchEvent<DynamicObject>>;
  readonly get?: () => Promise<DynamicObject>;
  readonly find?: () => Promise<DynamicObject | undefined>;
  readonly create?: (type: ResourceType, object: DynamicObject) => Promise<DynamicObject>;
  readonly apply?: (type: ResourceType, object: KubeObject) => Promise<KubeObject>;
  readonly delete?: () => Promise<boolean>;
  readonly dispose?: () => void;
}

/** A client that knows just these answers. */
export function fakeClient(answers: FakeAnswers): KubeClient {
  const refuse = (): never => {
    throw new Error("the fake client has no answer for this");
  };
  return {
    clusterName: "fake",
    get: answers.get ?? refuse,
    find: answers.find ?? refuse,
    list: answers.list ?? refuse,
    listAll: refuse,
    watch: (_type: unknown, options?: WatchOptions) => (answers.watch ?? refuse)(options),
    create: answers.create ?? refuse,
    replace: refuse,
    apply: answers.apply ?? refuse,
    mergePatch: refuse,
    jsonPatch: refuse,
    delete: answers.delete ?? refuse,
    request: refuse,
    [Symbol.asyncDispose]: () => Promise.resolve(answers.dispose?.()),
  } as unknown as KubeClient;
}
