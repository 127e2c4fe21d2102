/** Two brokers for one service: what a claim's region chooses, by a real Crossplane. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  managedServiceBindings,
  providerConfigs,
  regionAboutAnnotation,
  regionLabel,
  serviceInstances,
  serviceTypeLabel,
} from "@klutch/api";
import { parseYaml } from "@klutch/kube";
import {
  clusterRoles,
  type DynamicObject,
  type KubeObject,
  namespaces,
  type ResourceType,
  textAt,
} from "@klutch/kube-core";
import { isAllowed, namespaceObject, waitFor } from "@klutch/kube-testing";
import { bindings, instances, nano } from "../claim-kinds.ts";
import { Claims, managedBehind } from "../claims.ts";
import type { OwnSandbox } from "../own-sandbox.ts";

const config = "postgresql-eu-1";
const place = "regions";
const crossplane = "system:serviceaccount:crossplane-system:crossplane";
/** The role of docs/several-brokers.md. */
const reader = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: klutch-regions
  labels: {rbac.crossplane.io/aggregate-to-crossplane: "true"}
rules:
  - {apiGroups: [""], resources: [namespaces], verbs: [get, list, watch]}
`;

/** Declares the tests. */
export function regions(sandbox: OwnSandbox): void {
  suite("the region of a claim", { concurrency: 1 }, () => {
    test("an instance is made at the broker of its region, its binding follows, and an unknown region is refused with the possible ones", async () => {
      const client = await sandbox.client("control-plane");
      await client.create(namespaces, namespaceObject(place));
      await client.create(clusterRoles, parseYaml(reader) as KubeObject);
      const read = { verb: "list", group: "", resource: "namespaces" };
      await waitFor("Crossplane's right", () => isAllowed(client, crossplane, read));
      const usual = await client.get<DynamicObject>(providerConfigs, { name: "postgresql-service-broker" });
      await client.create<DynamicObject>(providerConfigs, {
        apiVersion: usual.apiVersion,
        kind: usual.kind,
        metadata: {
          name: config,
          labels: { [serviceTypeLabel]: "postgresql", [regionLabel]: "eu-1" },
          annotations: { [regionAboutAnnotation]: "Frankfurt" },
        },
        spec: usual["spec"],
      });
      const claims = new Claims(client, place);
      const instanceRef = "near";
      await claims.create(instances, instanceRef, { ...nano, region: "eu-1" });
      await claims.create(bindings, instanceRef, { instanceRef, serviceInstanceType: "postgresql" });
      await claims.create(instances, "far", { ...nano, region: "mars" });
      await claims.create(instances, "usual", nano);
      const said = "klutch.anynines.com/Ready";
      await claims.says(
        instances,
        "far",
        said,
        /^False RegionNotAvailable: .*"mars".*one of: eu-1 \(Frankfurt\)/,
      );
      for (const [type, name] of [
        [instances, "near"],
        [bindings, "near"],
        [instances, "usual"],
      ] as const)
        await claims.says(type, name, said, /^True Available/);
      const near = await claims.find(instances, "near");
      assert.equal(textAt(near?.status, "managed", "region"), "eu-1");
      const configOf = async (type: ResourceType, name: string): Promise<string | undefined> =>
        textAt(
          await managedBehind(client, type, { namespace: place, name }),
          "spec",
          "providerConfigRef",
          "name",
        );
      assert.equal(await configOf(serviceInstances, "near"), config);
      assert.equal(await configOf(managedServiceBindings, "near"), config);
      assert.equal(await configOf(serviceInstances, "usual"), usual.metadata.name);
      assert.equal(await configOf(serviceInstances, "far"), undefined);
      await assert.rejects(claims.patch(instances, "near", { spec: { region: "mars" } }), /region/);
      await claims.delete(bindings, "near");
      await claims.delete(instances, "near", "far", "usual");
      await client.delete(providerConfigs, { name: config });
    });
  });
}
