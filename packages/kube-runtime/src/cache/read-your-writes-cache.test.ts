import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, type KubeClient, systemRandom, type WatchEvent } from "@klutch/kube";
import { type DynamicObject, secrets as type } from "@klutch/kube-core";
import { fakeClient, waitFor } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { CachePool, objectsIn } from "./pool.ts";
import { isNewer } from "./resource-version.ts";
import { type DigestRules, type ObjectDigest, withoutManagedFields } from "./digested-object.ts";

function object(name: string, resourceVersion: string, uid = "u"): DynamicObject {
  return { apiVersion: "v1", kind: "Secret", metadata: { namespace: "a", name, resourceVersion, uid } };
}

/** A client whose watch is fed by hand, and whose lists are of these versions, the last for all others. */
function scripted(
  initial: readonly DynamicObject[],
  versions: readonly [string, ...string[]] = ["10"],
): {
  readonly client: KubeClient;
  readonly send: (event: WatchEvent<DynamicObject>) => void;
  readonly watches: () => number;
} {
  const pending: WatchEvent<DynamicObject>[] = [];
  let wake = (): void => {};
  let watches = 0;
  let lists = 0;
  const client = fakeClient({
    list: () => {
      const resourceVersion = versions[Math.min(lists++, versions.length - 1)] ?? "";
      return Promise.resolve({ items: initial, resourceVersion, length: 0 });
    },
    async *watch(options) {
      watches++;
      while (options?.signal?.aborted !== true) {
        const event = pending.shift();
        if (event?.type === "BOOKMARK" && event.resourceVersion === "gone")
          throw new ApiError({ status: 410, reason: "Expired", message: "too old" });
        if (event !== undefined) yield event;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
            options?.signal?.addEventListener("abort", () => resolve(), { once: true });
          });
        }
      }
    },
  });
  return {
    client,
    send(event) {
      pending.push(event);
      wake();
    },
    watches: () => watches,
  };
}

const clock = {
  now: () => 0,
  monotonic: () => 0,
  sleep: () => Promise.resolve(),
  schedule: () => () => {},
};

const ourMark = "example.org/synced";

const rules: DigestRules<ObjectDigest> = {
  digest: ({ metadata, spec, status }) => ({
    metadata,
    content: JSON.stringify(spec),
    status: JSON.stringify(status),
  }),
  strip: withoutManagedFields,
  isMarked: ({ metadata }) => metadata.finalizers?.includes(ourMark) === true,
};

function poolOf(client: KubeClient): CachePool {
  return new CachePool({ client, logger: silentLogger, clock, random: systemRandom });
}

