/** Binding by Git only: the konnector's chart in one cluster, an AppCluster and a role in the other, in any order. Real API servers and backends. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import {
  type AppCluster,
  appClusters,
  type APIServiceBinding,
  apiServiceBindings,
  apiServiceExportTemplates,
  autoBindManifests,
  autoBoundAnnotation,
  binderName,
  binderRules,
  clusterBindingName,
  clusterBindings,
  consumerNamespace,
  crdNameOf,
  type Grant,
  grants,
  konnectorName,
  konnectorPolicyManifests,
  konnectorScopeOf,
  kubeconfigKey,
  ownBindSecret,
} from "@klutch/api";
import {
  clusterRoles,
  configMaps,
  conditionsOf,
  type DynamicObject,
  events,
  findCondition,
  namespaces,
  recordAt,
  secrets,
  secretText,
  serviceAccounts,
} from "@klutch/kube-core";
import { createKubeClient, isForbidden, parseForeignKubeconfig, serviceAccountToken } from "@klutch/kube";
import { priceListKey, priceListName, pricesNamespace } from "@klutch/services";
import {
  allowPeople,
  applyPolicies,
  crdObject,
  installRights,
  namespaceObject,
  roleObject,
  ruleOn,
  startBackendProcess,
  startKubectl,
  TcpProxy,
  type TestCluster,
  waitFor,
} from "@klutch/kube-testing";
import {
  createBinding,
  grantApi,
  startFixture,
  startKonnector,
  type TestApi,
  testApi,
  widget,
} from "../testing/fixture.ts";
import { pairOf } from "../testing/pair.ts";
import { installCrd, offer } from "../testing/provider-side.ts";

const cleanup = new AsyncDisposableStack();
after(() => cleanup.disposeAsync());
const fixture = cleanup.use(await startFixture({ backend: true }));
const { consumer, provider } = fixture;
const { binding, create, untilReady } = pairOf(fixture);
const [widgets, gadgets] = [testApi("widgets", "Widget"), testApi("gadgets", "Gadget")];
for (const { crd, type } of [widgets, gadgets]) {
  await installCrd(provider, crd);
  await offer(provider, type);
}
await provider.client.create(clusterRoles, roleObject({ name: binderName }, binderRules));
// Plays the Service of two replicas.
const service = cleanup.use(await TcpProxy.start("http://127.0.0.1:1"));
const url = `${service.url}/bind-app-cluster`;
const startBackend = async (name: string): ReturnType<typeof startBackendProcess> =>
  cleanup.use(
    await startBackendProcess(provider, {
      name,
      flags: [
        `--oidc-callback-url=${service.url}/callback`,
        "--bind-authorization=rbac",
        "--lease-namespace=default",
      ],
    }),
  );
const first = await startBackend("one");
service.route(first.url);

const folder = await mkdtemp(join(tmpdir(), "klutch-token-"));
cleanup.defer(() => rm(folder, { recursive: true }));
const tokenFile = join(folder, "token");
const konnector = { namespace: consumerNamespace, name: konnectorName };

/** A token as the kubelet writes it. */
async function tokenOf(
  { client }: Pick<TestCluster, "client">,
  account = konnector,
  audience = url,
  expirationSeconds = 600,
): Promise<string> {
  const options = { expirationSeconds, audiences: [audience] };
  return (await serviceAccountToken(client, account, options)).token.reveal();
}
/** The keys of a cluster, by the command of docs/gitops.md. */
const jwksOf = async (cluster: TestCluster): Promise<string> =>
  (await startKubectl(cleanup, cluster))("get", "--raw", "/openid/v1/jwks");
await writeFile(tokenFile, `${await tokenOf(consumer)}\n`);

const ownBind = { url, appCluster: "prod", tokenFile };
const timing = { ownBindRetryMs: 1_000 };
const issuer = "https://kubernetes.default.svc";
const requested = async (name: string): Promise<ReturnType<typeof findCondition>> =>
  findCondition(conditionsOf(await binding(name)), "Requested");
