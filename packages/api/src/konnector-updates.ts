/**
 * Updates of the konnector that a control plane wants and an app cluster allows (designs/0035-waves.md): the words of both sides, and the rule
 * that decides. Words are a stranger's on either side.
 */
import { isRecord, plainText, textAt } from "@klutch/kube-core";
import { compareVersions, type VersionNumbers } from "./versions.ts";

/** Versions that an app cluster follows to: those of its minor version, or those of its major version. */
export const updateLines = ["patch", "minor"] as const;
export type UpdateLine = (typeof updateLines)[number];

/** Versions that the operator of an app cluster allows. */
export interface UpdateScope {
  readonly line: UpdateLine;
  /** The lowest version; it decides the line as well. */
  readonly floor: string;
}

/** `status.konnectorUpdates` of a ClusterBinding, as the konnector writes it. */
export interface KonnectorUpdates extends UpdateScope {
  /** Reason for which the wanted version is not run; absent while nothing stands against it. */
  readonly problem?: string | undefined;
}

/** Most characters of `problem`. */
export const mostUpdateWords = 256;

/** Pattern of a released version; the schema, the konnector and admission share it. */
export const releaseVersionPattern = "^v(0|[1-9][0-9]{0,5})\\.(0|[1-9][0-9]{0,5})\\.(0|[1-9][0-9]{0,5})$";

/** Reads the version of a release, such as `v1.6.0`: no suffix, no leading zero, nothing around it. Undefined for any other text. */
export function releaseVersion(text: string | undefined): VersionNumbers | undefined {
  if (text === undefined || text.length > 24) return undefined;
  const [, major, minor, patch] = new RegExp(releaseVersionPattern).exec(text) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

/** Returns why the scope does not allow a version; undefined if it does. */
export function refusedUpdate(version: string, { line, floor }: UpdateScope): string | undefined {
  const [wanted, least] = [releaseVersion(version), releaseVersion(floor)];
  if (wanted === undefined) return `${plainText(version, 40)} is not the version of a release`;
  if (least === undefined)
    return `the lowest version ${plainText(floor, 40)} is not the version of a release`;
  if (compareVersions(wanted, least) < 0) return `${version} is below ${floor}, the lowest that is allowed`;
  const isInLine = wanted[0] === least[0] && (line === "minor" || wanted[1] === least[1]);
  if (isInLine) return undefined;
  return `${version} is not of v${least[0]}.${line === "minor" ? "" : `${least[1]}.`}, which is all that is allowed`;
}

/** Reads what a konnector says. Undefined for one that does not follow, and for words that have no meaning. */
export function parseKonnectorUpdates(value: unknown): KonnectorUpdates | undefined {
  if (!isRecord(value)) return undefined;
  const line = updateLines.find((one) => one === value["line"]);
  const floor = textAt(value, "floor");
  if (line === undefined || floor === undefined || releaseVersion(floor) === undefined) return undefined;
  const problem = plainText(textAt(value, "problem") ?? "", mostUpdateWords);
  return { line, floor, ...(problem === "" ? {} : { problem }) };
}
