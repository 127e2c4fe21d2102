/** The packages that a Crossplane runs. */
import { packageArtefacts, packageType } from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  type ResourceType,
  textAt,
} from "@klutch/kube-core";
import type { ClusterReader } from "./reader.ts";
import { conditionObstacle, findings, type Findings, type Inherited, type Obstacle } from "./report.ts";
import { firstInTypeScript, imageOf, isOlder, versionWanted } from "./versions.ts";

const packageKinds: readonly ResourceType[] = [
  packageType("Configuration", "configurations"),
  packageType("Function", "functions"),
  packageType("Provider", "providers"),
];
/** Last parts of the names of Klutch's packages. */
const ownBases = new Set<string>(Object.values(packageArtefacts));
/** Last parts of the names of packages of the implementation in Go. */
const basesOfGo = new Set(["dataservices", "anynines-dataservices", "provider-anynines"]);

/** All packages, with those of Klutch held against the release; nothing when there is no Crossplane. */
export async function lookAtPackages(reader: ClusterReader, release: string): Promise<Findings> {
  const all: DynamicObject[] = [];
  for (const kind of packageKinds) all.push(...(await reader.list(kind)));
  const running = all.map((one) => ({
    part: one.kind,
    name: one.metadata.name ?? "",
    version: packageOf(one).tag ?? "unknown",
    state: stateOf(one),
  }));
  return findings({
    running,
    inherited: all.flatMap((one) => inheritedOf(one)),
    against: all.flatMap((one) => [...healthObstacles(one), ...versionObstacles(one, release)]),
  });
}

function packageOf({ spec }: DynamicObject): ReturnType<typeof imageOf> {
  return imageOf(textAt(spec, "package") ?? "");
}

function stateOf(one: DynamicObject): string {
  return badConditions(one).length === 0 ? "healthy" : "not healthy";
}

function badConditions(one: DynamicObject): readonly string[] {
  const conditions = conditionsOf(one);
  return ["Installed", "Healthy"].filter((type) => findCondition(conditions, type)?.status !== "True");
}

function healthObstacles(one: DynamicObject): readonly Obstacle[] {
  const { base } = packageOf(one);
  if (!ownBases.has(base) && !basesOfGo.has(base)) return [];
  return badConditions(one).map((type) =>
    conditionObstacle(nameOf(one), type, findCondition(conditionsOf(one), type)),
  );
}

function versionObstacles(one: DynamicObject, release: string): readonly Obstacle[] {
  const { base, tag = "" } = packageOf(one);
  if (!ownBases.has(base) || isOfGo(one)) return [];
  const expected = versionWanted(tag, release, "package");
  if (expected === undefined) return [];
  const value = textAt(one.spec, "package") ?? "";
  return [{ object: nameOf(one), field: "spec.package", value, expected }];
}

function nameOf({ kind, metadata }: DynamicObject): string {
  return `${kind} ${metadata.name ?? ""}`;
}

function isOfGo(one: DynamicObject): boolean {
  const { base, tag = "" } = packageOf(one);
  return basesOfGo.has(base) && isOlder(tag, firstInTypeScript) === true;
}

function inheritedOf(one: DynamicObject): readonly Inherited[] {
  if (!isOfGo(one)) return [];
  const object = nameOf(one);
  return one.kind === "Provider"
    ? [
        {
          object,
          outcome: "taken over",
          what: "point spec.package at the new provider: its kinds, objects and ids stay. A second Provider beside it would not become healthy, because both own the same kinds",
        },
      ]
    : [
        {
          object,
          outcome: "left",
          what: "its claims and Compositions stay; the new Configuration has definitions of the same names, so replace spec.package of this one instead of adding another",
        },
      ];
}
