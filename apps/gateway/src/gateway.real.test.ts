import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, constants } from "node:http2";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import {
  type ClusterConfig,
  isForbidden,
  isGone,
  type KubeClient,
  type WatchEvent,
  type WatchOptions,
} from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import { TcpProxy, waitFor } from "@klutch/kube-testing";
import { rawAnswers, tokenOf } from "./testing/raw.ts";
import {
  clientOf,
  gadgets,
  type RunningGateway,
  type Stage,
  startGateway,
  startStage,
  untilShared,
  widget,
  widgets,
} from "./testing/stage.ts";

let stage: Stage;
let gateway: RunningGateway;
let red: ClusterConfig;
let blue: ClusterConfig;
const stack = new AsyncDisposableStack();

before(async () => {
  stage = stack.use(await startStage());
  [red, blue] = [await stage.tenant("red"), await stage.tenant("blue")];
  gateway = stack.use(await startGateway(stage, { limits: { askEveryMs: 500 }, keepRightsMs: 400 }));
});
after(() => stack.disposeAsync());

type Seen = WatchEvent<DynamicObject>;

/** Follows widgets until one with a name is deleted, and gives back the changes. */
async function changes(
  client: KubeClient,
  namespace: string,
  last: string,
  options: WatchOptions,
): Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  for await (const event of client.watch<DynamicObject>(widgets, { namespace, ...options })) {
    if (event.type === "BOOKMARK") continue;
    seen.push([event.type, event.object]);
    if (event.type === "DELETED" && event.object.metadata.name === last) break;
  }
  return seen;
}

/** Makes random changes to widgets of both tenants, the last of which deletes `last` in red. */
async function write(random: () => number, last: string, count = 25): Promise<void> {
  const { client } = stage.cluster;
  for (let index = 0; index < count; index++) {
    const namespace = random() < 0.6 ? "red" : "blue";
    const name = `w${Math.floor(random() * 6)}`;
    const found = await client.find<DynamicObject>(widgets, { namespace, name });
    const spec = {
      number: index,
      text: 'a "quoted"\n text with ☃ and \\ ',
      deep: { items: [{ a: [1, 2] }] },
    };
    if (found === undefined) await client.create(widgets, widget(namespace, name, spec));
    else if (random() < 0.3) await client.delete(widgets, { namespace, name });
    else await client.mergePatch(widgets, { namespace, name }, { spec });
  }
  await client.create(widgets, widget("red", last));
  await client.delete(widgets, { namespace: "red", name: last });
}

