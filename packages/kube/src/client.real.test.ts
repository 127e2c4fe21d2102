import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  customResourceDefinitions as crds,
  type DynamicObject,
  isRecord,
  type KubeObject,
  type ResourceType,
} from "@klutch/kube-core";
import { leaseCluster, type TestCluster, waitFor } from "@klutch/kube-testing";
import { createKubeClient } from "./client.ts";
import { parseJson } from "./decode.ts";
import { discoverResource, resourceTypeOf } from "./discovery.ts";
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  TransportError,
} from "./errors.ts";
import { listPages } from "./pages.ts";
import { serviceAccountToken } from "./token-request.ts";
import type { KubeClient, ListPage, WatchEvent } from "./types.ts";

const core = (kind: string, plural: string, namespaced = true): ResourceType => ({
  group: "",
  version: "v1",
  plural,
  kind,
  namespaced,
});
const configMaps = core("ConfigMap", "configmaps");
const events = core("Event", "events");
const serviceAccounts = core("ServiceAccount", "serviceaccounts");
const namespaces = core("Namespace", "namespaces", false);
const widgets: ResourceType = {
  group: "test.klutch.dev",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};

let cluster: TestCluster;
let client: KubeClient;

before(async () => {
  cluster = await leaseCluster({ name: "kube" });
  client = cluster.client;
  const crd = await client.create<KubeObject>(crds, widgetDefinition());
  assert.deepEqual(resourceTypeOf(crd), widgets);
  await waitFor("widgets to be served", () =>
    discoverResource(client, { group: widgets.group, kind: "Widget" }),
  );
});
after(async () => {
  await cluster[Symbol.asyncDispose]();
});

function widgetDefinition(): KubeObject {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.test.klutch.dev" },
    spec: {
      group: widgets.group,
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: { ...open, properties: { size: { type: "integer", format: "int64" } } },
                status: open,
              },
            },
          },
        },
      ],
    },
  };
}

const widget = (name: string, spec: object): KubeObject => ({
  apiVersion: "test.klutch.dev/v1",
  kind: "Widget",
  metadata: { name, namespace: "default" },
  spec,
});
const configMap = (
  name: string,
  data: Record<string, string>,
  labels?: Record<string, string>,
): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", labels },
  data,
});
const event = (name: string): DynamicObject => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name, namespace: "default" },
  involvedObject: { namespace: "default" },
});
const at = (name: string) => ({ namespace: "default", name });
const unique = (): string => `t-${randomUUID().slice(0, 8)}`;

test("objects are created, read, replaced and deleted; absence, existence and lost updates are told apart", async () => {
  const name = unique();
  assert.equal(await client.find(configMaps, at(name)), undefined);
  await assert.rejects(client.get(configMaps, at(name)), isNotFound);
  const created = await client.create(configMaps, configMap(name, { a: "1" }));
  await assert.rejects(client.create(configMaps, configMap(name, {})), isAlreadyExists);
  const replaced = await client.replace(configMaps, { ...created, data: { a: "2" } });
  assert.notEqual(replaced.metadata.resourceVersion, created.metadata.resourceVersion);
  await assert.rejects(client.replace(configMaps, { ...created, data: {} }), isConflict);
  const stale = { preconditions: { resourceVersion: created.metadata.resourceVersion } };
  await assert.rejects(client.delete(configMaps, at(name), stale), isConflict);
  await assert.rejects(client.delete(configMaps, at(name), { preconditions: { uid: "other" } }), isConflict);
  assert.equal(
    await client.delete(configMaps, at(name), { preconditions: { uid: created.metadata.uid } }),
    true,
  );
  assert.equal(await client.delete(configMaps, at(name)), false);
});

test("a field left out of the next apply is removed, and another manager's field stays", async () => {
  const name = unique();
  const apply = (fieldManager: string, data: Record<string, string>, force = false) =>
    client.apply<DynamicObject>(configMaps, configMap(name, data), { fieldManager, force });
  await apply("first", { a: "1", b: "1" });
  await apply("second", { c: "1" });
  assert.deepEqual((await apply("first", { a: "2" }))["data"], { a: "2", c: "1" });
  await assert.rejects(apply("second", { a: "3" }), isConflict);
  assert.deepEqual((await apply("second", { a: "3" }, true))["data"], { a: "3" });
});

test("merge and JSON patches change only what they name", async () => {
  const name = unique();
  await client.create(configMaps, configMap(name, { a: "1", b: "1" }));
  const merged = await client.mergePatch<DynamicObject>(configMaps, at(name), { data: { a: null, c: "2" } });
  assert.deepEqual(merged["data"], { b: "1", c: "2" });
  const patched = await client.jsonPatch<DynamicObject>(configMaps, at(name), [
    { op: "test", path: "/data/b", value: "1" },
    { op: "replace", path: "/data/b", value: "3" },
  ]);
  assert.deepEqual(patched["data"], { b: "3", c: "2" });
});

