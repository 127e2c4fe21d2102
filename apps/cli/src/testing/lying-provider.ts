/** A provider whose API server stores any export, and a backend there that answers requests with exports of its own choice. */
import {
  type APIServiceExportRequest,
  apiServiceExportRequests,
  apiServiceExports,
  bindCrds,
  crdNameOf,
  type PermissionClaim,
  resourceNamed,
} from "@klutch/api";
import { customResourceDefinitions, type DynamicObject } from "@klutch/kube-core";
import { type TestCluster, waitFor } from "@klutch/kube-testing";
import { answerEach } from "./provider-side.ts";

/** Serves the kinds of a backend's cluster, without any validation of exports. */
export async function prepareLyingProvider({ client }: TestCluster): Promise<void> {
  const schema = {
    openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  };
  for (const crd of bindCrds) await client.create(customResourceDefinitions, crd);
  const name = crdNameOf({ group: apiServiceExports.group, resource: apiServiceExports.plural });
  const anything = [{ op: "replace", path: "/spec/versions/0/schema", value: schema }];
  await client.jsonPatch(customResourceDefinitions, { name }, anything);
  await waitFor("the requests", () => client.list(apiServiceExportRequests));
  // A changed schema takes a moment to hold.
  await waitFor("exports of any form", async () => {
    const probe = exportOf({ namespace: "default", name: "probe" }, { spec: "none" });
    try {
      await client.create<DynamicObject>(apiServiceExports, probe, { dryRun: true });
      return true;
    } catch {
      return false;
    }
  });
}

/** Overrides of the provider's answer about its exports; omitted fields are honest. */
export interface Lie {
  readonly group?: unknown;
  readonly plural?: unknown;
  readonly permissionClaims?: readonly unknown[];
  readonly spec?: unknown;
}

/** Answers all requests of the namespace with this export, until disposed. */
export function answerWith(provider: TestCluster, namespace: string, lie: Lie): AsyncDisposable {
  return answerEach(provider, namespace, async (request) => {
    const ref = { namespace, name: request.metadata.name ?? "" };
    const exported = { namespace, name: apiOf(request) };
    await provider.client.delete(apiServiceExports, exported);
    await provider.client.create<DynamicObject>(apiServiceExports, exportOf(exported, lie));
    const status = { status: { phase: "Succeeded" } };
    await provider.client.mergePatch(apiServiceExportRequests, ref, status, { subresource: "status" });
  });
}

/** The first API of a request. */
function apiOf({ spec }: APIServiceExportRequest): string {
  const [first] = spec.resources;
  return first === undefined ? "" : crdNameOf(first);
}

function exportOf(ref: { readonly namespace: string; readonly name: string }, lie: Lie): DynamicObject {
  const { resource: plural, group } = resourceNamed(ref.name);
  const schema = { openAPIV3Schema: { type: "object" } };
  return {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "APIServiceExport",
    metadata: ref,
    spec: lie.spec ?? {
      group: lie.group ?? group,
      names: { kind: "Thing", plural: lie.plural ?? plural },
      scope: "Namespaced",
      informerScope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema }],
      permissionClaims: lie.permissionClaims ?? [],
    },
  };
}

/** A claim on all objects of a resource. */
export function claimOn(
  resource: string,
  group: string,
  more: Partial<PermissionClaim> = {},
): PermissionClaim {
  return { group, resource, version: "v1", ...more };
}
