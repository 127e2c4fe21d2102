/** The CustomResourceDefinitions of Klutch's kinds as they are, against those of the release. Objects decide, not the schemas alone. */
import { apiServiceBindingCrd, bindCrds, providerCrds } from "@klutch/api";
import {
  contains,
  customResourceDefinitions,
  type DynamicObject,
  isRecord,
  type KubeObject,
  listAt,
  recordsAt,
  textAt,
} from "@klutch/kube-core";
import { resourceTypeOf } from "@klutch/kube";
import { isUndecidable, SchemaTrial } from "@klutch/sync";
import type { ClusterReader } from "./reader.ts";
import { type Change, findings, type Findings, type Obstacle, type Running } from "./report.ts";

/** A kind's definition in the cluster, and the release's. */
export interface CrdPair {
  readonly name: string;
  /** The installed definition; undefined if the cluster does not have it. */
  readonly present: DynamicObject | undefined;
  readonly wanted: KubeObject;
}

/** Role of a cluster, which decides the CRDs installed there. */
export type Role = "a control plane" | "an app cluster" | "a cluster without Klutch";

/** Maximum number of affected objects to name. */
const mostNamed = 5;
const exportsCrd = "apiserviceexports.klutch.anynines.com";

/** All definitions of the release, with what the cluster has of them. */
export async function readCrds(reader: ClusterReader): Promise<readonly CrdPair[]> {
  const pairs: CrdPair[] = [];
  for (const wanted of [...bindCrds, ...providerCrds]) {
    const { name } = wanted.metadata;
    pairs.push({ name, present: await reader.find(customResourceDefinitions, { name }), wanted });
  }
  return pairs;
}

/** Returns the cluster's role, by the kinds that it serves. A control plane also has those of an app cluster. */
export function roleOf(pairs: readonly CrdPair[], hasKonnector: boolean): Role {
  const has = (name: string): boolean =>
    pairs.some((pair) => pair.name === name && pair.present !== undefined);
  if (has(exportsCrd)) return "a control plane";
  return hasKonnector || has(apiServiceBindingCrd.metadata.name)
    ? "an app cluster"
    : "a cluster without Klutch";
}

/** Compares the definitions that the upgrade would write with the installed ones. */
export async function lookAtCrds(
  reader: ClusterReader,
  pairs: readonly CrdPair[],
  role: Role,
): Promise<Findings> {
  const running: Running[] = [];
  const changes: Change[] = [];
  const against: Obstacle[] = [];
  const affected = pairs.filter(
    ({ name }) => role === "a control plane" || name === apiServiceBindingCrd.metadata.name,
  );
  for (const pair of affected) {
    const { name, present, wanted } = pair;
    if (present === undefined) {
      if (role === "a control plane")
        changes.push({ object: `CRD ${name}`, effect: "compatible", change: "is added" });
      continue;
    }
    running.push(rowOf(name, present));
    against.push(...fixedObstacles(pair, present));
    const trial = new SchemaTrial(present.spec, wanted.spec);
    changes.push(...trial.changes.map((change) => breakingChange(name, change)));
    if (trial.changes.length > 0) against.push(...(await trialObstacles(reader, pair, present, trial)));
    else if (!contains(withoutEmpty(present.spec), withoutEmpty(withoutScope(wanted.spec))))
      changes.push({
        object: `CRD ${name}`,
        effect: "compatible",
        change: "fields, limits, columns or descriptions; every stored object fits",
      });
  }
  return findings({ running, changes, against });
}

const breakingChange = (name: string, change: string): Change => {
  return { object: `CRD ${name}`, effect: "breaking", change };
};

/** The scope cannot change, so it is no change of the upgrade. */
function withoutScope(spec: unknown): object {
  return { ...(typeof spec === "object" ? spec : {}), scope: undefined };
}

/** Drops empty values, as an API server does. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(withoutEmpty);
  if (!isRecord(value)) return value === "" || value === 0 || value === false ? undefined : value;
  const fields = Object.entries(value).map(([name, field]) => [name, withoutEmpty(field)] as const);
  const left = fields.filter(([, field]) => field !== undefined);
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

function rowOf(name: string, { spec, status }: DynamicObject): Running {
  const versions = recordsAt(spec, "versions").map((version) => {
    const marks = [
      version["served"] === true ? "" : "not served",
      version["storage"] === true ? "storage" : "",
    ];
    return `${textAt(version, "name") ?? "?"} (${marks.filter((mark) => mark !== "").join(", ") || "served"})`;
  });
  return {
    part: "CRD",
    name,
    version: versions.join(", "),
    state: `${textAt(spec, "scope") ?? "?"}; stored: ${listAt(status, "storedVersions").map(String).join(", ")}`,
  };
}

/** Lists changes that an API server refuses. take-over-app-cluster.ts handles a cluster-scoped APIServiceBinding. */
function fixedObstacles({ name, wanted }: CrdPair, present: DynamicObject): readonly Obstacle[] {
  const obstacles: Obstacle[] = [];
  const object = `CRD ${name}`;
  const [scope = "", wantedScope = ""] = [textAt(present.spec, "scope"), textAt(wanted.spec, "scope")];
  if (scope !== wantedScope && name !== apiServiceBindingCrd.metadata.name)
    obstacles.push({
      object,
      field: "spec.scope",
      value: scope,
      expected: `${wantedScope}; a scope cannot be changed, so the CRD has to be deleted with all its objects first`,
    });
  const known = recordsAt(wanted.spec, "versions").map((version) => textAt(version, "name") ?? "");
  const stored = listAt(present.status, "storedVersions").map(String);
  const lost = stored.filter((version) => !known.includes(version));
  if (lost.length > 0)
    obstacles.push({
      object,
      field: "status.storedVersions",
      value: lost.join(", "),
      expected: `only ${known.join(", ")}, which this release knows: it is older than the stored version; use the klutch that installed it`,
    });
  return obstacles;
}

/** Holds the objects that exist against the release's schema. */
async function trialObstacles(
  reader: ClusterReader,
  { name }: CrdPair,
  present: DynamicObject,
  trial: SchemaTrial,
): Promise<readonly Obstacle[]> {
  const types = trial.versions.flatMap((version) => resourceTypeOf(present, version) ?? []);
  const lists = await Promise.all(types.map((type) => reader.list(type)));
  const count = Math.max(0, ...lists.map(({ length }) => length));
  const found = lists.flat().flatMap((object) => trial.affected(object) ?? []);
  const suffering = [...new Map(found.map((object) => [object.key, object])).values()];
  const obstacles = suffering.slice(0, mostNamed).map(({ key, problems }) => ({
    object: `${textAt(present.spec, "names", "kind") ?? name} ${key}`,
    field: "schema of the release",
    value: problems.join("; "),
    expected: "an object that the release's schema takes as it is: change it first, or delete it",
  }));
  if (suffering.length > mostNamed)
    obstacles.push({
      object: `CRD ${name}`,
      field: "objects that would suffer",
      value: String(suffering.length),
      expected: `none; the first ${mostNamed} are named`,
    });
  const undecided = trial.changes.filter(isUndecidable);
  // A rule that every object was made under cannot be decided by them; the server will, at their next change.
  if (suffering.length > 0 || undecided.length === 0 || count === 0) return obstacles;
  return [
    {
      object: `CRD ${name}`,
      field: "schema of the release",
      value: undecided.slice(0, mostNamed).join("; "),
      expected: `rules that can be checked here; the ${count} objects that exist are checked by the server at their next change, so look at them first`,
    },
  ];
}
