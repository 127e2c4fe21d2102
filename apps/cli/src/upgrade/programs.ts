/** Reports the Kubernetes version of a cluster and Klutch's programs, by their Deployments. */
import { consumerNamespace, konnectorName, type VersionNumbers } from "@klutch/api";
import {
  deployments,
  type DynamicObject,
  keyOf,
  leases,
  listAt,
  numberAt,
  recordsAt,
  textAt,
} from "@klutch/kube-core";
import type { ClusterReader } from "./reader.ts";
import { findings, type Findings, type Obstacle, type Running } from "./report.ts";
import { firstInTypeScript, type ImageName, imageOf, isOlder, skewOf, versionWanted } from "./versions.ts";

/** CustomResourceDefinitions have rules, and roles have policies behind them, that older servers do not know. */
const oldestKubernetes: VersionNumbers = [1, 30, 0];
/** Minimum version that the packages require. */
const oldestCrossplane: VersionNumbers = [2, 0, 0];

/** A Deployment of one of the programs. */
export interface Program {
  readonly part: "backend" | "konnector" | "Crossplane";
  /** `namespace/name`. */
  readonly key: string;
  readonly image: string;
  /** Version by the image's tag, else by the Deployment's label; `unknown` if both are missing. */
  readonly version: string;
  readonly wanted: number;
  readonly available: number;
  /** Command and arguments of its container. */
  readonly args: readonly string[];
}

/** The version of the API server. */
export async function lookAtKubernetes(reader: ClusterReader): Promise<Findings> {
  const version = textAt(await reader.get("/version"), "gitVersion") ?? "unknown";
  const running = [{ part: "Kubernetes", name: "API server", version, state: "" }];
  if (isOlder(version, oldestKubernetes) === false) return findings({ running });
  const expected = `Kubernetes ${textOf(oldestKubernetes)} or newer`;
  const against = [{ object: "API server", field: "version", value: version, expected }];
  return findings({ running, against });
}

/** The programs that Deployments run. */
export async function readPrograms(reader: ClusterReader): Promise<readonly Program[]> {
  return (await reader.list(deployments)).flatMap(programOf);
}

/** Held against a release. `now` is in milliseconds since the epoch. */
export async function lookAtPrograms(
  reader: ClusterReader,
  programs: readonly Program[],
  { release, now }: { readonly release: string; readonly now: number },
): Promise<Findings> {
  const holder = await leaseHolder(reader, now);
  const running: Running[] = programs.map(({ part, key, version, available, wanted }) => ({
    part,
    name: key,
    version,
    state: `${available} of ${wanted} replicas available`,
  }));
  const against = programs.flatMap((program) => [
    ...versionObstacles(program, release),
    ...(isServedFromOutside(program, holder) ? [] : replicaObstacles(program)),
  ]);
  const notes = programs.flatMap((program) => noteOf(program, release));
  if (holder !== undefined) notes.push(`${holder} holds the konnector's lease and renews it in time.`);
  return findings({ running, against, notes });
}

/** Returns true for a konnector outside the cluster, as in the sandbox or on an operator's machine. */
function isServedFromOutside({ part, available }: Program, holder: string | undefined): boolean {
  return part === "konnector" && available === 0 && holder !== undefined;
}

function programOf(deployment: DynamicObject): readonly Program[] {
  const { labels = {} } = deployment.metadata;
  for (const container of recordsAt(deployment.spec, "template", "spec", "containers")) {
    const image = textAt(container, "image") ?? "";
    const named = imageOf(image);
    const part = partOf(deployment, named);
    if (part === undefined) continue;
    return [
      {
        part,
        key: keyOf(deployment),
        image,
        version: named.tag ?? labels["app.kubernetes.io/version"] ?? "unknown",
        wanted: numberAt(deployment.spec, "replicas") ?? 1,
        available: numberAt(deployment.status, "availableReplicas") ?? 0,
        args: [...listAt(container, "command"), ...listAt(container, "args")].filter(
          (arg) => typeof arg === "string",
        ),
      },
    ];
  }
  return [];
}

/** Images may come from any registry, so their last name counts, with a path or labels that say whose it is. */
function partOf({ metadata }: DynamicObject, { repository, base }: ImageName): Program["part"] | undefined {
  const { namespace, name, labels = {} } = metadata;
  const isOurs = repository.split("/").includes("klutch");
  const isKonnector =
    (namespace === consumerNamespace && name === konnectorName) ||
    (base === konnectorName && (isOurs || labels["app"] === konnectorName));
  if (isKonnector) return "konnector";
  const isBackend = labels["app.kubernetes.io/name"] === "klutch-backend" || (base === "backend" && isOurs);
  if (isBackend || base === "example-backend") return "backend";
  return base === "crossplane" && name === "crossplane" ? "Crossplane" : undefined;
}

function versionObstacles({ part, key, version, image }: Program, release: string): readonly Obstacle[] {
  const expected =
    part === "Crossplane" ? crossplaneWanted(version) : versionWanted(version, release, "program");
  return expected === undefined
    ? []
    : [{ object: `Deployment ${key}`, field: "image", value: image, expected }];
}

function crossplaneWanted(version: string): string | undefined {
  return isOlder(version, oldestCrossplane) === true
    ? `Crossplane ${textOf(oldestCrossplane)} or newer, which Klutch's packages need; upgrade it first`
    : undefined;
}

function replicaObstacles({ key, wanted, available }: Program): readonly Obstacle[] {
  if (available >= wanted && wanted > 0) return [];
  const expected = `${Math.max(1, wanted)}: upgrade what works, so that a failure afterwards has one cause`;
  return [
    { object: `Deployment ${key}`, field: "status.availableReplicas", value: String(available), expected },
  ];
}

function noteOf({ part, key, version, image }: Program, release: string): readonly string[] {
  if (part === "Crossplane") return [];
  const skew = skewOf(version, release);
  if (skew !== "unknown" && skew !== "development") return [];
  return [`The version of Deployment ${key} cannot be compared: its image is ${image}.`];
}

/** Returns the present holder of the konnector's lease. */
async function leaseHolder(reader: ClusterReader, now: number): Promise<string | undefined> {
  const lease = await reader.find(leases, { namespace: consumerNamespace, name: consumerNamespace });
  const holder = textAt(lease?.spec, "holderIdentity");
  const renewed = Date.parse(textAt(lease?.spec, "renewTime") ?? "");
  const duration = numberAt(lease?.spec, "leaseDurationSeconds") ?? 15;
  return holder !== undefined && now - renewed <= duration * 1000 ? holder : undefined;
}

function textOf([major, minor]: VersionNumbers): string {
  return `v${major}.${minor}`;
}

/** Returns true if the image belongs to the implementation in Go. */
export function isOfGo({ image }: Program): boolean {
  const { base, tag = "" } = imageOf(image);
  if (base === "example-backend") return true;
  return (
    base === "konnector" && isOlder(tag, [0, 0, 1]) === false && isOlder(tag, firstInTypeScript) === true
  );
}
