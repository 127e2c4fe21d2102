/** The model and a real kube-apiserver must answer alike. A failing seed names itself; run it alone to find the cause. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { ApiError, discoverResource, isNotFound, type KubeClient, systemClock } from "@klutch/kube";
import {
  configMaps,
  customResourceDefinitions as crds,
  type DynamicObject,
  jsonEqual,
  type KubeObject,
  namespaces,
  secrets,
} from "@klutch/kube-core";
import type { TestCluster } from "../cluster.ts";
import { leaseCluster } from "../pool/lease.ts";
import { waitFor } from "../wait-for.ts";
import { ApiServerModel } from "./api-server.ts";
import { isList, isObject, type Json, type JsonObject, objectAt, textAt, toWire } from "./json.ts";
import { compareServers } from "./testing/differential.ts";
import { definitionOf, gadgets, widgets } from "./testing/compared-types.ts";

const namespace = "sim";
const seeds = [3, 8];
const operationsPerSeed = 250;

let cluster: TestCluster;
let model: KubeClient;

before(async () => {
  cluster = await leaseCluster({ name: "model" });
  const server = new ApiServerModel({ clock: systemClock, uidSeed: 7, endsNamespaces: false });
  model = server.client({ clusterName: "model", user: "klutch-admin" });
  for (const client of [cluster.client, model]) {
    for (const name of [namespace, ...seeds.map((seed) => `seed-${seed}`)]) {
      await client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    }
    for (const type of [widgets, gadgets]) {
      await client.create(crds, definitionOf(type));
      await waitFor(`${type.plural} to be served`, () => client.list(type));
    }
  }
});
after(() => cluster[Symbol.asyncDispose]());

const volatile: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "lastTransitionTime",
  "time",
  "creationTimestamp",
]);

/** Returns the object without fields in which any two servers differ. */
function stable(value: unknown): Json {
  const strip = (json: Json): Json => {
    if (isList(json)) return json.map(strip);
    if (!isObject(json)) return json;
    const kept = Object.entries(json).filter(([field]) => !volatile.has(field));
    return Object.fromEntries(
      kept.map(([field, child]) => [field, field === "deletionTimestamp" ? "set" : strip(child)]),
    );
  };
  return strip(objectAt(toWire({ value: { value } }), "value")["value"] ?? null);
}

async function outcome(action: Promise<unknown>): Promise<Json> {
  try {
    return stable(await action);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error.status, error.reason];
  }
}

/** Runs the same steps on both and compares each. */
async function same(steps: (client: KubeClient) => AsyncGenerator<Json>): Promise<void> {
  const [real, modelled]: Json[][] = [[], []];
  for await (const step of steps(cluster.client)) real?.push(step);
  for await (const step of steps(model)) modelled?.push(step);
  assert.deepEqual(modelled, real);
  assert.notEqual(real?.length, 0);
}

const configMap = (name: string, data: Record<string, string> = {}, at = namespace): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: at },
  data,
});
const widget = (name: string, metadata: object = {}, spec: object = {}): DynamicObject => ({
  apiVersion: "model.klutch.dev/v1",
  kind: "Widget",
  metadata: { name, namespace, ...metadata },
  spec,
});