const untilSaid = (name: string, words: RegExp): Promise<unknown> =>
  waitFor(`${words.source} to be said`, async () => words.test((await requested(name))?.message ?? ""), {
    timeoutMs: 60_000,
  });
const appCluster = (): Promise<AppCluster> => provider.client.get<AppCluster>(appClusters, { name: "prod" });
const identify = (identity: object): Promise<unknown> =>
  provider.client.mergePatch(appClusters, { name: "prod" }, { spec: { identity } });

/** Lets the app cluster bind these templates. */
const allow = (name: string, ...templates: readonly string[]): Promise<void> =>
  allowPeople(provider.client, name, ruleOn(apiServiceExportTemplates, ["bind"], templates), [
    ["User", "klutch:app-cluster:prod"],
  ]);

/** Creates a claim and waits for its copy. */
async function untilSynced({ type }: TestApi, name: string): Promise<void> {
  await create(type, widget(type, name, {}));
  await waitFor(`${name} in the control plane`, async () =>
    (await provider.client.list(type)).items.some(({ metadata }) => metadata.name === name),
  );
}

/** Sends what a konnector sends. */
async function post(
  token: string,
  body: object,
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(token === "" || !text.includes(token), "the token came back");
  return { status: answer.status, text };
}
const wish = (...resources: readonly string[]): object => ({
  clusterID: "prod",
  apis: resources.map((resource) => ({ group: widgets.type.group, resource })),
});

test("with the chart first, each missing piece is named until the last one comes, also across a restart of the backend", async () => {
  await using _konnector = await startKonnector(fixture, { ownBind, timing });
  await grantApi(fixture, widgets.name);
  await createBinding(fixture, widgets.name, [], ownBindSecret);
  await untilSaid(
    widgets.name,
    /HTTP 403: The control plane has no AppCluster prod\. Ask the platform operator to create it/,
  );
  await provider.client.create<AppCluster>(appClusters, {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "AppCluster",
    metadata: { name: "prod" },
    spec: { displayName: "Production", identity: { issuer, jwks: await jwksOf(provider) } },
  });
  await waitFor("the AppCluster to say what it waits for", async () =>
    /has not called yet\. Its chart needs provider\.appCluster: prod/.test(
      findCondition(conditionsOf(await appCluster()), "Bound")?.message ?? "",
    ),
  );
  await first.stop();
  const second = await startBackend("two");
  service.route(second.url);
  await untilSaid(
    widgets.name,
    /HTTP 401: The token is not accepted for the AppCluster prod: no key of spec\.identity\.jwks has signed it/,
  );
  await identify({ jwks: await jwksOf(consumer) });
  await untilSaid(widgets.name, /HTTP 403: klutch:app-cluster:prod may not bind widgets/);
  await allow("prod-widgets", "widgets");
  await untilReady(widgets.name);
  await untilSynced(widgets, "by-git");
  const { namespace } = await waitFor("the AppCluster to be bound", async () => {
    const { status } = await appCluster();
    return findCondition(status?.conditions, "Ready")?.status === "True" ? status : undefined;
  });
  const [grant] = (await provider.client.list<Grant>(grants, { namespace })).items;
  assert.equal(grant?.spec.identity.user, "klutch:app-cluster:prod");
  assert.equal(grant?.spec.way, "token");
});

test("with the AppCluster first, a binding that comes later is bound at once; one without the right names it, and the others go on", async () => {
  await using _konnector = await startKonnector(fixture, { ownBind, timing });
  await grantApi(fixture, gadgets.name);
  await createBinding(fixture, gadgets.name, [], ownBindSecret);
  await untilSaid(gadgets.name, /klutch:app-cluster:prod may not bind gadgets/);
  await untilReady(widgets.name);
  await allow("prod-gadgets", "gadgets");
  await untilReady(gadgets.name);
  await untilSynced(gadgets, "later");
});

test("a Secret that is lost comes back, and a bound API needs no backend", async () => {
  const ref = { namespace: consumerNamespace, name: ownBindSecret };
  await consumer.client.delete(secrets, ref);
  {
    await using _konnector = await startKonnector(fixture, { ownBind, timing });
    await waitFor("the Secret", () => consumer.client.find(secrets, ref));
    await untilReady(gadgets.name);
  }
  await service.shut();
  await using _konnector = await startKonnector(fixture, { ownBind, timing });
  await untilSynced(gadgets, "without-backend");
  await service.open();
});

