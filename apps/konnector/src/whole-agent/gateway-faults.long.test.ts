/**
 * Two app clusters of two tenants behind one gateway process, with the same namespaces and claims of the same names: only the owner in an
 * object tells whose it is. The gateway is killed and the API server restarted while people edit.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { apiServiceExports, apiServiceNamespaces, clusterBindings, serviceNamespaceName } from "@klutch/api";
import { createKubeClient, isForbidden, type KubeClient, parseForeignKubeconfig } from "@klutch/kube";
import {
  type DynamicObject,
  namespaces as namespaceType,
  numberAt,
  type ResourceType,
  textAt,
} from "@klutch/kube-core";
import {
  followObjects,
  type GatewayProcess,
  namespaceObject,
  type OwnCluster,
  startCluster,
  startGatewayProcess,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import { bindApi, startAppCluster, startKonnector, testApi } from "../testing/fixture.ts";
import { openWatches } from "../testing/open-watches.ts";
import {
  exportCrd,
  installBindCrds,
  installCrd,
  prepareTenant,
  serveNamespaces,
} from "../testing/provider-side.ts";

const apis = [testApi("widgets", "Widget"), testApi("gadgets", "Gadget")];
const namespaces = ["app", "shop", "mail"];
const patience = { timeoutMs: 120_000 };
const stack = new AsyncDisposableStack();
let provider: OwnCluster;
let gateway: GatewayProcess;
let tenants: readonly Tenant[];

/** An app cluster that is bound through the gateway. */
interface Tenant {
  readonly name: string;
  readonly consumer: TestCluster;
  /** Acts with the tenant's own token through the gateway. */
  readonly client: KubeClient;
  /** Newest state of each object that watches through the gateway have shown, by kind, namespace and name; undefined once it was deleted. */
  readonly seen: Map<string, DynamicObject | undefined>;
}

/** One claim of a tenant. */
interface Claim {
  readonly tenant: Tenant;
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
}

before(async () => {
  provider = stack.use(await startCluster({ name: "provider" }));
  await installBindCrds(provider);
  for (const { crd } of apis) await installCrd(provider, crd);
  const kinds = [apiServiceExports, apiServiceNamespaces, clusterBindings, ...apis.map(({ type }) => type)];
  gateway = stack.use(await startGatewayProcess(provider, { kinds }));
  const served = new AbortController();
  const serving = serveNamespaces(provider, served.signal);
  tenants = [await startTenant("red"), await startTenant("blue")];
  for (const claim of claims("kept")) await create(claim);
  for (const claim of claims("kept"))
    await waitFor(`${labelOf(claim)} upstream`, () => upstream(claim), patience);
  // Every namespace has its answer, and the API server is about to go.
  served.abort();
  await serving;
  for (const tenant of tenants) follow(tenant);
});
after(() => stack.disposeAsync());

async function startTenant(name: string): Promise<Tenant> {
  const plurals = apis.map(({ type }) => type.plural);
  const direct = await prepareTenant(provider, plurals, name);
  for (const { crd } of apis) await exportCrd(provider, crd, {}, [], name);
  const kubeconfig = direct.replace(provider.url, gateway.url);
  const consumer = stack.use(await startAppCluster());
  for (const namespace of namespaces.slice(1))
    await consumer.client.create(namespaceType, namespaceObject(namespace));
  stack.use(await startKonnector({ consumer }, { identity: name }));
  for (const api of apis) await bindApi({ consumer }, api.name, kubeconfig);
  const client = stack.use(createKubeClient(parseForeignKubeconfig(kubeconfig), { userAgent: name }));
  return { name, consumer, client, seen: new Map() };
}

/** Watches the tenant's namespaces with its token until the file ends. */
function follow({ name, client, seen }: Tenant): void {
  const stop = new AbortController();
  for (const { type } of apis)
    for (const namespace of namespaces) {
      const following = followObjects(client, type, {
        namespace: serviceNamespaceName(name, namespace),
        idleTimeoutMs: 5_000,
        signal: stop.signal,
        onChange(kind, object) {
          const key = `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`;
          seen.set(key, kind === "DELETED" ? undefined : object);
          if (textAt(object, "spec", "owner") !== name)
            strangers.push(`${name} saw ${JSON.stringify(object)}`);
        },
      });
      stack.defer(() => following);
    }
  stack.defer(() => stop.abort());
}

/** Objects that reached a tenant and are another's. */
const strangers: string[] = [];

function claims(name: string): readonly Claim[] {
  return tenants.flatMap((tenant) =>
    apis.flatMap(({ type }) => namespaces.map((namespace) => ({ tenant, type, namespace, name }))),
  );
}

function labelOf({ tenant, type, namespace, name }: Claim): string {
  return `${tenant.name}'s ${type.kind} ${namespace}/${name}`;
}

async function create({ tenant, type, namespace, name }: Claim): Promise<void> {
  const { client } = tenant.consumer;
  await waitFor(`${type.plural} to be served`, () => client.list(type), patience);
  await client.create<DynamicObject>(type, {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: { namespace, name },
    spec: { owner: tenant.name, size: 0 },
  });
}

function edit({ tenant, type, namespace, name }: Claim, size: number): Promise<unknown> {
  return tenant.consumer.client.mergePatch(type, { namespace, name }, { spec: { size } });
}

