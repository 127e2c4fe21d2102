/** A provider cluster as the shipped manifests leave it, for tests that run parts of the backend in their own process. */
import {
  apiServiceExportTemplates,
  bindCrds,
  binderName,
  binderRules,
  type PermissionClaim,
} from "@klutch/api";
import {
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  type ResourceType,
} from "@klutch/kube-core";
import type { KubeClient } from "@klutch/kube";
import { roleObject, waitFor } from "@klutch/kube-testing";

/** The API that tests offer. */
export const databases: ResourceType = {
  group: "example.org",
  version: "v1",
  plural: "databases",
  kind: "Database",
  namespaced: true,
};

/** Installs Klutch's kinds, the role that all accounts of app clusters have, and `crds`. */
export async function installProvider(client: KubeClient, crds: readonly KubeObject[] = []): Promise<void> {
  for (const crd of [...bindCrds, ...crds]) await client.create<KubeObject>(customResourceDefinitions, crd);
  await client.create(clusterRoles, roleObject({ name: binderName }, binderRules));
}

/** Offers `<resource>.<group>` in namespace `default`. */
export function templateObject(
  group: string,
  resource: string,
  permissionClaims: readonly PermissionClaim[] = [],
): DynamicObject {
  return {
    apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportTemplate",
    metadata: { namespace: "default", name: resource },
    spec: { APIServiceSelector: { group, resource }, permissionClaims },
  };
}

/** Offers `databases`, once the kind of templates is served. */
export function offerDatabases(
  client: KubeClient,
  permissionClaims: readonly PermissionClaim[] = [],
): Promise<DynamicObject> {
  const template = templateObject(databases.group, databases.plural, permissionClaims);
  return waitFor("templates to be served", () =>
    client.create<DynamicObject>(apiServiceExportTemplates, template),
  );
}

/** A permission claim on everything of a resource that the provider made. */
export function ownClaim(resource: string, group = ""): PermissionClaim {
  return { group, resource, version: "v1", selector: { owner: "Provider" } };
}