test("a token of another cluster, account, audience or lifetime, a changed one and an unsigned one are refused, and found nothing", async () => {
  const before = (await provider.client.list(namespaces)).items.length;
  const good = await tokenOf(consumer);
  const [head = "", claims = "", signature = ""] = good.split(".");
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const decoded = JSON.parse(Buffer.from(claims, "base64url").toString()) as object;
  const other = { namespace: "default", name: "other" };
  for (const { client } of [consumer, provider])
    await client.create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: other });
  const lies: readonly (readonly [string, RegExp])[] = [
    [await tokenOf(provider, other), /no key of spec\.identity\.jwks has signed it/],
    [await tokenOf(consumer, other), /unexpected "sub" claim value/],
    [await tokenOf(consumer, konnector, "https://shop.example.org"), /unexpected "aud" claim value/],
    [await tokenOf(consumer, konnector, url, 2 * 86_400), /"exp" is more than 86400 seconds after "iat"/],
    [
      `${head}.${encoded({ ...decoded, sub: "system:admin" })}.${signature}`,
      /no key of spec\.identity\.jwks has signed it/,
    ],
    [`${encoded({ alg: "none" })}.${claims}.`, /not accepted for the AppCluster prod/],
    ["nonsense", /not accepted for the AppCluster prod/],
  ];
  for (const [token, words] of lies) {
    const { status, text } = await post(token, wish("widgets"));
    assert.equal(status, 401, text);
    assert.match(text.replaceAll('\\"', '"'), words);
  }
  assert.equal((await post("", wish("widgets"))).status, 401);
  for (const [body, words] of [
    [{ ...wish("widgets"), clusterID: "staging" }, /no AppCluster staging/],
    [{ ...wish("widgets"), clusterID: " " }, /clusterID: is blank/],
    [wish(), /apis: has 0 entries/],
  ] as const)
    assert.match((await post(good, body)).text, words);
  assert.equal((await provider.client.list(namespaces)).items.length, before);
});

test("a captured konnector gets no API beyond its role, and its account cannot write AppClusters", async () => {
  const kubeconfig = secretText(
    await consumer.client.get<DynamicObject>(secrets, { namespace: consumerNamespace, name: ownBindSecret }),
    kubeconfigKey,
  );
  const { status, text } = await post(await tokenOf(consumer), wish("widgets", "secrets"));
  assert.equal(status, 404, text);
  await using captured = createKubeClient(parseForeignKubeconfig(kubeconfig ?? ""));
  const forged = { ...(await appCluster()), metadata: { name: "forged" } };
  await assert.rejects(captured.create(appClusters, forged), isForbidden);
  await assert.rejects(captured.get(appClusters, { name: "prod" }), isForbidden);
});

test("keys that cannot be used are named on the object", async () => {
  for (const [jwks, words] of [
    ["{}", /must be \{"keys": \[…\]\}/],
    ["no json", /is not JSON/],
    ['{"keys":[{"kty":"oct","k":"AAAA"}]}', /keys\[0\] must have the kty RSA or EC/],
    ['{"keys":[{"kty":"RSA","d":"AAAA"}]}', /keys\[0\] is a private key/],
  ] as const) {
    await identify({ jwks });
    await waitFor(`${words.source} to be said`, async () => {
      const condition = findCondition(conditionsOf(await appCluster()), "Identity");
      return condition?.reason === "KeysInvalid" && words.test(condition.message ?? "");
    });
  }
});

