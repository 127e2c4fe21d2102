/** Organisation and space of new instances. */
import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import { serviceInstances } from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import {
  apiVersionOf,
  type DynamicObject,
  events,
  namespaces,
  type ResourceType,
  valueAt,
} from "@klutch/kube-core";
import { namespaceObject, waitFor } from "@klutch/kube-testing";
import type { SentToBroker } from "../before-broker.ts";
import { instances, nano } from "../claim-kinds.ts";
import { Claims, managedBehind } from "../claims.ts";
import type { OwnSandbox } from "../own-sandbox.ts";

const environments: ResourceType = {
  group: "apiextensions.crossplane.io",
  version: "v1beta1",
  plural: "environmentconfigs",
  kind: "EnvironmentConfig",
  namespaced: false,
};
const label = "klutch.anynines.com/service-namespace";
const bigger = { spec: { plan: "postgresql-single-small" } };
/** Stands for namespaces without an EnvironmentConfig. */
const fixed = "a1d46b5c-b639-4f43-85c7-e9a0e5f01f75/1bf71cf3-9017-4846-bffc-b9b31872bfaf";

/** Declares the tests. `sent` lists the requests to the broker about each instance. */
export function organisations(sandbox: OwnSandbox, sent: SentToBroker): void {
  // One test goes on where the other ends.
  suite("organisation and space of a service namespace", { concurrency: 1 }, () => {
    let client: KubeClient;

    before(async () => {
      client = await sandbox.client("control-plane");
      for (const name of ["tenant-a", "tenant-b", "tenant-c", "tenant-d"])
        await client.create(namespaces, namespaceObject(name));
    });

    const claimsIn = (namespace: string): Claims => new Claims(client, namespace);

    async function describe(name: string, namespace: string, organization: string, space: unknown) {
      await client.create(environments, {
        apiVersion: apiVersionOf(environments),
        kind: environments.kind,
        metadata: { name, labels: { [label]: namespace } },
        data: { organizationGuid: organization, spaceGuid: space },
      });
    }

    async function says(namespace: string, name: string, wanted: RegExp): Promise<void> {
      await claimsIn(namespace).says(instances, name, "klutch.anynines.com/Ready", wanted);
    }

    const managedOf = (namespace: string, name: string): Promise<DynamicObject | undefined> =>
      managedBehind(client, serviceInstances, { namespace, name });

    /** Returns the requests about the instance of the claim. */
    async function sentFor(namespace: string, name: string): Promise<readonly string[] | undefined> {
      return sent.get((await managedOf(namespace, name))?.metadata.uid ?? "");
    }

    test("each service namespace has its organisation and space at the broker, and nothing in a claim chooses another", async () => {
      await describe("a", "tenant-a", "org-a", "space-a");
      await describe("b", "tenant-b", "org-b", "space-b");
      const lies = { [label]: "tenant-b", "crossplane.io/claim-namespace": "tenant-b" };
      await claimsIn("tenant-a").create(instances, "one", nano, { labels: lies, annotations: lies });
      for (const namespace of ["tenant-b", "tenant-c"])
        await claimsIn(namespace).create(instances, "one", nano);
      for (const [namespace, place] of [
        ["tenant-a", "org-a/space-a"],
        ["tenant-b", "org-b/space-b"],
        ["tenant-c", fixed],
      ] as const) {
        await says(namespace, "one", /^True Available/);
        assert.deepEqual(await sentFor(namespace, "one"), [`PUT ${place} ${place}`]);
      }
    });

    test("an instance keeps what it was made with when the EnvironmentConfig changes; the next one has the new ones", async () => {
      const data = { organizationGuid: "org-x", spaceGuid: "space-x" };
      await client.mergePatch(environments, { name: "a" }, { data });
      await describe("c", "tenant-c", "org-c", "space-c");
      await claimsIn("tenant-a").create(instances, "two", nano);
      await says("tenant-a", "two", /^True Available/);
      assert.deepEqual(await sentFor("tenant-a", "two"), ["PUT org-x/space-x org-x/space-x"]);
      for (const [namespace, place] of [
        ["tenant-a", "org-a/space-a"],
        ["tenant-c", fixed],
      ] as const) {
        await claimsIn(namespace).patch(instances, "one", bigger);
        const expected = [`PUT ${place} ${place}`, `PATCH ${place}`];
        await waitFor(
          `the change of ${namespace}/one to reach the broker`,
          async () => (await sentFor(namespace, "one"))?.length === expected.length,
        );
        assert.deepEqual(await sentFor(namespace, "one"), expected);
        const { spec } = (await managedOf(namespace, "one")) ?? {};
        const kept = ["organizationGuid", "spaceGuid"].map((field) => valueAt(spec, "forProvider", field));
        assert.equal(kept.join("/"), place);
        await says(namespace, "one", /^True Available/);
      }
    });

    test("while two EnvironmentConfigs are for one namespace nothing is made there and the claim gives the reason; existing instances go on", async () => {
      const claims = claimsIn("tenant-d");
      await describe("d", "tenant-d", "org-d", "space-d");
      await claims.create(instances, "living", nano);
      await says("tenant-d", "living", /^True Available/);
      await describe("d-again", "tenant-d", "org-d", 7);
      await claims.create(instances, "late", nano);
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
      await claims.patch(instances, "living", bigger);
      const isChanged = async (): Promise<boolean> => (await sentFor("tenant-d", "living"))?.length === 2;
      await waitFor("the change of the living one", isChanged);
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
      await claims.delete(instances, "living", "late");
    });
  });
}