function upstreamRef({ tenant, namespace, name }: Claim): {
  readonly namespace: string;
  readonly name: string;
} {
  return { namespace: serviceNamespaceName(tenant.name, namespace), name };
}

function upstream(claim: Claim): Promise<DynamicObject | undefined> {
  return provider.client.find<DynamicObject>(claim.type, upstreamRef(claim));
}

function seenBy(claim: Claim): DynamicObject | undefined {
  const { namespace, name } = upstreamRef(claim);
  return claim.tenant.seen.get(`${claim.type.kind} ${namespace}/${name}`);
}

/** Waits for an edit of all claims upstream, and for statuses, which tell the owner, in the app clusters and in the tenants' own watches. */
async function untilThrough(name: string, size: number): Promise<void> {
  for (const claim of claims(name))
    await waitFor(
      `size ${size} of ${labelOf(claim)} upstream`,
      async () => numberAt(await upstream(claim), "spec", "size") === size,
      patience,
    );
  for (const claim of claims(name)) {
    const status = { owner: claim.tenant.name, size };
    await provider.client.mergePatch(claim.type, upstreamRef(claim), { status }, { subresource: "status" });
  }
  for (const claim of claims(name)) {
    const { tenant, type, namespace } = claim;
    const found = await waitFor(
      `the status of ${labelOf(claim)}`,
      async () => {
        const object = await tenant.consumer.client.get<DynamicObject>(type, { namespace, name });
        return numberAt(object, "status", "size") === size && object;
      },
      patience,
    );
    assert.equal(textAt(found, "status", "owner"), tenant.name);
    await waitFor(
      `the status of ${labelOf(claim)} in the tenant's watch`,
      () => numberAt(seenBy(claim), "status", "size") === size,
      patience,
    );
  }
}

/** Asks with each tenant's token for the other's namespaces. */
async function nothingOfAnotherTenant(): Promise<void> {
  for (const { name, client } of tenants)
    for (const other of tenants.filter((one) => one.name !== name))
      for (const { type } of apis)
        for (const resourceVersion of ["0", undefined]) {
          const namespace = serviceNamespaceName(other.name, "app");
          await assert.rejects(client.list(type, { namespace, resourceVersion }), isForbidden);
          const watch = client.watch(type, { namespace, resourceVersion: "0" });
          await assert.rejects(watch[Symbol.asyncIterator]().next(), isForbidden);
          await assert.rejects(client.list(type, { resourceVersion }), isForbidden);
        }
  assert.deepEqual(strangers, []);
  for (const { name, consumer } of tenants)
    for (const { type } of apis)
      for (const object of (await consumer.client.list<DynamicObject>(type)).items)
        assert.equal(textAt(object, "spec", "owner"), name);
}

/** Edits all claims in turn while something happens; resolves to the last size that all of them got. */
async function editing(name: string, from: number, happens: () => Promise<unknown>): Promise<number> {
  let [size, isOver] = [from, false];
  const editor = (async () => {
    while (!isOver) {
      size++;
      for (const claim of claims(name)) await edit(claim, size);
    }
  })();
  try {
    await happens();
  } finally {
    isOver = true;
    await editor;
  }
  return size;
}

test("two tenants with three namespaces and two APIs cost the API server one watch of each kind", async () => {
  await untilThrough("kept", 0);
  await nothingOfAnotherTenant();
  await waitFor(
    "the API server to hold one watch of each kind",
    async () => (await openWatches(provider)) === apis.length,
    patience,
  );
  const text = await (await fetch(`${gateway.probeUrl}/metrics`)).text();
  const answered = Number(/^klutch_gateway_served_watches (\d+)$/m.exec(text)?.[1]);
  // Konnectors and the test's own watches, one in each namespace.
  assert.ok(answered >= 2 * claims("kept").length, `the gateway answers ${answered} watches`);
});

test("a gateway that is killed while claims are edited, created and deleted loses none of it", async () => {
  for (const claim of claims("short-lived")) await create(claim);
  await untilThrough("short-lived", 0);
  const size = await editing("kept", 100, async () => {
    await gateway.kill();
    for (const claim of claims("fresh")) await create(claim);
    for (const { tenant, type, namespace, name } of claims("short-lived"))
      await tenant.consumer.client.delete(type, { namespace, name });
    await gateway.restart();
  });
  // A gateway whose caches are empty knows the tenants no better than one that has run for long.
  await nothingOfAnotherTenant();
  await untilThrough("kept", size);
  await untilThrough("fresh", 0);
  for (const claim of claims("short-lived"))
    await waitFor(
      `${labelOf(claim)} to be gone upstream and in the tenant's watch`,
      async () => (await upstream(claim)) === undefined && seenBy(claim) === undefined,
      patience,
    );
  assert.equal(await openWatches(provider), apis.length);
});

test("an API server that is killed and started again behind the gateway loses nothing", async () => {
  const size = await editing("kept", 10_000, async () => {
    await provider.kill("apiserver");
    for (const claim of claims("fresh")) await edit(claim, 1);
    await provider.restart("apiserver");
  });
  await untilThrough("kept", size);
  await untilThrough("fresh", 1);
  await nothingOfAnotherTenant();
  assert.equal(await openWatches(provider), apis.length);
});
