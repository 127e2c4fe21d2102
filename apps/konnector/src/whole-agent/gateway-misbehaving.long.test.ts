/** One tenant opens 10,000 watches, lists in loops and writes objects of 1 MB through the gateway; the claims of another go up and their status comes down. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { apiServiceExports, apiServiceNamespaces, clusterBindings, serviceNamespaceName } from "@klutch/api";
import { parseForeignKubeconfig } from "@klutch/kube";
import { type DynamicObject, textAt } from "@klutch/kube-core";
import {
  type GatewayProcess,
  type MisbehavingClient,
  objectOfType,
  openStreams,
  type OwnCluster,
  requestInLoops,
  startCluster,
  startGatewayProcess,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import { bindApi, startAppCluster, startKonnector, testApi, widget } from "../testing/fixture.ts";
import { openWatches } from "../testing/open-watches.ts";
import {
  exportCrd,
  installBindCrds,
  installCrd,
  prepareTenant,
  serveNamespaces,
} from "../testing/provider-side.ts";

const api = testApi("widgets", "Widget");
const { type } = api;
const patience = { timeoutMs: 120_000 };
const [mostWatches, mostPassedWatches, mostRequests] = [2_000, 50, 20];
const stack = new AsyncDisposableStack();
let provider: OwnCluster;
let gateway: GatewayProcess;
let consumer: TestCluster;
let attacker: MisbehavingClient;
/** Collection of widgets in the attacker's only namespace. */
let collection: string;

before(async () => {
  provider = stack.use(await startCluster({ name: "provider" }));
  await installBindCrds(provider);
  await installCrd(provider, api.crd);
  const flags = [
    `--max-watches=${mostWatches}`,
    `--max-passed-watches=${mostPassedWatches}`,
    `--max-requests=${mostRequests}`,
  ];
  const kinds = [apiServiceExports, apiServiceNamespaces, clusterBindings, type];
  gateway = stack.use(await startGatewayProcess(provider, { kinds, flags }));
  const served = new AbortController();
  const serving = serveNamespaces(provider, served.signal);
  stack.defer(() => serving);
  stack.defer(() => served.abort());
  const [good, bad] = [await startTenant("red"), await startTenant("grey")];
  consumer = stack.use(await startAppCluster());
  stack.use(await startKonnector({ consumer }, { identity: "red" }));
  await bindApi({ consumer }, api.name, good);
  await waitFor("widgets to be served", () => consumer.client.list(type), patience);
  await provider.client.create(
    apiServiceNamespaces,
    objectOfType(apiServiceNamespaces, { namespace: "grey", name: "app" }, { spec: {} }),
  );
  const { auth, server, ca } = parseForeignKubeconfig(bad);
  assert.ok(auth.kind === "token");
  attacker = { server, ca, token: auth.token.reveal() };
  collection = `/apis/${type.group}/${type.version}/namespaces/${serviceNamespaceName("grey", "app")}/${type.plural}`;
  await waitFor("the attacker's rights", async () => {
    using one = await openStreams(attacker, `${collection}?resourceVersion=0`, 1);
    return one.heads[0]?.status === 200;
  });
});
after(() => stack.disposeAsync());

async function startTenant(name: string): Promise<string> {
  const direct = await prepareTenant(provider, [type.plural], name);
  await exportCrd(provider, api.crd, {}, [], name);
  return direct.replace(provider.url, gateway.url);
}

/** Creates a claim in the good app cluster; resolves when its status, written upstream, is back there. */
async function roundTrip(name: string): Promise<void> {
  await consumer.client.create(type, widget(type, name, { size: 3 }));
  const ref = { namespace: serviceNamespaceName("red", "app"), name };
  await waitFor(`${name} upstream`, () => provider.client.find(type, ref), patience);
  await provider.client.mergePatch(type, ref, { status: { said: name } }, { subresource: "status" });
  await waitFor(
    `the status of ${name}`,
    async () => {
      const found = await consumer.client.get<DynamicObject>(type, { namespace: "app", name });
      return textAt(found, "status", "said") === name;
    },
    patience,
  );
}

const count = <T>(items: readonly T[], is: (item: T) => boolean): number => items.filter(is).length;

test("10,000 watches of one tenant, its lists in loops and its objects of 1 MB do not stop another's claims", async (t) => {
  await roundTrip("before");
  const quiet = await openWatches(provider);
  using watches = await openStreams(attacker, `${collection}?watch=1&resourceVersion=0`, 10_000);
  assert.equal(
    count(watches.heads, ({ status }) => status === 200),
    mostWatches,
  );
  const refused = watches.heads.filter(({ status }) => status !== 200);
  assert.ok(refused.every(({ status, retryAfter }) => status === 429 && retryAfter === "5"));
  await roundTrip("among-watches");
  const stop = new AbortController();
  const large = "x".repeat(1024 * 1024);
  const loops = { signal: stop.signal, loops: 3 * mostRequests };
  const object = (number: number): string =>
    JSON.stringify({
      apiVersion: `${type.group}/${type.version}`,
      kind: type.kind,
      // Some are made, and the rest is refused by the API server only.
      metadata: { name: `large-${number % 8}` },
      spec: { large },
    });
  const lists = requestInLoops(attacker, { ...loops, path: `${collection}?resourceVersion=0` });
  const writes = requestInLoops(attacker, { ...loops, path: collection, body: object, loops: 2 });
  for (const name of ["first", "second", "third"]) await roundTrip(name);
  stop.abort();
  const [listed, written] = await Promise.all([lists, writes]);
  t.diagnostic(`lists: ${JSON.stringify([...listed])}; writes: ${JSON.stringify([...written])}`);
  assert.ok((listed.get(200) ?? 0) > 0 && (written.get(201) ?? 0) > 0, "its own share is left to it");
  assert.equal(await openWatches(provider), quiet, "the API server holds no more watches than before");
});

test("lists that one tenant never reads take its own places only", async () => {
  using lists = await openStreams(attacker, `${collection}?resourceVersion=0`, 3 * mostRequests);
  const refused = lists.heads.filter(({ status }) => status !== 200);
  assert.equal(refused.length, 2 * mostRequests);
  assert.ok(refused.every(({ status, retryAfter }) => status === 429 && retryAfter === "1"));
  await roundTrip("beside-lists");
});

test("watches that only the API server answers are refused before they fill its memory", async () => {
  const quiet = await openWatches(provider);
  using watches = await openStreams(attacker, `${collection}?watch=1&labelSelector=a%3Db`, 1_000);
  assert.equal(
    count(watches.heads, ({ status }) => status === 200),
    mostPassedWatches,
  );
  assert.equal(
    count(watches.heads, ({ status }) => status === 429),
    1_000 - mostPassedWatches,
  );
  await waitFor(
    "the API server to count them",
    async () => (await openWatches(provider)) <= quiet + mostPassedWatches,
  );
  await roundTrip("beside-selectors");
});
