import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { after, before, suite, test } from "node:test";
import { claimNameLabel, claimNamespaceLabel, providerConfigs, serviceInstances } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  events,
  findCondition,
  namespaces,
  type ResourceType,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import { namespaceObject, waitFor } from "@klutch/kube-testing";
import { instances, nano } from "../claim-kinds.ts";
import type { OwnSandbox } from "../own-sandbox.ts";

/** Declares the tests. While they run, the provider reaches its broker through them. */
export function organisations(sandbox: OwnSandbox): void {
  suite("organisation and space of a service namespace", () => {
    const stack = new AsyncDisposableStack();
    after(() => stack.disposeAsync());
    let client: KubeClient;

    before(async () => {
      client = await sandbox.client("control-plane");
      await listenBeforeBroker();
      for (const name of ["tenant-a", "tenant-b", "tenant-c", "tenant-d"])
        await client.create(namespaces, namespaceObject(name));
    });

    const environments: ResourceType = {
      group: "apiextensions.crossplane.io",
      version: "v1beta1",
      plural: "environmentconfigs",
      kind: "EnvironmentConfig",
      namespaced: false,
    };

    /** What the broker was sent about each instance: method, organisation and space; each distinct request once. */
    const sent = new Map<string, readonly string[]>();

    /** From now on the provider reaches its broker through here. Nothing is changed. */
    async function listenBeforeBroker(): Promise<void> {
      const ref = { name: "postgresql-service-broker" };
      const broker = textAt(await client.get<DynamicObject>(providerConfigs, ref), "spec", "url") ?? "";
      const server = createServer((incoming, response) => {
        void pass(broker, incoming).then(async (answer) => {
          response.writeHead(answer.status, { "content-type": "application/json" });
          response.end(await answer.text());
        });
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      stack.defer(() => {
        server.close();
        server.closeAllConnections();
      });
      const address = server.address();
      assert.ok(typeof address === "object" && address !== null);
      const reachAt = (url: string): Promise<unknown> =>
        client.mergePatch(providerConfigs, ref, { spec: { url } });
      await reachAt(`http://127.0.0.1:${address.port}`);
      stack.defer(async () => void (await reachAt(broker)));
    }

    async function pass(broker: string, incoming: IncomingMessage): Promise<Response> {
      const { method = "", url = "", headers } = incoming;
      const body = (await incoming.toArray()).join("");
      const id = /^\/v2\/service_instances\/([^/?]+)(?:\?|$)/.exec(url)?.[1];
      if (id !== undefined && (method === "PUT" || method === "PATCH")) note(id, method, JSON.parse(body));
      const passed = new Headers();
      for (const name of ["authorization", "content-type", "x-broker-api-version"]) {
        const value = headers[name];
        if (typeof value === "string") passed.set(name, value);
      }
      return fetch(broker + url, { method, headers: passed, ...(body === "" ? {} : { body }) });
    }

    function note(id: string, method: string, body: unknown): void {
      const read = (...path: readonly string[]): string => textAt(body, ...path) ?? "none";
      const own = method === "PUT" ? [`${read("organization_guid")}/${read("space_guid")}`] : [];
      const inContext = `${read("context", "organization_guid")}/${read("context", "space_guid")}`;
      const line = [method, ...own, inContext].join(" ");
      const before = sent.get(id) ?? [];
      if (!before.includes(line)) sent.set(id, [...before, line]);
    }

    const label = "klutch.anynines.com/service-namespace";

    async function describe(name: string, namespace: string, data: object): Promise<void> {
      await client.create(environments, {
        apiVersion: "apiextensions.crossplane.io/v1beta1",
        kind: "EnvironmentConfig",
        metadata: { name, labels: { [label]: namespace } },
        data,
      });
    }

    async function claim(namespace: string, name: string, metadata: object = {}): Promise<void> {
      await client.create<DynamicObject>(instances, {
        apiVersion: "anynines.com/v1",
        kind: "PostgresqlInstance",
        metadata: { namespace, name, ...metadata },
        spec: nano,
      });
    }

    async function says(namespace: string, name: string, wanted: RegExp): Promise<void> {
      await waitFor(
        `${namespace}/${name} to say ${wanted.source}`,
        async () => {
          const conditions = conditionsOf(await client.get<DynamicObject>(instances, { namespace, name }));
          const { status, reason, message } = findCondition(conditions, "klutch.anynines.com/Ready") ?? {};
          if (wanted.test(`${status} ${reason}: ${message}`)) return true;
          throw new Error(JSON.stringify(conditions));
        },
        { timeoutMs: 120_000 },
      );
    }

    async function managedOf(namespace: string, name: string): Promise<DynamicObject | undefined> {
      const { items } = await client.list<DynamicObject>(serviceInstances);
      return items.find(
        ({ metadata: { labels } }) =>
          labels?.[claimNameLabel] === name && labels[claimNamespaceLabel] === namespace,
      );
    }

    /** What the broker was sent about the instance of the claim. */
    async function sentFor(namespace: string, name: string): Promise<readonly string[] | undefined> {
      return sent.get((await managedOf(namespace, name))?.metadata.uid ?? "");
    }

    const fixed = "a1d46b5c-b639-4f43-85c7-e9a0e5f01f75/1bf71cf3-9017-4846-bffc-b9b31872bfaf";

    test("each service namespace has its organisation and space at the broker, and nothing in a claim chooses another", {
      timeout: 200_000,
    }, async () => {
      await describe("a", "tenant-a", { organizationGuid: "org-a", spaceGuid: "space-a" });
      await describe("b", "tenant-b", { organizationGuid: "org-b", spaceGuid: "space-b" });
      const lies = { [label]: "tenant-b", "crossplane.io/claim-namespace": "tenant-b" };
      await claim("tenant-a", "one", { labels: lies, annotations: lies });
      await claim("tenant-b", "one");
      await claim("tenant-c", "one");
      for (const namespace of ["tenant-a", "tenant-b", "tenant-c"])
        await says(namespace, "one", /^True Available/);
      assert.deepEqual(await sentFor("tenant-a", "one"), ["PUT org-a/space-a org-a/space-a"]);
      assert.deepEqual(await sentFor("tenant-b", "one"), ["PUT org-b/space-b org-b/space-b"]);
      assert.deepEqual(await sentFor("tenant-c", "one"), [`PUT ${fixed} ${fixed}`]);
    });

    test("an instance keeps what it was made with when the EnvironmentConfig changes; the next one has the new ones", {
      timeout: 200_000,
    }, async () => {
      await client.mergePatch(
        environments,
        { name: "a" },
        { data: { organizationGuid: "org-x", spaceGuid: "space-x" } },
      );
      await describe("c", "tenant-c", { organizationGuid: "org-c", spaceGuid: "space-c" });
      await claim("tenant-a", "two");
      await says("tenant-a", "two", /^True Available/);
      assert.deepEqual(await sentFor("tenant-a", "two"), ["PUT org-x/space-x org-x/space-x"]);
      const bigger = { spec: { plan: "postgresql-single-small" } };
      for (const [namespace, place] of [
        ["tenant-a", "org-a/space-a"],
        ["tenant-c", fixed],
      ] as const) {
        await client.mergePatch(instances, { namespace, name: "one" }, bigger);
        const expected = [`PUT ${place} ${place}`, `PATCH ${place}`];
        await waitFor(
          `the change of ${namespace}/one to reach the broker`,
          async () => (await sentFor(namespace, "one"))?.length === expected.length,
          { timeoutMs: 60_000 },
        );
        assert.deepEqual(await sentFor(namespace, "one"), expected);
        const { spec } = (await managedOf(namespace, "one")) ?? {};
        assert.equal(
          place,
          ["organizationGuid", "spaceGuid"].map((field) => valueAt(spec, "forProvider", field)).join("/"),
        );
        await says(namespace, "one", /^True Available/);
      }
    });

    test("while two EnvironmentConfigs are for one namespace nothing is made there and the claim says why; what exists goes on", {
      timeout: 300_000,
    }, async () => {
      await describe("d", "tenant-d", { organizationGuid: "org-d", spaceGuid: "space-d" });
      await claim("tenant-d", "living");
      await says("tenant-d", "living", /^True Available/);
      await describe("d-again", "tenant-d", { organizationGuid: "org-d", spaceGuid: 7 });
      await claim("tenant-d", "late");
      await says(
        "tenant-d",
        "late",
        /^False NoOrganization: .*EnvironmentConfigs d and d-again are labelled .*only one can be/,
      );
      assert.equal(await managedOf("tenant-d", "late"), undefined);
      await waitFor("a Warning about it", async () => {
        const { items } = await client.list<DynamicObject>(events, { namespace: "tenant-d" });
        return items.some(
          (event) => event["type"] === "Warning" && /d and d-again/.test(String(event["message"])),
        );
      });
      await client.mergePatch(
        instances,
        { namespace: "tenant-d", name: "living" },
        { spec: { plan: "postgresql-single-small" } },
      );
      await waitFor(
        "the change of the living one",
        async () => (await sentFor("tenant-d", "living"))?.length === 2,
      );
      await says("tenant-d", "living", /^True Available/);
      await client.delete(environments, { name: "d" });
      await says(
        "tenant-d",
        "late",
        /^False NoOrganization: .*data\.spaceGuid of EnvironmentConfig d-again is 7;/,
      );
      await client.mergePatch(environments, { name: "d-again" }, { data: { spaceGuid: "space-e" } });
      await says("tenant-d", "late", /^True Available/);
      assert.deepEqual(await sentFor("tenant-d", "late"), ["PUT org-d/space-e org-d/space-e"]);
      await Promise.all(
        ["living", "late"].map((name) => client.delete(instances, { namespace: "tenant-d", name })),
      );
      await waitFor("the instances to be gone", async () =>
        (await client.list<DynamicObject>(instances, { namespace: "tenant-d" })).items.length === 0
          ? true
          : undefined,
      );
    });
  });
}
