/** Traces over two clusters, a konnector, a provider process and a broker, as a real receiver gets them. Crossplane's copying is done by hand. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import {
  commonTraceAnnotation,
  providerConfigs,
  providerCrds,
  serviceInstances,
  traceAnnotation,
} from "@klutch/api";
import { ownProgram, reservePorts, startProcess } from "@klutch/engines";
import { type DynamicObject, namespaces, type ObjectMeta, secrets } from "@klutch/kube-core";
import { systemRuntime } from "@klutch/kube-runtime";
import { receiveTraces, type ReceivedSpan, secretObject, waitFor } from "@klutch/kube-testing";
import {
  createLogger,
  createMetrics,
  faultsOfLine,
  type Logger,
  parseTraceparent,
  readTracing,
  startTracing,
  type Tracer,
} from "@klutch/telemetry";
import { databaseApi, readyStatus } from "../testing/database-api.ts";
import { bindApi, startKonnector, testApi, widget } from "../testing/fixture.ts";
import { serviceNamespace } from "../testing/pair.ts";
import { installCrd, providerSecrets } from "../testing/provider-side.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";

const widgets = testApi("widgets", "Widget");
const { type, name: api } = widgets;
const databases = databaseApi("databases", "Database");
const fixture = await startTenantFixture({
  exported: [widgets, { ...databases, claims: [providerSecrets] }],
});
const { consumer, provider, kubeconfig, cleanup, onProvider, onConsumer, untilReady, createSynced } = fixture;
const receiver = cleanup.use(await receiveTraces());
const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: "100" };
const pipeline = "0af7651916cd43dd8448eb211c80319c";

const lines: string[] = [];
const logger: Logger = createLogger({ name: "konnector", level: "debug", write: (line) => lines.push(line) });

async function tracerOf(env: Readonly<Record<string, string>>): Promise<Tracer> {
  const { config } = readTracing(env, "konnector");
  assert.ok(config !== undefined);
  const runtime = systemRuntime({ logger, metrics: createMetrics() });
  return startTracing({ ...runtime, config, version: "1" });
}

const contextOn = (object: DynamicObject | undefined): string | undefined =>
  object?.metadata.annotations?.[traceAnnotation];
const spans = (wanted: (span: ReceivedSpan) => boolean): readonly ReceivedSpan[] =>
  receiver.spans.filter(wanted);
const linksTo = (span: ReceivedSpan, traceID: string): boolean =>
  span.links.some((link) => link.traceID === traceID);
const edit = (name: string, patch: object): Promise<DynamicObject> =>
  consumer.client.mergePatch<DynamicObject>(type, { namespace: "app", name }, patch);

/** A broker that makes everything at once, with the headers that it got. */
async function startBroker(): Promise<{ readonly url: string; readonly headers: readonly string[] }> {
  const headers: string[] = [];
  const plans = [{ id: "plan", name: "nano", description: "-", free: true }];
  const services = [{ id: "service", name: "postgresql", description: "-", bindable: true, plans }];
  const server = createServer((request, response) => {
    headers.push(...Object.keys(request.headers));
    const isCatalog = request.url?.endsWith("/v2/catalog") === true;
    response.writeHead(request.method === "PUT" ? 201 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(isCatalog ? { services } : {}));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  cleanup.defer(() => void server.close());
  cleanup.defer(() => server.closeAllConnections());
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`, headers };
}

async function startProvider(): Promise<void> {
  const [port = 0] = cleanup.use(await reservePorts(1)).ports;
  const file = join(provider.dataDir, "provider.kubeconfig");
  await writeFile(file, provider.kubeconfig, { mode: 0o600 });
  const address = `127.0.0.1:${port}`;
  cleanup.use(
    await startProcess({
      name: "provider",
      command: process.execPath,
      args: [
        ownProgram("provider-anynines"),
        "--poll=1s",
        "--namespace=default",
        `--health-probe-bind-address=${address}`,
        "--debug",
      ],
      env: { ...environment, OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test", KUBECONFIG: file },
      logFile: join(provider.dataDir, "provider.log"),
      ready: async () => (await fetch(`http://${address}/readyz`)).ok,
    }),
  );
}