suite("model and real server", { concurrency: true }, () => {
  for (const seed of seeds) {
    test(`${operationsPerSeed} random operations of seed ${seed} have the same answers, objects, owners and events`, async () => {
      await compareServers(cluster.client, model, `seed-${seed}`, { seed, count: operationsPerSeed });
    });
  }

  test("both are the same version of Kubernetes", async () => {
    await same(async function* (client) {
      const version = toWire({ version: await client.request({ method: "GET", path: "/version" }) });
      yield ["major", "minor", "gitVersion"].map((field) => textAt(version, "version", field));
    });
  });

  test("a definition is accepted, established, discovered, changed, and deleted with its objects", async () => {
    const type = {
      group: "model.klutch.dev",
      version: "v1",
      plural: "things",
      kind: "Thing",
      namespaced: true,
    };
    const name = "things.model.klutch.dev";
    const spec = objectAt(toWire(definitionOf(widgets)), "spec");
    const text = JSON.stringify(spec).replaceAll("widget", "thing").replaceAll("Widget", "Thing");
    const parse = (json: string): JsonObject =>
      objectAt({ parsed: toWire(JSON.parse(json) as object) }, "parsed");
    const definition = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name },
    };
    const thing = { ...widget("t", { finalizers: ["k.dev/f"] }, { word: "one", size: 7 }), kind: "Thing" };
    const at = { namespace, name: "t" };
    await same(async function* (client) {
      yield outcome(
        client.create(crds, {
          ...definition,
          metadata: { name: "wrong.model.klutch.dev" },
          spec: parse(text),
        }),
      );
      await client.create(crds, { ...definition, spec: parse(text) });
      await waitFor("the things to be served", () => client.list(type));
      const conditions = async (): Promise<Json> => {
        const { status } = await client.get<KubeObject>(crds, { name });
        return stable(status);
      };
      yield await waitFor("the definition to be established", async () => {
        const status = await conditions();
        return JSON.stringify(status).includes("Established") && status;
      });
      yield stable(await discoverResource(client, { group: type.group, kind: "Thing" }));
      yield outcome(client.create(type, thing));
      const narrower = text.replace('"size":', '"later":{"type":"string","default":"new"},"length":');
      await client.mergePatch(crds, { name }, { spec: { versions: parse(narrower)["versions"] } });
      yield await waitFor("the new schema", async () => {
        const found = stable(await client.get(type, at));
        return JSON.stringify(found).includes("later") && found;
      });
      yield outcome(client.delete(crds, { name }));
      await waitFor("the thing to be deleted", async () =>
        jsonEqual(objectAt(stable(await client.get(type, at)), "metadata")["deletionTimestamp"], "set"),
      );
      yield outcome(client.create(type, { ...thing, metadata: { name: "late", namespace } }));
      yield objectAt(stable(await client.get(crds, { name })), "metadata")["finalizers"] ?? null;
      await client.mergePatch(type, at, { metadata: { finalizers: null } });
      await waitFor(
        "the definition to be gone",
        async () => (await client.find(crds, { name })) === undefined,
      );
      yield await waitFor("the things to be gone", () =>
        client.list(type).then(
          () => undefined,
          (error: unknown) => isNotFound(error) && "not served",
        ),
      );
    });
  });

  suite("step by step", { concurrency: false }, () => {
    test("a namespace must exist and must not end for objects to be created in it", async () => {
      await same(async function* (client) {
        const inside = configMap("a", {}, "other");
        yield outcome(client.create(configMaps, inside));
        yield outcome(client.apply(configMaps, inside, { fieldManager: "m" }));
        yield outcome(
          client.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "other" } }),
        );
        yield outcome(
          client.create(namespaces, {
            apiVersion: "v1",
            kind: "Namespace",
            metadata: { name: "Not A Name" },
          }),
        );
        yield outcome(client.create(configMaps, configMap("kept", {}, "other")));
        yield outcome(client.delete(namespaces, { name: "other" }));
        yield outcome(client.get(namespaces, { name: "other" }));
        yield outcome(client.create(configMaps, inside));
        yield outcome(
          client.mergePatch(configMaps, { namespace: "other", name: "kept" }, { data: { k: "v" } }),
        );
        yield outcome(client.delete(namespaces, { name: "other" }));
      });
    });

    test("refusals of single requests have the same status and reason", async () => {
      await same(async function* (client) {
        const unserved = { ...widgets, plural: "unheardof" };
        yield outcome(client.list(unserved));
        yield outcome(client.get(unserved, { namespace, name: "a" }));
        yield outcome(client.create(unserved, widget("a")));
        yield outcome(client.replace(gadgets, widget("a"), { subresource: "status" }));
        // The client writes the kind of the type, not the kind in the object.
        yield outcome(client.create({ ...widgets, kind: "Gadget" }, widget("a")));
        yield outcome(client.create(widgets, { ...widget("a"), metadata: { namespace } }));
        yield outcome(client.create(widgets, widget("UPPER")));
        yield outcome(client.create(widgets, widget("a", { labels: { app: "not a value!" } })));
        yield outcome(client.create(widgets, widget("a", { finalizers: ["not a finalizer"] })));
        yield outcome(client.list(configMaps, { fieldSelector: "data.k=v" }));
        yield outcome(client.list(configMaps, { labelSelector: "a in" }));
        yield outcome(client.list(configMaps, { continueToken: "nonsense" }));
        yield outcome(client.apply(widgets, widget("none", { uid: "u" }), { fieldManager: "m" }));
        yield outcome(client.apply(widgets, widget("none"), { fieldManager: "m", subresource: "status" }));
        yield outcome(client.apply(widgets, widget("none", { managedFields: [] }), { fieldManager: "m" }));
        yield outcome(client.request({ method: "GET", path: "/apis/no.such.group/v1" }));
        yield outcome(client.delete(widgets, { namespace, name: "none" }));
      });
    });

    test("a dry run answers as the real thing and stores nothing", async () => {
      await same(async function* (client) {
        const options = { dryRun: true, fieldManager: "m" };
        yield outcome(client.create(widgets, widget("dry", {}, { size: 2 }), options));
        yield outcome(client.apply(widgets, widget("dry", {}, { size: 2 }), options));
        await client.create(widgets, widget("dry"));
        yield outcome(client.mergePatch(widgets, { namespace, name: "dry" }, { spec: { size: 3 } }, options));
        yield outcome(client.delete(widgets, { namespace, name: "dry" }, { dryRun: true }));
        yield outcome(client.get(widgets, { namespace, name: "dry" }));
        await client.delete(widgets, { namespace, name: "dry" });
      });
    });

    test("lists come in pages of one state, as metadata alone, and by field selector", async () => {
      await same(async function* (client) {
        const names = ["p1", "p2", "p3", "p4"];
        for (const name of names) await client.create(configMaps, configMap(name));
        const fieldSelector = "metadata.name!=zz-end,metadata.name!=kept";
        const scope = { namespace, fieldSelector, labelSelector: "!app" };
        const first = await client.list<KubeObject>(configMaps, { ...scope, limit: 2 });
        yield outcome(Promise.resolve([first.items, first.continueToken !== undefined]));
        await client.delete(configMaps, { namespace, name: "p3" });
        const { continueToken } = first;
        const second = await client.list<KubeObject>(configMaps, { ...scope, limit: 2, continueToken });
        yield outcome(Promise.resolve([second.items, second.continueToken !== undefined]));
        yield second.resourceVersion === first.resourceVersion;
        yield outcome(client.list(configMaps, { ...scope, metadataOnly: true }).then(({ items }) => items));
        yield outcome(
          client
            .list(configMaps, { fieldSelector: "metadata.name=p1,metadata.namespace=sim" })
            .then(({ items }) => items),
        );
        for (const name of names) await client.delete(configMaps, { namespace, name });
      });
    });

    test("a streaming list sends the objects, its closing bookmark and then what changes, whole or as metadata", async () => {
      await same(async function* (client) {
        await client.create(secrets, {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: "s1", namespace },
        });
        for (const metadataOnly of [false, true]) {
          const events: Json[] = [];
          const fieldSelector = "metadata.name=s1";
          for await (const event of client.watch<KubeObject>(secrets, {
            namespace,
            sendInitialEvents: true,
            fieldSelector,
            metadataOnly,
          })) {
            events.push(stable(event));
            if (events.length === 2)
              await client.mergePatch(
                secrets,
                { namespace, name: "s1" },
                { data: { k: metadataOnly ? "dg==" : "" } },
              );
            if (events.length === 3) break;
          }
          yield events;
        }
        await client.delete(secrets, { namespace, name: "s1" });
      });
    });

    test("a generated name keeps its prefix, and an unguarded replace is for built-in kinds only", async () => {
      await same(async function* (client) {
        const generated = { ...configMap(""), metadata: { generateName: "gen-", namespace } };
        const made = await client.create<KubeObject>(configMaps, generated);
        yield /^gen-[a-z0-9]{5}$/.test(made.metadata.name ?? "");
        await client.delete(configMaps, { namespace, name: made.metadata.name ?? "" });
        await client.create(configMaps, configMap("plain"));
        await client.create(widgets, widget("plain"));
        yield outcome(client.replace(configMaps, configMap("plain", { k: "v" })));
        yield outcome(client.replace(widgets, widget("plain")));
        yield outcome(client.replace(configMaps, configMap("absent")));
        await client.delete(configMaps, { namespace, name: "plain" });
        await client.delete(widgets, { namespace, name: "plain" });
      });
    });
  });
});