/** A generator that repeats itself with its seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

test("a watch through the gateway shows what the API server shows, in its order, from any version on", async () => {
  await using through = clientOf(red, gateway);
  await using past = clientOf(red);
  await untilShared(gateway, through, "red");
  for (const seed of [1, 2]) {
    const last = `last-${seed}`;
    const { resourceVersion } = await past.list(widgets, { namespace: "red" });
    const live = [through, past].map((client) => changes(client, "red", last, { resourceVersion }));
    await write(randomOf(seed), last);
    const [ours, theirs] = await Promise.all(live);
    assert.ok((theirs?.length ?? 0) > 10);
    assert.deepEqual(ours, theirs);
    // Replayed out of the history.
    assert.deepEqual(await changes(through, "red", last, { resourceVersion }), theirs);
  }
  await waitFor("all of them to have been answered by the gateway", async () => {
    return (await gateway.read('klutch_gateway_ended_watches_total{reason="gone"}')) >= 4;
  });
});

test("lists are those of the API server, byte for byte, and hold no one else's objects", async () => {
  await using through = clientOf(red, gateway);
  await using past = clientOf(red);
  const listed = async (client: KubeClient, resourceVersion?: string): Promise<unknown> =>
    (await client.list(widgets, { namespace: "red", resourceVersion })).items;
  await stage.cluster.client.create(widgets, widget("blue", "secret-of-blue"));
  await stage.cluster.client.create(widgets, widget("red", "of-red"));
  const theirs = await listed(past);
  assert.deepEqual(await listed(through), theirs, "as new as the API server");
  await waitFor("the cache to see it", async () => {
    assert.deepEqual(await listed(through, "0"), theirs);
    return true;
  });
  const raw = async (client: KubeClient): Promise<unknown> => {
    const path = "/apis/shop.example.com/v1/namespaces/red/widgets";
    const list = await client.request({ method: "GET", path, query: { resourceVersion: "0" } });
    return { ...(list as object), metadata: undefined };
  };
  assert.deepEqual(await raw(through), await raw(past));
});

test("a streaming list begins with the objects of now, says where they end, and goes on", async () => {
  await using through = clientOf(red, gateway);
  await using past = clientOf(red);
  for (const resourceVersion of [undefined, "0"]) {
    await stage.cluster.client.create(widgets, widget("red", "first"));
    await waitFor("the cache to see it", async () => {
      const { items } = await through.list(widgets, { namespace: "red", resourceVersion: "0" });
      return items.some(({ metadata }) => metadata.name === "first");
    });
    const begin = async (client: KubeClient): Promise<unknown> => {
      const seen: string[] = [];
      const options = { namespace: "red", sendInitialEvents: true, resourceVersion };
      for await (const event of client.watch<DynamicObject>(widgets, options)) {
        if (event.type === "BOOKMARK" && event.initialEventsEnd) {
          seen.push("end");
          await stage.cluster.client.delete(widgets, { namespace: "red", name: "first" });
        } else if (event.type !== "BOOKMARK") {
          seen.push(`${event.type} ${event.object.metadata.name}`);
          if (event.type === "DELETED") break;
        }
      }
      return seen.toSorted((left, right) => (left < right ? -1 : 1));
    };
    const ours = await begin(through);
    await stage.cluster.client.create(widgets, widget("red", "first"));
    assert.deepEqual(ours, await begin(past));
  }
});

test("one upstream watch serves all tenants and namespaces", async () => {
  await using one = clientOf(red, gateway);
  await using other = clientOf(blue, gateway);
  const stop = new AbortController();
  const opened: Promise<void>[] = [];
  for (const [client, namespace] of [
    [one, "red"],
    [one, "red"],
    [other, "blue"],
  ] as const) {
    const { resourceVersion } = await client.list(widgets, { namespace, resourceVersion: "0" });
    const { promise, resolve } = Promise.withResolvers<void>();
    opened.push(promise);
    const options = { namespace, resourceVersion, signal: stop.signal, onOpen: resolve };
    void client
      .watch(widgets, options)
      [Symbol.asyncIterator]()
      .next()
      .catch(() => undefined);
  }
  await Promise.all(opened);
  assert.equal(await gateway.read("klutch_gateway_served_watches"), 3);
  assert.equal(await gateway.read("klutch_gateway_upstream_watches"), 1);
  stop.abort();
  await waitFor(
    "the watches to end",
    async () => (await gateway.read("klutch_gateway_served_watches")) === 0,
  );
});

test("another tenant's namespace, all namespaces and other kinds are the API server's to decide", async () => {
  await using client = clientOf(red, gateway);
  for (const namespace of ["blue", undefined]) {
    await assert.rejects(client.list(widgets, { namespace, resourceVersion: "0" }), isForbidden);
    const watch = client.watch(widgets, { namespace, resourceVersion: "1" });
    await assert.rejects(watch[Symbol.asyncIterator]().next(), isForbidden);
  }
  assert.deepEqual((await client.list(gadgets, { namespace: "red", resourceVersion: "0" })).items, []);
  await client.create(gadgets, { ...widget("red", "g"), kind: "Gadget" });
  assert.equal((await client.get(gadgets, { namespace: "red", name: "g" })).metadata.name, "g");
  await client.delete(gadgets, { namespace: "red", name: "g" });
});

test("versions that the history does not reach are expired, and nonsense is answered by the API server", async () => {
  await using client = clientOf(red, gateway);
  const first = (resourceVersion: string): Promise<IteratorResult<Seen>> =>
    client
      .watch<DynamicObject>(widgets, { namespace: "red", resourceVersion })
      [Symbol.asyncIterator]()
      .next();
  await assert.rejects(first("1"), isGone);
  await assert.rejects(first("-1"), /invalid syntax/);
  await assert.rejects(client.list(widgets, { namespace: "red", resourceVersion: "x" }), /invalid syntax/);
  // Another tenant's object as the place to go on from.
  const place = Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":"../blue/secret-of-blue"}').toString(
    "base64url",
  );
  const list = client.list(widgets, { namespace: "red", resourceVersion: "", continueToken: place });
  const found = await list.then(
    ({ items }) => items.map(({ metadata }) => metadata.namespace),
    () => [],
  );
  assert.ok(
    found.every((namespace) => namespace === "red"),
    "a continue token leads into another namespace",
  );
});

test("headers and framing that another reader could take for something else never reach the API server", async () => {
  const path = "/apis/shop.example.com/v1/namespaces/blue/widgets?resourceVersion=0";
  const own = path.replace("blue", "red");
  const token = `Authorization: ${tokenOf(red)}`;
  const ask = (target: string, ...headers: readonly string[]): ReturnType<typeof rawAnswers> =>
    rawAnswers(red, gateway.port, [
      `GET ${target} HTTP/1.1`,
      "Host: gateway",
      ...headers,
      "Connection: close",
      "",
      "",
    ]);
  assert.deepEqual((await ask(own, token)).codes, [200]);
  const passedBefore = await gateway.read('klutch_gateway_passed_requests_total{reason="path"}');
  const refused: readonly [code: number, target: string, ...headers: string[]][] = [
    [401, own],
    [401, own, "Authorization: "],
    [401, own, "Authorization: Bearer "],
    [400, own, token, `Authorization: ${tokenOf(blue)}`],
    [403, path, token, "Impersonate-User: system:admin"],
    [403, path, token, "Impersonate-Group: system:masters"],
    [400, path, token, "Connection: Authorization"],
    [400, own, token, "Upgrade: websocket"],
    [400, "/apis/shop.example.com/v1/namespaces/red/../blue/widgets", token],
    [400, "/apis/shop.example.com/v1/namespaces/red%2f..%2fblue/widgets", token],
    [400, "https://other/api", token],
  ];
  for (const [code, target, ...headers] of refused) {
    const { codes, text } = await ask(target, ...headers);
    assert.deepEqual(codes, [code], `${target} ${headers.map((one) => one.split(":")[0]).join(" ")}`);
    assert.ok(!text.includes("secret-of-blue") && !text.includes(tokenOf(red)));
  }
  assert.equal(await gateway.read('klutch_gateway_passed_requests_total{reason="path"}'), passedBefore);
  // Trusted proxies only may say who asks; the words are dropped.
  assert.deepEqual(
    (await ask(path, token, "X-Remote-User: admin", "X-Remote-Group: system:masters")).codes,
    [403],
  );
});

test("a second request inside the body of a first is never one of its own", async () => {
  const inner = [
    "GET /apis/shop.example.com/v1/namespaces/red/widgets/hidden HTTP/1.1",
    "Host: x",
    "",
    "",
  ].join("\r\n");
  const token = `Authorization: ${tokenOf(red)}`;
  const start = ["POST /apis/shop.example.com/v1/namespaces/red/widgets HTTP/1.1", "Host: gateway", token];
  const both = [`Content-Length: ${inner.length}`, "Transfer-Encoding: chunked"];
  const { codes } = await rawAnswers(red, gateway.port, [...start, ...both, "", `0\r\n\r\n${inner}`]);
  assert.deepEqual(codes, [400]);
  const twice = [`Content-Length: ${inner.length}`, "Content-Length: 0"];
  assert.deepEqual((await rawAnswers(red, gateway.port, [...start, ...twice, "", inner])).codes, [400]);
});

test("a client that resets its streams with errors harms no one", async () => {
  const session = connect(gateway.url, { ca: red.ca ?? "" });
  session.on("error", () => undefined);
  const path = "/apis/shop.example.com/v1/namespaces/red/widgets";
  const targets = [`${path}?watch=1&resourceVersion=0`, `${path}?watch=1`, path, "/refused/../x"];
  for (const code of [
    constants.NGHTTP2_INTERNAL_ERROR,
    constants.NGHTTP2_CANCEL,
    constants.NGHTTP2_PROTOCOL_ERROR,
  ])
    for (const target of targets) {
      for (const method of ["GET", "POST"]) {
        const headers = { ":path": target, ":method": method, authorization: tokenOf(red) };
        const stream = session.request(headers, { endStream: method === "GET" });
        stream.on("error", () => undefined);
        await Promise.race([once(stream, "response").catch(() => undefined), setTimeout(100)]);
        stream.close(code);
      }
    }
  session.destroy();
  await using client = clientOf(red, gateway);
  await client.list(widgets, { namespace: "red", resourceVersion: "0" });
  await waitFor(
    "its watches to end",
    async () => (await gateway.read("klutch_gateway_served_watches")) === 0,
  );
});

test("a gateway whose exports are slow to come does not pass the first requests through", async () => {
  await using wire = await TcpProxy.start(stage.cluster.url);
  wire.delay(200);
  await using fresh = await startGateway(stage, { exportsFrom: wire.url });
  await using client = clientOf(red, fresh);
  await client.list(widgets, { namespace: "red", resourceVersion: "0" });
  assert.equal(await fresh.read("klutch_gateway_lists_total"), 1);
});
