/** Finds the objects that a backend and a provider in Go up to version 1.5 left in a control plane, and says how each is taken over. */
import {
  apiServiceExports,
  appClusterBindingAnnotation,
  appClusterBindings,
  backups,
  binderName,
  identityAnnotation,
  issuerAnnotation,
  managedServiceBindings,
  restores,
  serviceInstances,
  storeConfigs,
} from "@klutch/api";
import {
  clusterRoleBindings,
  customResourceDefinitions,
  type DynamicObject,
  keyOf,
  listAt,
  namespaces,
  type ResourceType,
} from "@klutch/kube-core";
import { isOfGo, type Program } from "./programs.ts";
import type { ClusterReader } from "./reader.ts";
import { findings, type Findings, type Inherited, type Obstacle } from "./report.ts";
import { acceptFlag } from "./take-over-app-cluster.ts";

const oldTemplates = "apiserviceexporttemplates.bind.anynines.com";
const createPending = "crossplane.io/external-create-pending";
const createEnded = ["crossplane.io/external-create-succeeded", "crossplane.io/external-create-failed"];
/** Kinds with something at a broker or a backup manager behind them. */
const managed: readonly ResourceType[] = [serviceInstances, managedServiceBindings, backups, restores];

/** Returns findings if a backend in Go runs or made namespaces. `accepted`: the user agreed to the take-over. */
export async function lookForGoBackend(
  reader: ClusterReader,
  programs: readonly Program[],
  accepted: boolean,
): Promise<Findings> {
  const backends = programs.filter((program) => program.part === "backend" && isOfGo(program));
  const all = await reader.list(namespaces, { metadataOnly: true });
  const tenants = all.filter(({ metadata: { annotations = {} } }) => {
    return annotations[identityAnnotation] !== undefined && annotations[issuerAnnotation] === undefined;
  });
  if (backends.length === 0 && tenants.length === 0) return findings({});
  const inherited: Inherited[] = [
    ...backends.map(backendOf),
    ...(await tenantsOf(reader, tenants)),
    ...(await exportsOf(reader, tenants)),
    ...(await providerObjects(reader)),
    ...(await leftOnly(reader)),
  ];
  const against = await rootNamespaces(reader, all);
  if (!accepted) against.push(installation(backends, tenants));
  return findings({ inherited, against });
}

function installation(backends: readonly Program[], tenants: readonly DynamicObject[]): Obstacle {
  const [backend] = backends;
  const expected = `an installation of Klutch 1.6 or newer, or ${acceptFlag} to take over the listed objects`;
  return backend === undefined
    ? {
        object: "cluster namespaces",
        field: `metadata.annotations[${issuerAnnotation}]`,
        value: `missing in ${tenants.length}`,
        expected,
      }
    : { object: `Deployment ${backend.key}`, field: "image", value: backend.image, expected };
}

function backendOf({ key, image }: Program): Inherited {
  return {
    object: `Deployment ${key}`,
    outcome: "left",
    what: `${image}: scale it to 0 before the new backend starts, because it does not know the lease; delete it afterwards`,
  };
}

async function tenantsOf(
  reader: ClusterReader,
  tenants: readonly DynamicObject[],
): Promise<readonly Inherited[]> {
  const inherited: Inherited[] = [];
  for (const { metadata } of tenants) {
    const { name: namespace = "" } = metadata;
    inherited.push({
      object: `Namespace ${namespace}`,
      outcome: "taken over",
      what: `the cluster namespace stays, with its ClusterBinding and its credentials, which do not end: delete Secret ${binderName} after the next login of its person, which gives one that ends`,
    });
    const wide = `${binderName}-${namespace}`;
    if ((await reader.find(clusterRoleBindings, { name: wide })) !== undefined)
      inherited.push({
        object: `ClusterRoleBinding ${wide}`,
        outcome: "left",
        what: "rights of this app cluster in the whole control plane; delete it, unless its APIs are shared with scope Cluster",
      });
  }
  return inherited;
}

