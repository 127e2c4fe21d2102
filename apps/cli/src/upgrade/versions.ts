/** Decides which versions work together: a konnector with a backend of its own minor version, the previous and the next one. */
import { compareVersions, type VersionNumbers, versionNumbers } from "@klutch/api";

/** Relation of a version to a release. `development` is 0.0.0, which says nothing; `unknown` cannot be read. */
export type Skew = "fits" | "development" | "unknown" | "newer" | "too old" | "too new";

/** `newer` is newer than the release, but not by more than one minor version. */
export function skewOf(version: string, release: string): Skew {
  const [own, other] = [versionNumbers(release), versionNumbers(version)];
  if (own === undefined || other === undefined) return "unknown";
  if (other.every((number) => number === 0)) return "development";
  const minors = other[0] === own[0] ? other[1] - own[1] : (other[0] - own[0]) * Number.POSITIVE_INFINITY;
  if (minors < -1) return "too old";
  if (minors > 1) return "too new";
  return compareVersions(other, own) > 0 ? "newer" : "fits";
}

/** `v1.5` for `v1.6.0`: how old a part may be. */
export function oldestFor(release: string): string {
  const [major, minor] = versionNumbers(release) ?? [0, 0, 0];
  return `v${major}.${Math.max(0, minor - 1)}`;
}

/** `v1.7` for `v1.6.0`: how new an app cluster's konnector may be. */
export function newestFor(release: string): string {
  const [major, minor] = versionNumbers(release) ?? [0, 0, 0];
  return `v${major}.${minor + 1}`;
}

/**
 * The version that would be right instead of this one of a program or a package, and what to do; undefined when the release may take its place,
 * and when it cannot be read.
 */
export function versionWanted(
  version: string,
  release: string,
  what: "program" | "package",
): string | undefined {
  const skew = skewOf(version, release);
  if (skew === "newer" || skew === "too new")
    return `${release} or older: this klutch would put an older ${what} over newer state; use the klutch of ${version}`;
  return skew === "too old"
    ? `${oldestFor(release)} or newer: upgrade one minor version after the other`
    : undefined;
}

/** The implementation in Go has the releases before this one. */
export const firstInTypeScript: VersionNumbers = [1, 6, 0];

/** Returns true if a version is older than these numbers; undefined if it cannot be read. */
export function isOlder(version: string, than: VersionNumbers): boolean | undefined {
  const numbers = versionNumbers(version);
  return numbers === undefined ? undefined : compareVersions(numbers, than) < 0;
}

/** An image's name, as a container has it. */
export interface ImageName {
  /** Registry and path. */
  readonly repository: string;
  /** The path's last part. */
  readonly base: string;
  readonly tag: string | undefined;
}

/** Takes an image's name apart (OCI distribution specification, "Pulling manifests"). Never throws. */
export function imageOf(text: string): ImageName {
  const named = text.split("@", 1)[0] ?? "";
  const slash = named.lastIndexOf("/");
  const colon = named.indexOf(":", slash + 1);
  const repository = colon < 0 ? named : named.slice(0, colon);
  const tag = colon < 0 ? undefined : named.slice(colon + 1);
  return { repository, base: repository.slice(slash + 1), tag: tag === "" ? undefined : tag };
}
