/** The packages that a Crossplane runs. */
import { packageArtefacts } from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  type ResourceType,
  textAt,
} from "@klutch/kube-core";
import type { ClusterReader } from "./reader.ts";
import { findings, type Findings, type Inherited, type Obstacle } from "./report.ts";
import { imageOf, isOlder, oldestFor, skewOf } from "./versions.ts";

const packageKinds: readonly ResourceType[] = [
  packageKind("Configuration", "configurations"),
  packageKind("Function", "functions"),
  packageKind("Provider", "providers"),
];
/** Last parts of the names of Klutch's packages. */
const ownBases = new Set<string>(Object.values(packageArtefacts));
/** And of those that the implementation in Go has. */
const basesOfGo = new Set(["dataservices", "anynines-dataservices", "provider-anynines"]);

function packageKind(kind: string, plural: string): ResourceType {
  return { group: "pkg.crossplane.io", version: "v1", plural, kind, namespaced: false };
}

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
  if (!ownBases.has(packageOf(one).base) && !basesOfGo.has(packageOf(one).base)) return [];
  return badConditions(one).map((type) => {
    const { status = "absent", reason = "", message = "" } = findCondition(conditionsOf(one), type) ?? {};
    return {
      object: `${one.kind} ${one.metadata.name ?? ""}`,
      field: `status.conditions[${type}]`,
      value: `${status} ${reason} ${message}`.trim(),
      expected: "True before a package is replaced",
    };
  });
}

function versionObstacles(one: DynamicObject, release: string): readonly Obstacle[] {
  const { base, tag = "" } = packageOf(one);
  if (!ownBases.has(base) || isOfGo(one)) return [];
  const skew = skewOf(tag, release);
  const found = (expected: string): readonly Obstacle[] => [
    {
      object: `${one.kind} ${one.metadata.name ?? ""}`,
      field: "spec.package",
      value: textAt(one.spec, "package") ?? "",
      expected,
    },
  ];
  if (skew === "newer" || skew === "too new")
    return found(
      `${release} or older: this klutch would put an older package over newer state; use the klutch of ${tag}`,
    );
  return skew === "too old"
    ? found(`${oldestFor(release)} or newer: upgrade one minor version after the other`)
    : [];
}

/** The last release in Go is 1.5. */
function isOfGo(one: DynamicObject): boolean {
  const { base, tag = "" } = packageOf(one);
  return basesOfGo.has(base) && isOlder(tag, [1, 6, 0]) === true;
}

function inheritedOf(one: DynamicObject): readonly Inherited[] {
  if (!isOfGo(one)) return [];
  const object = `${one.kind} ${one.metadata.name ?? ""}`;
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
