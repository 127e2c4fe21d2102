/** Limits of one app cluster at the gateway, over a real API server: what one takes is not taken from another. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ClusterConfig, isTooManyRequests, type KubeClient } from "@klutch/kube";
import { accountConfig, TcpProxy, waitFor } from "@klutch/kube-testing";
import { rawAnswers, tokenOf } from "./testing/raw.ts";
import {
  clientOf,
  gadgets,
  type Stage,
  startGateway,
  startStage,
  untilShared,
  widgets,
} from "./testing/stage.ts";

let stage: Stage;
let red: ClusterConfig;
let blue: ClusterConfig;
const stack = new AsyncDisposableStack();

before(async () => {
  stage = stack.use(await startStage());
  [red, blue] = [await stage.tenant("red"), await stage.tenant("blue")];
});
after(() => stack.disposeAsync());

test("an account that opens more watches than it may is told to come back, whichever of its tokens it takes", async () => {
  await using small = await startGateway(stage, { limits: { mostWatches: 3 } });
  await using client = clientOf(red, small);
  // Another token of the same account.
  await using second = clientOf(await accountConfig(stage.cluster, { namespace: "red", name: "red" }), small);
  await untilShared(small, client, "red");
  const { resourceVersion } = await client.list(widgets, { namespace: "red", resourceVersion: "0" });
  const stop = new AbortController();
  const open = async (tenant: KubeClient, namespace = "red"): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const options = { namespace, resourceVersion, signal: stop.signal, onOpen: resolve };
    tenant.watch(widgets, options)[Symbol.asyncIterator]().next().catch(reject);
    await promise;
  };
  await open(client);
  await open(client);
  await open(second);
  for (const tenant of [client, second]) await assert.rejects(open(tenant), isTooManyRequests);
  const path = "/apis/shop.example.com/v1/namespaces/red/widgets?watch=1&resourceVersion=1";
  const lines = [`GET ${path} HTTP/1.1`, "Host: x", `Authorization: ${tokenOf(red)}`, "Connection: close"];
  const { codes, text } = await rawAnswers(red, small.port, [...lines, "", ""]);
  assert.deepEqual(codes, [429]);
  assert.match(text, /\r\nretry-after: 5\r\n/i);
  assert.match(text, /its account has 3 watches open, the most that --max-watches allows/);
  await using other = clientOf(blue, small);
  await open(other, "blue");
  await client.list(widgets, { namespace: "red", resourceVersion: "0" });
  stop.abort();
  await waitFor("a place to be free", async () => {
    return (await small.read("klutch_gateway_served_watches")) === 0;
  });
});

test("a watch that only the API server answers counts apart, so that one account cannot fill its memory", async () => {
  await using small = await startGateway(stage, { limits: { mostPassedWatches: 1 } });
  await using client = clientOf(red, small);
  await untilShared(small, client, "red");
  const stop = new AbortController();
  const open = async (labelSelector: string | undefined): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { resourceVersion } = await client.list(widgets, { namespace: "red" });
    const options = {
      namespace: "red",
      labelSelector,
      resourceVersion,
      signal: stop.signal,
      onOpen: resolve,
    };
    client.watch(widgets, options)[Symbol.asyncIterator]().next().catch(reject);
    await promise;
  };
  await open("a=1");
  await assert.rejects(open("a=2"), isTooManyRequests);
  await open(undefined);
  stop.abort();
});

test("one account's requests that are under way at the same moment are bounded, and another's go on", async () => {
  const { cluster, account } = stage;
  await using wire = await TcpProxy.start(cluster.url);
  await using small = await startGateway(
    { cluster, account: { ...account, server: wire.url } },
    { limits: { mostRequests: 2 }, exportsFrom: account.server },
  );
  await using client = clientOf(red, small);
  await using other = clientOf(blue, small);
  const list = (tenant: KubeClient, namespace: string): Promise<unknown> =>
    tenant.list(gadgets, { namespace, resourceVersion: "0" });
  await list(client, "red");
  await list(other, "blue");
  const passed = (): Promise<number> => small.read('klutch_gateway_passed_requests_total{reason="unbound"}');
  const before = await passed();
  wire.delay(2_000);
  const underWay = [list(client, "red"), list(client, "red")];
  await waitFor("both to be under way", async () => (await passed()) === before + 2);
  const path = "/apis/shop.example.com/v1/namespaces/red/gadgets";
  const lines = [`GET ${path} HTTP/1.1`, "Host: x", `Authorization: ${tokenOf(red)}`, "Connection: close"];
  const { codes, text } = await rawAnswers(red, small.port, [...lines, "", ""]);
  assert.deepEqual(codes, [429]);
  assert.match(text, /\r\nretry-after: 1\r\n/i);
  wire.delay(0);
  await list(other, "blue");
  await Promise.all(underWay);
  await list(client, "red");
});

test("a forged token is refused, and takes no place of the account that it names", async () => {
  await using small = await startGateway(stage, { limits: { mostWatches: 1 } });
  const [head = "", claims = "", signature = ""] = tokenOf(red).split(".");
  const forged = [head, claims, signature.toLowerCase()].join(".");
  const path = "/apis/shop.example.com/v1/namespaces/red/widgets?watch=1";
  const lines = [`GET ${path} HTTP/1.1`, "Host: x", `Authorization: ${forged}`, "Connection: close", "", ""];
  for (let count = 0; count < 3; count++)
    assert.deepEqual((await rawAnswers(red, small.port, lines)).codes, [401]);
  await using client = clientOf(red, small);
  await untilShared(small, client, "red");
});