test("one watch serves all who need the same scope, and ends with the last of them", async () => {
  const { client, watches } = scripted([object("one", "5")]);
  await using pool = poolOf(client);
  const first = pool.acquire({ type });
  const second = pool.acquire({ type });
  const other = pool.acquire({ type, namespace: "a" });
  assert.equal(first.cache, second.cache);
  assert.equal(pool.size, 2);
  await first.cache.informer.whenSynced();
  assert.equal(Array.from(objectsIn(first.cache, "a")).length, 1);
  await first[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
  assert.equal(pool.size, 2);
  await second[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  assert.equal(pool.size, 0);
  assert.equal(watches(), 2);
});

test("an own write is seen at once, until the watch has caught up or the object is gone", async () => {
  const { client, send } = scripted([object("one", "5")]);
  await using pool = poolOf(client);
  const { cache } = pool.acquire({ type });
  await cache.informer.whenSynced();
  const written = object("one", "12");
  cache.wrote(written);
  assert.equal(cache.get("a/one"), written);
  cache.wrote(object("two", "13", "other"));
  assert.equal(cache.get("a/two")?.metadata.resourceVersion, "13");
  send({ type: "MODIFIED", object: object("one", "14") });
  await waitFor("the newer version", () => cache.get("a/one")?.metadata.resourceVersion === "14");
  cache.wrote(object("one", "13"));
  assert.equal(cache.get("a/one")?.metadata.resourceVersion, "14");
  cache.wrote(object("one", "16"));
  send({ type: "DELETED", object: object("one", "17") });
  await waitFor("the deletion", () => cache.get("a/one") === undefined);
});

test("an own write outlives older events, and goes with a later list that does not have it", async () => {
  const { client, send } = scripted([object("one", "5")]);
  await using pool = poolOf(client);
  const { cache } = pool.acquire({ type });
  await cache.informer.whenSynced();
  const vanished: string[] = [];
  using _watch = cache.onMissedDelete((key) => vanished.push(key));
  cache.wrote(object("one", "8"));
  cache.wrote(object("ghost", "9"));
  cache.wrote(object("fresh", "12"));
  send({ type: "MODIFIED", object: object("one", "7") });
  await waitFor("the older event", () => cache.informer.get("a/one")?.metadata.resourceVersion === "7");
  assert.equal(cache.get("a/one")?.metadata.resourceVersion, "8");
  send({ type: "BOOKMARK", resourceVersion: "gone", initialEventsEnd: false });
  await waitFor("another list", () => vanished.length > 0);
  assert.deepEqual(vanished, ["a/ghost"]);
  assert.equal(cache.get("a/ghost"), undefined);
  assert.equal(cache.get("a/fresh")?.metadata.resourceVersion, "12");
});

test("an own write goes with a list of a server that went back to an older version", async () => {
  const { client, send } = scripted([object("one", "5")], ["10", "7"]);
  await using pool = poolOf(client);
  const { cache } = pool.acquire({ type });
  await cache.informer.whenSynced();
  cache.wrote(object("one", "12"));
  cache.wrote(object("lost", "13"));
  const vanished: string[] = [];
  using _watch = cache.onMissedDelete((key) => vanished.push(key));
  send({ type: "BOOKMARK", resourceVersion: "gone", initialEventsEnd: false });
  await waitFor("another list", () => vanished.length > 0);
  assert.deepEqual(vanished, ["a/lost"]);
  assert.equal(cache.get("a/one")?.metadata.resourceVersion, "5");
});

test("an answer that comes after the event of the deletion does not bring the object back", async () => {
  const { client, send } = scripted([object("one", "5")]);
  await using pool = poolOf(client);
  const { cache } = pool.acquire({ type });
  await cache.informer.whenSynced();
  send({ type: "DELETED", object: object("one", "9") });
  await waitFor("the deletion", () => cache.get("a/one") === undefined);
  cache.wrote(object("one", "8"));
  assert.equal(cache.get("a/one"), undefined);
  cache.wrote(object("one", "12", "created again"));
  assert.equal(cache.get("a/one")?.metadata.uid, "created again");
});

test("an answer that comes after a list without the object does not bring it back, and its end is told", async () => {
  const { client, send } = scripted([object("one", "5")], ["10", "20"]);
  await using pool = poolOf(client);
  const { cache } = pool.acquire({ type });
  await cache.informer.whenSynced();
  let lists = 0;
  using _lists = cache.informer.onListed(() => lists++);
  send({ type: "BOOKMARK", resourceVersion: "gone", initialEventsEnd: false });
  await waitFor("another list", () => lists > 0);
  const vanished: string[] = [];
  using _watch = cache.onMissedDelete((key) => vanished.push(key));
  cache.wrote(object("ghost", "15"));
  assert.equal(cache.get("a/ghost"), undefined);
  assert.deepEqual(vanished, ["a/ghost"]);
  cache.wrote(object("fresh", "21"));
  assert.equal(cache.get("a/fresh")?.metadata.resourceVersion, "21");
});

test("the event of an own write is known already, and what a later version replaces holds no content", async () => {
  const { client, send } = scripted([object("one", "5")]);
  await using pool = poolOf(client);
  const { cache } = pool.acquireDigested({ type }, rules);
  await cache.informer.whenSynced();
  const first = cache.get("a/one");
  assert.equal(first?.payload.read()?.metadata.resourceVersion, "5");
  cache.wrote(object("one", "12"));
  const written = cache.get("a/one");
  assert.equal(written?.payload.read(), undefined);
  send({ type: "MODIFIED", object: object("one", "12") });
  await waitFor("the event", () => cache.informer.get("a/one") === written);
  assert.equal(first?.payload.read(), undefined);
  send({ type: "MODIFIED", object: object("one", "14") });
  await waitFor("the next event", () => cache.informer.get("a/one")?.metadata.resourceVersion === "14");
  const last = cache.get("a/one");
  assert.equal(last?.payload.read()?.metadata.resourceVersion, "14");
  send({ type: "DELETED", object: object("one", "15") });
  await waitFor("the deletion", () => cache.get("a/one") === undefined);
  assert.equal(last?.payload.read(), undefined);
});

test("of what bears our mark the first list leaves no content in memory; later versions come with theirs", async () => {
  const marked = (version: string): DynamicObject => {
    const { metadata, ...rest } = object("marked", version);
    return { ...rest, metadata: { ...metadata, finalizers: [ourMark] } };
  };
  const { client, send } = scripted([marked("5"), object("new", "6")]);
  await using pool = poolOf(client);
  const { cache } = pool.acquireDigested({ type }, rules);
  await cache.informer.whenSynced();
  assert.equal(cache.get("a/marked")?.payload.read(), undefined);
  assert.equal(cache.get("a/new")?.payload.read()?.metadata.resourceVersion, "6");
  send({ type: "MODIFIED", object: marked("14") });
  await waitFor("the event", () => cache.get("a/marked")?.metadata.resourceVersion === "14");
  assert.equal(cache.get("a/marked")?.payload.read()?.metadata.resourceVersion, "14");
});

test("of Secrets that no one asked for no contents stay in memory", async () => {
  const secret = (name: string): DynamicObject => ({
    ...object(name, "5", name),
    data: { password: "aHVudGVyMg==" },
  });
  const { client } = scripted([secret("mine"), secret("foreign")]);
  await using pool = poolOf(client);
  const wants = ({ metadata }: DynamicObject): boolean => metadata.name === "mine";
  const { cache } = pool.acquire({ type, payloadOf: { key: "mine", wants } });
  await cache.informer.whenSynced();
  assert.ok(cache.get("a/mine")?.["data"] !== undefined);
  assert.ok(!JSON.stringify(cache.get("a/foreign")).includes("aHVudGVyMg"));
});

test("versions compare as numbers of any length", () => {
  const newer = (left: string, right: string): boolean => isNewer(object("a", left), object("a", right));
  assert.ok(newer("10", "9") && !newer("9", "10") && !newer("9", "9"));
  assert.ok(newer("100000000000000000001", "100000000000000000000"));
  assert.ok(newer("x", "y") && !newer("x", "x"));
});