async function exportsOf(
  reader: ClusterReader,
  tenants: readonly DynamicObject[],
): Promise<readonly Inherited[]> {
  const names = new Set(tenants.map(({ metadata }) => metadata.name));
  const all = await reader.list(apiServiceExports);
  return all
    .filter(({ metadata }) => names.has(metadata.namespace))
    .map((one) => ({
      object: `APIServiceExport ${keyOf(one)}`,
      outcome: "taken over",
      what: `its schema is compared again, and its mark is written once (${listAt(one.spec, "permissionClaims").length} permission claims, which then follow the template)`,
    }));
}

async function providerObjects(reader: ClusterReader): Promise<readonly Inherited[]> {
  const inherited: Inherited[] = [];
  for (const type of managed) {
    const objects = await reader.list(type);
    if (objects.length === 0) continue;
    inherited.push({
      object: `objects of ${type.plural}.${type.group}`,
      outcome: "taken over",
      what: `${objects.length}, with the ids that they have at their broker or backup manager`,
    });
    inherited.push(...objects.flatMap((one) => [...undecided(one), ...restricted(one)]));
  }
  return inherited;
}

/** A provider in Go does nothing any more with an object whose create was never answered. */
function undecided({ kind, metadata: { name = "", annotations = {} } }: DynamicObject): readonly Inherited[] {
  const pending = annotations[createPending];
  const ended = createEnded.map((key) => annotations[key] ?? "");
  if (pending === undefined || ended.some((time) => time >= pending)) return [];
  return [
    {
      object: `${kind} ${name}`,
      outcome: "taken over",
      what: `its create at ${pending} was never answered, so it was frozen; the new provider asks the broker for the result and continues`,
    },
  ];
}

/** A provider in Go refuses these; ours does what they say. */
function restricted({ kind, metadata, spec }: DynamicObject): readonly Inherited[] {
  const policies = listAt(spec, "managementPolicies").map(String);
  if (policies.length === 0 || policies.includes("*")) return [];
  return [
    {
      object: `${kind} ${metadata.name ?? ""}`,
      outcome: "taken over",
      what: `managementPolicies ${policies.join(", ")} had no effect but an error; they are obeyed now`,
    },
  ];
}

/** Finds objects that the new programs do not read. */
async function leftOnly(reader: ClusterReader): Promise<readonly Inherited[]> {
  const inherited: Inherited[] = (await reader.list(storeConfigs, { metadataOnly: true })).map((one) => ({
    object: `StoreConfig ${keyOf(one)}`,
    outcome: "left",
    what: "it has no effect; credentials are written to Secrets",
  }));
  if ((await reader.find(customResourceDefinitions, { name: oldTemplates })) !== undefined)
    inherited.push({
      object: `CRD ${oldTemplates}`,
      outcome: "left",
      what: "templates of this group are not read; create them again in example-backend.klutch.anynines.com",
    });
  return inherited;
}

/** Finds root namespaces without our mark, which are refused so that Klutch never takes a foreign namespace. */
async function rootNamespaces(reader: ClusterReader, all: readonly DynamicObject[]): Promise<Obstacle[]> {
  const marked = new Map(all.map(({ metadata }) => [metadata.name, metadata.annotations]));
  return (await reader.list(appClusterBindings)).flatMap((one): readonly Obstacle[] => {
    const { namespace = "", name = "" } = one.metadata;
    const root = `klutch-bind-${namespace}-${name}`;
    if (!marked.has(root) || marked.get(root)?.[appClusterBindingAnnotation] === keyOf(one)) return [];
    return [
      {
        object: `Namespace ${root}`,
        field: `metadata.annotations[${appClusterBindingAnnotation}]`,
        value: marked.get(root)?.[appClusterBindingAnnotation] ?? "missing",
        expected: `${keyOf(one)}, which says that the namespace is this AppClusterBinding's: annotate it once`,
      },
    ];
  });
}