test("an edit, its upstream object, the broker's call and the status that comes back are connected", async () => {
  await using tracer = await tracerOf(environment);
  await using konnector = await startKonnector(fixture, { tracer, logger });
  await bindApi(fixture, api, kubeconfig);
  await untilReady(api);
  const cause = `00-${pipeline}-b7ad6b7169203331-01`;
  await consumer.client.create(
    type,
    widget(type, "one", { size: 1 }, { annotations: { [commonTraceAnnotation]: cause } }),
  );
  const upstream = await waitFor("the upstream object", () => onProvider(type, "one"));
  const context = contextOn(upstream);
  const edited = parseTraceparent(context);
  assert.ok(edited?.isSampled === true, String(context));
  assert.notEqual(edited.traceID, pipeline, "a claim's word becomes a link, never the trace");
  assert.equal(contextOn(await onConsumer(type, "one")), undefined);

  // What Crossplane and the function do.
  const broker = await startBroker();
  await Promise.all(providerCrds.map((crd) => installCrd(provider, crd)));
  await provider.client.create(namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "team" },
  });
  await provider.client.create(
    secrets,
    secretObject("team", "broker", { username: "me", password: "hunter2" }),
  );
  const key = (field: string): object => ({ secretRef: { namespace: "team", name: "broker", key: field } });
  await provider.client.create<DynamicObject>(providerConfigs, {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ProviderConfig",
    metadata: { name: "broker" },
    spec: {
      url: broker.url,
      serviceType: "servicebroker",
      providerCredentials: { source: "Secret", username: key("username"), password: key("password") },
    },
  });
  await startProvider();
  await provider.client.create<DynamicObject>(serviceInstances, {
    apiVersion: "dataservices.anynines.com/v1",
    kind: "ServiceInstance",
    metadata: { name: "one", annotations: { [traceAnnotation]: context ?? "" } },
    spec: {
      providerConfigRef: { name: "broker" },
      forProvider: { serviceName: "postgresql", planName: "nano", organizationGuid: "o", spaceGuid: "s" },
    },
  });
  const provision = await waitFor("the provider's span of the broker's call", async () =>
    receiver.spans.find(({ attributes }) => attributes["osb.operation"] === "provision"),
  );
  assert.equal(provision.service, "provider-anynines");
  const reconcile = await waitFor("the reconcile around it", async () =>
    receiver.spans.find(({ spanID }) => spanID === provision.parentID),
  );
  assert.ok(linksTo(reconcile, edited.traceID), "it names the edit as its cause");
  assert.equal(reconcile.attributes["k8s.object.kind"], "ServiceInstance");
  assert.equal(reconcile.attributes["k8s.object.name"], "one");
  assert.ok(!broker.headers.includes("traceparent"), "a broker is a stranger");

  // The status comes back.
  const before = receiver.spans.length;
  const status = {
    conditions: [
      { type: "Ready", status: "True", reason: "Available", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ],
  };
  await provider.client.mergePatch(
    type,
    { namespace: upstream.metadata.namespace, name: "one" },
    { status },
    { subresource: "status" },
  );
  await waitFor("the status in the app cluster", async () => {
    const claim = await onConsumer(type, "one");
    return JSON.stringify(claim?.status ?? {}).includes("Available");
  });
  await waitFor("its span", async () =>
    receiver.spans
      .slice(before)
      .some((span) => span.service === "konnector" && linksTo(span, edited.traceID)),
  );
  const root = spans((span) => span.traceID === edited.traceID);
  assert.ok(root.some((span) => linksTo(span, pipeline) && span.name === `reconcile sync ${api}`));
  assert.ok(root.some(({ attributes }) => String(attributes["klutch.request"]).includes("Widget")));
  assert.doesNotMatch(JSON.stringify(receiver.requests), /hunter2|Bearer /);

  // An edit that changes nothing upstream writes nothing, and leaves the context alone.
  const writes = konnector.writes.length;
  const { resourceVersion } = (await onProvider(type, "one"))?.metadata ?? {};
  await edit("one", { metadata: { annotations: { "kubectl.kubernetes.io/mine": "x" } } });
  await createSynced(type, "two", { size: 2 });
  assert.equal((await onProvider(type, "one"))?.metadata.resourceVersion, resourceVersion);
  assert.ok(konnector.writes.length > writes, "the other claim was written");
});

test("forged contexts on claims are dropped, and cross no border", async () => {
  await using tracer = await tracerOf(environment);
  await using _konnector = await startKonnector(fixture, { tracer });
  const forged = {
    long: "x".repeat(10_000),
    wrong: `00-${pipeline}-b7ad6b7169203331-01\n`,
    version: `ff-${pipeline}-b7ad6b7169203331-01`,
  };
  for (const [name, value] of Object.entries(forged)) {
    const before = receiver.spans.length;
    await consumer.client.create(type, widget(type, name, {}, { annotations: { [traceAnnotation]: value } }));
    const upstream = await waitFor(name, () => onProvider(type, name));
    const own = parseTraceparent(contextOn(upstream));
    assert.ok(
      own !== undefined && own.traceID !== pipeline,
      "Klutch's own key says what the konnector wrote",
    );
    const made = await waitFor("its span", async () =>
      receiver.spans.slice(before).find(({ spanID }) => spanID === own.spanID),
    );
    assert.deepEqual(made.links, []);
  }
});