test("the status subresource is written apart from the spec", async () => {
  const name = unique();
  await client.create(widgets, { ...widget(name, { size: 1 }), status: { phase: "ignored" } });
  const written = await client.apply<DynamicObject>(
    widgets,
    { ...widget(name, {}), status: { phase: "Ready" } },
    { fieldManager: "test", subresource: "status" },
  );
  assert.deepEqual([written.spec, written.status], [{ size: 1 }, { phase: "Ready" }]);
});

test("an int64 beyond 2^53 is read and written back unchanged", async () => {
  const name = unique();
  await client.create(widgets, widget(name, { size: 1 }));
  const exact = parseJson('{"spec":{"size":9007199254740993}}', "patch");
  assert.ok(isRecord(exact));
  await client.mergePatch(widgets, at(name), exact);
  const read = await client.get(widgets, at(name));
  assert.match(JSON.stringify(read.spec), /9007199254740993/);
  const written = await client.replace(widgets, {
    ...read,
    metadata: { ...read.metadata, labels: { a: "b" } },
  });
  assert.match(JSON.stringify(written.spec), /9007199254740993/);
});

test("a dry run answers as if stored, and stores nothing", async () => {
  const name = unique();
  const answer = await client.create(configMaps, configMap(name, {}), { dryRun: true });
  assert.ok(answer.metadata.uid !== undefined);
  await client.apply(configMaps, configMap(name, {}), { fieldManager: "test", dryRun: true });
  assert.equal(await client.find(configMaps, at(name)), undefined);
});

test("a refused object is told apart with the server's words", async () => {
  const bad = widget(unique(), { size: "large" });
  await assert.rejects(
    client.create(widgets, bad),
    (error) => isInvalid(error) && /spec\.size/.test(error.message) && /create Widget/.test(error.message),
  );
});

test("lists are paged, filtered and reduced to metadata on request", async () => {
  const group = unique();
  for (let i = 0; i < 7; i++)
    await client.create(configMaps, configMap(`${group}-${i}`, { a: "1" }, { group }));
  const page = await client.list(configMaps, {
    namespace: "default",
    labelSelector: `group=${group}`,
    limit: 3,
  });
  assert.equal(page.items.length, 3);
  assert.ok(page.continueToken !== undefined);
  const names: string[] = [];
  for await (const item of client.listAll(configMaps, { labelSelector: `group=${group}`, limit: 3 })) {
    assert.equal(item.kind, "ConfigMap");
    names.push(item.metadata.name ?? "");
  }
  assert.deepEqual(
    names.toSorted(),
    Array.from({ length: 7 }, (_, i) => `${group}-${i}`),
  );
  const slim = await client.list<DynamicObject>(configMaps, {
    namespace: "default",
    fieldSelector: `metadata.name=${group}-0`,
    metadataOnly: true,
  });
  assert.deepEqual(
    slim.items.map((item) => [item.metadata.name, item["data"]]),
    [[`${group}-0`, undefined]],
  );
});

/** Collects events until `enough` says so. */
async function collect(
  events: AsyncIterable<WatchEvent<KubeObject>>,
  enough: (event: WatchEvent<KubeObject>) => boolean,
): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of events) {
    seen.push(event.type === "BOOKMARK" ? "BOOKMARK" : `${event.type} ${event.object.metadata.name}`);
    if (enough(event)) break;
  }
  return seen;
}

test("pages grow with what they held, and all are of one version", async () => {
  const group = unique();
  const make = (index: number): Promise<unknown> =>
    client.create(configMaps, configMap(`${group}-${index}`, { a: "1" }, { group }));
  await Promise.all(Array.from({ length: 70 }, (_, index) => make(index)));
  const scope = { namespace: "default", labelSelector: `group=${group}` };
  const pages: ListPage<KubeObject>[] = [];
  for await (const page of listPages<KubeObject>(client, configMaps, scope)) pages.push(page);
  assert.deepEqual(
    pages.map(({ items }) => items.length),
    [32, 38],
  );
  assert.equal(new Set(pages.map(({ resourceVersion }) => resourceVersion)).size, 1);
});

test("a watch goes on after the resourceVersion it is given, missing and repeating nothing", async () => {
  const group = unique();
  const scope = { namespace: "default", labelSelector: `group=${group}` };
  const { resourceVersion } = await client.list(configMaps, scope);
  const one = await client.create(configMaps, configMap(`${group}-1`, {}, { group }));
  await client.create(configMaps, configMap(`${group}-2`, {}, { group }));
  await client.delete(configMaps, at(`${group}-1`));
  const isDelete = (event: WatchEvent<KubeObject>): boolean => event.type === "DELETED";
  const all = await collect(client.watch(configMaps, { ...scope, resourceVersion }), isDelete);
  assert.deepEqual(all, [`ADDED ${group}-1`, `ADDED ${group}-2`, `DELETED ${group}-1`]);
  const rest = client.watch(configMaps, { ...scope, resourceVersion: one.metadata.resourceVersion });
  assert.deepEqual(await collect(rest, isDelete), [`ADDED ${group}-2`, `DELETED ${group}-1`]);
});

