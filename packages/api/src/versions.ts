/** Versions of the parts and what they accept of each other. */

/** The version of this release, in every part. */
export const klutchVersion = "v1.6.0";

/** Major, minor and patch. */
export type VersionNumbers = readonly [number, number, number];

/** The numbers at the beginning of a version such as `v1.34.4-gke.1`; undefined when it does not begin with three of them. */
export function versionNumbers(version: string): VersionNumbers | undefined {
  const parsed = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?!\d)/.exec(version);
  return parsed === null ? undefined : [Number(parsed[1]), Number(parsed[2]), Number(parsed[3])];
}

/** Below zero when the left one is older, zero when they are equal, above when it is newer. */
export function compareVersions(left: VersionNumbers, right: VersionNumbers): number {
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2];
}

/** The oldest provider that a plugin from 0.3.0 on works with. */
const oldestProvider: VersionNumbers = [0, 3, 0];

/**
 * Returns why a provider of this version is refused, or undefined. Development builds (`v0.0.0`, also with a suffix) are accepted, an empty
 * version is not.
 */
export function providerVersionProblem(version: string): string | undefined {
  const numbers = versionNumbers(version);
  if (numbers === undefined)
    return `the provider's version ${JSON.stringify(version)} is not a semantic version`;
  if (numbers.every((number) => number === 0)) return undefined;
  return compareVersions(numbers, oldestProvider) < 0
    ? `the provider's version ${version} is older than v0.3.0, the oldest that works with this plugin`
    : undefined;
}
