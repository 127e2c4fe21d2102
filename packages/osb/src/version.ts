/** Versions of the Open Service Broker API: which are spoken, what came with which, and what to try after a 412. */

/** From the newest to the oldest that is spoken. */
export const apiVersions = ["2.17", "2.16", "2.15", "2.14", "2.13"] as const;

/** What a broker of an older version does not know, by the minor version that brought it. */
const since = {
  fetching: 14,
  asynchronousBinding: 14,
  requestIdentity: 15,
  maintenanceInfo: 15,
  fetchingHints: 16,
  bindingRotation: 17,
} as const;

/** Something that not every version has. */
export type Feature = keyof typeof since;

/** Whether version `2.<minor>` has it. A version of another form is taken for the newest. */
export function hasFeature(version: string, feature: Feature): boolean {
  return minorOf(version) >= since[feature];
}

/** Such as `2.14`. */
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

/** How much of an answer is searched for a version. */
const longestWords = 4_096;

function minorOf(version: string): number {
  const minor = /^2\.(\d{1,3})$/.exec(version)?.[1];
  return minor === undefined ? Number.POSITIVE_INFINITY : Number(minor);
}
