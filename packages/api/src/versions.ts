/** Versions of the parts and what they accept of each other. */

/** The version of this release, in every part. */
export const klutchVersion = "v1.6.0";

/** The oldest provider that a plugin from 0.3.0 on works with. */
const oldestProvider: readonly [number, number, number] = [0, 3, 0];

/**
 * Why a provider of this version is refused, or undefined. Development builds (`v0.0.0`, also with a suffix) are accepted, an empty
 * version is not.
 */
export function providerVersionProblem(version: string): string | undefined {
  const parsed = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version);
  if (parsed === null) return `the provider's version ${JSON.stringify(version)} is not a semantic version`;
  const numbers = [Number(parsed[1]), Number(parsed[2]), Number(parsed[3])] as const;
  if (numbers.every((number) => number === 0)) return undefined;
  const difference =
    numbers.map((number, index) => number - (oldestProvider[index] ?? 0)).find((value) => value !== 0) ?? 0;
  return difference < 0
    ? `the provider's version ${version} is older than v0.3.0, the oldest that works with this plugin`
    : undefined;
}
