/** Versions of the Open Service Broker API: which are spoken, what came with which, and what to try after a 412. */

/** Supported versions, newest first. */
export const apiVersions = ["2.17", "2.16", "2.15", "2.14", "2.13"] as const;

/** Features that older versions lack, by the minor version that introduced them. */
const since = {
  fetching: 14,
  asynchronousBinding: 14,
  requestIdentity: 15,
  maintenanceInfo: 15,
  fetchingHints: 16,
  bindingRotation: 17,
} as const;

/** Feature that only some versions have. */
export type Feature = keyof typeof since;

/** Returns true if version `2.<minor>` has the feature. A version of another form counts as the newest. */
export function hasFeature(version: string, feature: Feature): boolean {
  return minorOf(version) >= since[feature];
}

/** Returns the version, such as `2.14`. */
export function firstVersionWith(feature: Feature): string {
  return `2.${since[feature]}`;
}

/**
 * The version to try after those in `refused` were answered with 412: the one that the broker names in `text`, else the
 * newest that is left, else undefined. Never one that was refused, so what a broker says cannot keep a client asking.
 */
export function nextVersion(refused: ReadonlySet<string>, text: string): string | undefined {
  const left = apiVersions.filter((version) => !refused.has(version));
  const named = new Set(text.slice(0, longestWords).match(/(?<![\d.])2\.\d{1,3}(?![\d.]*\d)/g));
  return left.find((version) => named.has(version)) ?? left[0];
}

/** Number of characters of an answer that are searched for a version. */
const longestWords = 4_096;

function minorOf(version: string): number {
  const minor = /^2\.(\d{1,3})$/.exec(version)?.[1];
  return minor === undefined ? Number.POSITIVE_INFINITY : Number(minor);
}