test("an API of a named group is bound when it is offered; one that asks for permissions is shown, and lies bind nothing", async () => {
  const autoBind = { groups: [widgets.type.group], except: [] };
  const others = new Set(
    (await consumer.client.list(apiServiceBindings)).items.map(({ metadata }) => metadata.name),
  );
  await installRights(consumer.client, autoBindManifests(autoBind));
  const bound = [...others].map((name) => ({ name: name ?? "", claims: [] }));
  await applyPolicies(consumer.client, konnectorPolicyManifests(konnectorScopeOf(bound, autoBind)));
  await using _konnector = await startKonnector(fixture, { ownBind: { ...ownBind, autoBind }, timing });
  await untilReady(widgets.name);
  await identify({ jwks: await jwksOf(consumer) });
  await allow("prod-more", "queues", "topics");
  const one = (...names: readonly string[]): object => ({ type: "string", enum: names });
  const spec = { type: "object", properties: { service: one("pg"), plan: one("small", "big") } };
  const [queues, plain] = [testApi("queues", "Queue"), testApi("topics", "Topic")];
  const topics = { ...plain, crd: crdObject(plain.type, { properties: { spec } }) };
  for (const { crd } of [queues, topics]) await installCrd(provider, crd);
  await offer(provider, topics.type, [{ group: "", version: "v1", resource: "secrets" }]);
  await offer(provider, queues.type);
  await untilReady(queues.name);
  await untilSynced(queues, "by-itself");
  const made = await binding(queues.name);
  assert.equal(made?.metadata.annotations?.[autoBoundAnnotation], "true");
  assert.equal(recordAt(made, "spec")["permissionClaims"], undefined);
  const shown = async (): Promise<readonly string[]> =>
    (await consumer.client.list<APIServiceBinding>(apiServiceBindings)).items.flatMap(
      ({ status }) => status?.newAPIs?.map(crdNameOf) ?? [],
    );
  await waitFor("the API that is left to people", async () => (await shown()).join() === topics.name);
  await waitFor("the event", async () =>
    (await consumer.client.list<DynamicObject>(events)).items.some(
      ({ ["reason"]: reason, ["message"]: message }) =>
        reason === "NewAPIs" && String(message).includes(`${topics.name}, which this cluster may bind`),
    ),
  );
  const price = async (perHour: string): Promise<unknown> => {
    const text = `apiVersion: services.klutch.anynines.com/v1alpha1\nkind: PriceList\nprices: [{ service: pg, plan: small, price: { currency: EUR, perHour: "${perHour}" } }]`;
    const ref = { namespace: pricesNamespace, name: priceListName };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: ref, data: { [priceListKey]: text } };
    await provider.client.delete(configMaps, ref).catch(() => undefined);
    return provider.client.create<DynamicObject>(configMaps, object);
  };
  const prices = async (): Promise<readonly unknown[]> =>
    (await consumer.client.list<APIServiceBinding>(apiServiceBindings)).items.flatMap(
      ({ status }) => status?.newAPIs?.map((api) => api.price) ?? [],
    );
  await provider.client.create(namespaces, namespaceObject(pricesNamespace));
  for (const [perHour, shownPrice] of [
    ["0.5", "small 365.00 EUR"],
    ["1", "small 730.00 EUR"],
    ["-1", undefined],
  ] as const) {
    await price(perHour);
    await waitFor(`the price of ${perHour}`, async () => isDeepStrictEqual(await prices(), [shownPrice]));
  }
  const { namespace = "" } = (await appCluster()).status ?? {};
  const ref = { namespace, name: clusterBindingName };
  const lie = (group: string, resource: string): object => ({ group, resource });
  const lies = [
    lie("other.org", "queues"),
    lie(`sub.${widgets.type.group}`, "queues"),
    lie("rbac.authorization.k8s.io", "clusterroles"),
    lie(widgets.type.group, "<b>free</b>"),
    lie(widgets.type.group, "secrets/status"),
  ];
  await provider.client.mergePatch(
    clusterBindings,
    ref,
    { status: { newAPIs: lies } },
    { subresource: "status" },
  );
  await waitFor("the lies that have names of APIs", async () =>
    isDeepStrictEqual(await shown(), ["queues.other.org", `queues.sub.${widgets.type.group}`]),
  );
  const names = (await consumer.client.list(apiServiceBindings)).items.map(({ metadata }) => metadata.name);
  assert.deepEqual(new Set(names), others.union(new Set([queues.name])));
});