/** Creates a Secret on the provider and returns the reconcile that copied it. */
async function copied(name: string, more: Partial<ObjectMeta> = {}): Promise<ReceivedSpan> {
  const { metadata, ...secret } = secretObject(serviceNamespace, name, { password: "hunter3" });
  await provider.client.create(secrets, { ...secret, metadata: { ...metadata, ...more } });
  const copy = await waitFor(`the copy of ${name}`, () =>
    consumer.client.find(secrets, { namespace: "app", name }),
  );
  assert.deepEqual(
    Object.keys(copy.metadata.annotations ?? {}).filter((key) => key.endsWith("traceparent")),
    [],
    "the app cluster gets no context",
  );
  return waitFor("its span", async () =>
    spans(({ attributes }) => attributes["k8s.object.name"] === name).find(
      (span) => span.name.startsWith("reconcile claimed-resource secrets") && hasChild(span),
    ),
  );
}
const hasChild = ({ spanID }: ReceivedSpan): boolean => spans((one) => one.parentID === spanID).length > 0;

test("the copying of a Secret is linked to the trace of its claim, which names it or owns it, and no other", async () => {
  await using tracer = await tracerOf(environment);
  await using _konnector = await startKonnector(fixture, { tracer });
  await bindApi(fixture, databases.name, kubeconfig, [{ ...providerSecrets, state: "Accepted" }]);
  await untilReady(databases.name);
  const contexts: string[] = [];
  for (const name of ["named", "owning"]) {
    await consumer.client.create(databases.type, widget(databases.type, name, { size: 1 }));
    const upstream = await waitFor(name, () => onProvider(databases.type, name));
    contexts.push(parseTraceparent(contextOn(upstream))?.traceID ?? "");
  }
  const [named = "", owning = ""] = contexts;
  await provider.client.mergePatch(
    databases.type,
    { namespace: serviceNamespace, name: "named" },
    { status: readyStatus("named-creds") },
    { subresource: "status" },
  );
  await waitFor("the status", async () =>
    JSON.stringify((await onConsumer(databases.type, "named"))?.status ?? {}).includes("named-creds"),
  );
  const linksOf = ({ links }: ReceivedSpan): readonly string[] => links.map(({ traceID }) => traceID);
  assert.deepEqual(linksOf(await copied("named-creds")), [named]);
  const { apiVersion, kind, metadata } = (await onProvider(databases.type, "owning")) ?? upstreamMissing();
  const owner = { apiVersion, kind, name: "owning", uid: metadata.uid ?? "" };
  assert.deepEqual(linksOf(await copied("owned", { ownerReferences: [owner] })), [owning]);
  const strangers = Array.from({ length: 100 }, (_, index) => ({ ...owner, uid: `none-${index}` }));
  const forged = { [traceAnnotation]: `00-${pipeline}-b7ad6b7169203331-01\n` };
  assert.deepEqual(linksOf(await copied("foreign", { ownerReferences: strangers, annotations: forged })), []);
  const data = Buffer.from("hunter3").toString("base64");
  const sent = JSON.stringify(receiver.requests);
  assert.ok(!sent.includes("hunter3") && !sent.includes(data));
});

function upstreamMissing(): never {
  throw new Error("the upstream object is gone");
}

test("a konnector without traces writes none, and does not touch what an earlier one wrote", async () => {
  const before = await onProvider(type, "one");
  assert.notEqual(contextOn(before), undefined);
  const spansBefore = receiver.spans.length;
  await using _konnector = await startKonnector(fixture);
  const fresh = await createSynced(type, "untraced", { size: 1 });
  assert.equal(contextOn(fresh), undefined);
  assert.equal((await onProvider(type, "one"))?.metadata.resourceVersion, before?.metadata.resourceVersion);
  await edit("one", { spec: { size: 7 } });
  await waitFor(
    "the next write, which takes it away",
    async () => contextOn(await onProvider(type, "one")) === undefined,
  );
  const late = spans(({ service }) => service === "konnector").slice(spansBefore);
  assert.deepEqual(late, []);
});

test("the lines of both programs have the schema's names, and name the trace in which they were written", async () => {
  const written = (await readFile(join(provider.dataDir, "provider.log"), "utf8")).trimEnd().split("\n");
  const traced: string[] = [];
  for (const line of [...lines, ...written]) {
    assert.deepEqual(faultsOfLine(line), [], line);
    assert.doesNotMatch(line, /hunter2/);
    const traceID = /"traceID":"([0-9a-f]{32})"/.exec(line)?.[1];
    if (traceID !== undefined) traced.push(traceID);
  }
  for (const [all, kind, name] of [
    [lines, "Widget", "one"],
    [written, "ServiceInstance", "one"],
  ] as const)
    assert.ok(
      all.some(
        (line) =>
          line.includes(`"kind":"${kind}"`) &&
          line.includes(`"name":"${name}"`) &&
          line.includes('"traceID"'),
      ),
      `a line about ${kind} ${name}`,
    );
  const sent = new Set(receiver.spans.map((span) => span.traceID));
  assert.ok(traced.some((id) => sent.has(id)));
});
