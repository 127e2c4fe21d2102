/** A provider that does not keep to its own schemas, because it runs the API server itself. */
import { apiServiceExports } from "@klutch/api";
import { customResourceDefinitions, type DynamicObject, recordsAt } from "@klutch/kube-core";
import { anyObject, type TestCluster, waitFor } from "@klutch/kube-testing";
import { tenantNamespace } from "./provider-side.ts";

/** From now on the provider's APIServiceExports may say anything. */
export async function dropExportRules({ client }: TestCluster): Promise<void> {
  const ref = { name: `${apiServiceExports.plural}.${apiServiceExports.group}` };
  const { spec } = await client.get<DynamicObject>(customResourceDefinitions, ref);
  const open = recordsAt(spec, "versions").map((version) => ({
    ...version,
    schema: { openAPIV3Schema: anyObject },
  }));
  await client.mergePatch(customResourceDefinitions, ref, { spec: { versions: open } });
  const probe = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: { namespace: tenantNamespace, name: "probe" },
    spec: anyObject,
  };
  await waitFor("the rules to be gone", () => client.create(apiServiceExports, probe, { dryRun: true }));
}

/** Writes a merge patch into an export of the tenant. */
export async function rewriteExport({ client }: TestCluster, name: string, patch: object): Promise<void> {
  await client.mergePatch(apiServiceExports, { namespace: tenantNamespace, name }, patch);
}
