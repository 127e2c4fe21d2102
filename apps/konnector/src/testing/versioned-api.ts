/** An API of several versions, which its provider changes while app clusters use it. */
import {
  customResourceDefinitions,
  type DynamicObject,
  listAt,
  type ResourceType,
  valueAt,
} from "@klutch/kube-core";
import { type TestCluster, waitFor } from "@klutch/kube-testing";
import { servedVersions } from "@klutch/sync";
import type { TestApi } from "./fixture.ts";

/** One version: its name and the fields of spec, each of a type; the server drops all others. */
export interface ApiVersion {
  readonly name: string;
  readonly fields: Readonly<Record<string, "integer" | "string">>;
  /** Default true. */
  readonly served?: boolean | undefined;
  /** Default false. */
  readonly storage?: boolean | undefined;
}

/** The API with other versions. */
export function withVersions(api: TestApi, versions: readonly ApiVersion[]): TestApi {
  return {
    ...api,
    crd: { ...api.crd, spec: { ...(api.crd.spec as object), versions: versions.map(versionObject) } },
  };
}

function versionObject({ name, fields, served = true, storage = false }: ApiVersion): object {
  const properties = Object.fromEntries(Object.entries(fields).map(([field, type]) => [field, { type }]));
  const status = { type: "object", properties: { size: { type: "integer" } } };
  const schema = { type: "object", properties: { spec: { type: "object", properties }, status } };
  return { name, served, storage, subresources: { status: {} }, schema: { openAPIV3Schema: schema } };
}

/** The same resource in another version. */
export function inVersion(type: ResourceType, version: string): ResourceType {
  return { ...type, version };
}

/** Gives the CRD of a cluster other versions, as its owner does. */
export async function changeVersions(
  { client }: TestCluster,
  name: string,
  versions: readonly ApiVersion[],
): Promise<void> {
  const spec = { versions: versions.map(versionObject) };
  await client.mergePatch(customResourceDefinitions, { name }, { spec });
}

/** Waits until a cluster's CRD serves just these versions, of which the first is the stored one. */
export async function untilServes(
  { client }: TestCluster,
  name: string,
  ...versions: readonly string[]
): Promise<void> {
  await waitFor(`${name} to serve ${versions.join(", ")}`, async () => {
    const crd = await client.get<DynamicObject>(customResourceDefinitions, { name });
    const stored = listAt(crd.spec, "versions").find((version) => valueAt(version, "storage") === true);
    const served = [...servedVersions(crd)].toSorted();
    return valueAt(stored, "name") === versions[0] && served.join() === versions.toSorted().join();
  });
}

/** The versions in which a CRD says that its objects may be stored. */
export async function storedVersions({ client }: TestCluster, name: string): Promise<readonly unknown[]> {
  const crd = await client.get<DynamicObject>(customResourceDefinitions, { name });
  return listAt(crd.status, "storedVersions");
}

/** Writes all objects again, in the stored version, and then says that no other one is in use: what Kubernetes asks for before a version goes. */
export async function migrateStorage(
  { client }: TestCluster,
  name: string,
  type: ResourceType,
): Promise<void> {
  for await (const { metadata } of client.listAll(type)) {
    const { namespace, name: object = "" } = metadata;
    await client.mergePatch(type, { namespace, name: object }, {}, { fieldManager: "migration" });
  }
  const status = { storedVersions: [type.version] };
  await client.mergePatch(customResourceDefinitions, { name }, { status }, { subresource: "status" });
}