test("a streaming list gives the present objects, then the closing bookmark, then changes", async () => {
  const group = unique();
  for (const i of [1, 2]) await client.create(configMaps, configMap(`${group}-${i}`, {}, { group }));
  const scope = { namespace: "default", labelSelector: `group=${group}`, metadataOnly: true };
  const initial = client.watch(configMaps, { ...scope, sendInitialEvents: true });
  const seen = await collect(initial, (event) => event.type === "BOOKMARK" && event.initialEventsEnd);
  assert.deepEqual(seen.toSorted(), [`ADDED ${group}-1`, `ADDED ${group}-2`, "BOOKMARK"]);
  assert.equal(seen.at(-1), "BOOKMARK");
});

test("a watch or a list page whose state the server has compacted away is Gone", async () => {
  // Events are the one kind that the server does not answer from its cache.
  for (let i = 0; i < 3; i++) await client.create(events, event(unique()));
  const { continueToken, resourceVersion } = await client.list(events, { limit: 1 });
  const later = await client.create(events, event(unique()));
  assert.ok(continueToken !== undefined);
  await cluster.askEtcd("/v3/kv/compaction", { revision: later.metadata.resourceVersion });
  await assert.rejects(client.list(events, { limit: 1, continueToken }), isGone);
  const watch = client.watch(events, { resourceVersion: String(Number(resourceVersion) - 1) });
  await assert.rejects(
    collect(watch, () => true),
    isGone,
  );
});

test("200 watches share few connections and leave room for requests", async () => {
  await using other = createKubeClient({ ...cluster.config, name: "many" });
  const controller = new AbortController();
  const name = unique();
  let open = 0;
  const watchOne = async (): Promise<void> => {
    const scope = { namespace: "default", fieldSelector: `metadata.name=${name}`, signal: controller.signal };
    for await (const event of other.watch(configMaps, scope)) if (event.type === "ADDED") open++;
  };
  const watches = Array.from({ length: 200 }, () => watchOne());
  const failures = Promise.allSettled(watches);
  await other.create(configMaps, configMap(name, {}));
  await waitFor("every watch to see the object", () => open === 200);
  assert.ok(openSockets() < 20, `${openSockets()} connections`);
  controller.abort(new Error("enough"));
  for (const result of await failures) assert.ok(result.status === "rejected");
  await other.get(configMaps, at(name));
});

/** Open connections of this process, the administrator's included. */
const openSockets = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind.startsWith("TCPSocket") || kind.startsWith("TLS"))
    .length;

test("the same verbs and watches work over HTTP/1.1", async () => {
  await using old = createKubeClient({ ...cluster.config, http2: false });
  const name = unique();
  const { resourceVersion } = await old.list(configMaps, { namespace: "default" });
  await old.create(configMaps, configMap(name, {}));
  const events = old.watch(configMaps, { namespace: "default", resourceVersion });
  assert.deepEqual(await collect(events, () => true), [`ADDED ${name}`]);
});

test("a service account's token works, is short-lived, and gives no more than RBAC allows", async () => {
  const name = unique();
  await client.create(serviceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: at(name) });
  const token = await serviceAccountToken(client, at(name), { expirationSeconds: 600 });
  assert.ok(token.expiresAt > Date.now() && token.expiresAt < Date.now() + 3_700_000);
  await using limited = createKubeClient({ ...cluster.config, auth: { kind: "token", token: token.token } });
  await limited.request({ method: "GET", path: "/version" });
  await assert.rejects(limited.list(namespaces), isForbidden);
});

test("a rotated token file is picked up without ending open watches", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "klutch-rotate-"));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "token");
  const { auth } = cluster.config;
  assert.ok(auth.kind === "token");
  await writeFile(path, auth.token.reveal());
  await using rotated = createKubeClient({ ...cluster.config, auth: { kind: "tokenFile", path } });
  const name = unique();
  const scope = { namespace: "default", fieldSelector: `metadata.name=${name}` };
  const { resourceVersion } = await rotated.list(configMaps, scope);
  const events = collect(rotated.watch(configMaps, { ...scope, resourceVersion }), () => true);
  await writeFile(path, "expired");
  await client.create(configMaps, configMap(name, {}));
  assert.deepEqual(await events, [`ADDED ${name}`]);
});

test("a server that the CA does not vouch for is refused as a TLS error", async () => {
  await using stranger = createKubeClient({ ...cluster.config, ca: undefined });
  await assert.rejects(
    stranger.list(namespaces),
    (error) => error instanceof TransportError && error.code === "Tls",
  );
});

test("discovery finds a resource by kind or plural and says when there is none", async () => {
  assert.deepEqual(await discoverResource(client, { group: "", kind: "ConfigMap" }), configMaps);
  assert.deepEqual(await discoverResource(client, { group: widgets.group, plural: "widgets" }), widgets);
  assert.equal(await discoverResource(client, { group: widgets.group, kind: "Gadget" }), undefined);
  assert.equal(await discoverResource(client, { group: "absent.test", kind: "X" }), undefined);
});
