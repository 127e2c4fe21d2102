/**
 * The opt-in of an app cluster's operator: the konnector may change the tag of its own image (designs/0035-waves.md). The chart and the plugin write
 * it on the konnector's role for its Deployment, where the konnector cannot write; the plugin reads it there for the admission policy.
 */
import { isRecord, jsonOf, textAt } from "@klutch/kube-core";
import { releaseVersion, type UpdateScope, updateLines } from "../konnector-updates.ts";
import { konnectorName } from "../names.ts";
import { parseRegistry } from "../release.ts";

/** Versions and the image that alone is allowed. */
export interface KonnectorUpdateScope extends UpdateScope {
  /** `HOST[:PORT]/PATH` of the image, without a tag. */
  readonly repository: string;
}

/** Name of the konnector's Role on its own Deployment. */
export const updateRole = "klutch-bind-konnector-updates";
/** Annotation of that role: the scope as JSON. */
export const updatesAnnotation = "klutch.anynines.com/follow-updates";

/** Reads the annotation. Undefined for a text that is no scope, because the scope becomes part of an expression. */
export function parseUpdateScope(text: string | undefined): KonnectorUpdateScope | undefined {
  const value = jsonOf(text);
  const line = updateLines.find((one) => one === (isRecord(value) ? value["line"] : undefined));
  const [floor, repository] = [textAt(value, "floor"), textAt(value, "repository")];
  if (line === undefined || floor === undefined || releaseVersion(floor) === undefined) return undefined;
  if (repository === undefined || !isRepository(repository)) return undefined;
  return { line, floor, repository };
}

function isRepository(text: string): boolean {
  try {
    parseRegistry(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the image and the bounds as a map of CEL; one without a repository allows nothing. */
export function updateScopeText(scope: KonnectorUpdateScope | undefined): string {
  const [major = 0, minor = 0, patch = 0] = releaseVersion(scope?.floor) ?? [];
  return `{'repository': '${scope?.repository ?? ""}', 'line': '${scope?.line ?? ""}', 'floor': 'v${major}.${minor}.${patch}'}`;
}

/** Is true for a change of the konnector's own Deployment, where updates are followed. */
export const isOwnUpdate: string = `variables.updates['repository'] != '' && variables.isHome && variables.resource == 'deployments.apps' && variables.part == '' && request.operation == 'UPDATE' && variables.name == '${konnectorName}'`;

/** Fields of a map are as before, but those named. Walking over the fields lets no field pass that a later Kubernetes adds. */
const same = (now: string, before: string, but: readonly string[]): string => {
  const others = but.map((field) => `field == '${field}'`).join(" || ");
  return `${now}.all(field, ${others} || (field in ${before} && ${now}[field] == ${before}[field])) && ${before}.all(field, field in ${now})`;
};
const pair = (path: string): readonly [string, string] => [`object${path}`, `oldObject${path}`];
const inPod = ".spec.template.spec";
const container = `${inPod}.containers[0]`;
/** Fields that the API server itself changes with each update. */
const counted = ["generation", "managedFields", "resourceVersion"];

/** Is true if it changes nothing but the tag of the image, to a version that is allowed. */
export const isModestUpdate: string = [
  same("object", "oldObject", ["metadata", "spec", "status"]),
  same(...pair(".metadata"), counted),
  same(...pair(".spec"), ["template"]),
  same(...pair(".spec.template"), ["spec"]),
  same(...pair(inPod), ["containers"]),
  `size(object${inPod}.containers) == 1 && size(oldObject${inPod}.containers) == 1`,
  same(...pair(container), ["image"]),
  `object${container}.image.startsWith(variables.updates['repository'] + ':v')`,
  "variables.tag.matches('^v(0|[1-9][0-9]{0,5})[.](0|[1-9][0-9]{0,5})[.](0|[1-9][0-9]{0,5})$')",
  "variables.version[0] == variables.floor[0]",
  "(variables.version[1] == variables.floor[1] ? variables.version[2] >= variables.floor[2] : (variables.updates['line'] == 'minor' && variables.version[1] > variables.floor[1]))",
].join(" && ");

const numbers = (text: string): string => `${text}.substring(1).split('.').map(part, int(part))`;

/** Variables of `isModestUpdate`. They are computed only where it asks for them. */
export const updateVariables: Readonly<Record<string, string>> = {
  tag: `string(object${container}.image).substring(size(variables.updates['repository']) + 1)`,
  version: numbers("variables.tag"),
  floor: numbers("variables.updates['floor']"),
};
