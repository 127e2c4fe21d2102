/**
 * Reads the part of a foreign APIServiceExport that a person decides about at binding. `parseExport` refuses an export with a malformed
 * claim; this function keeps any text as a claim's name, so that each such claim is shown and refused by name.
 */
import { valueAt } from "@klutch/kube-core";
import { accepts, problemsOf } from "@klutch/schema";
import { type PermissionClaim, permissionClaim } from "../kinds/permission-claim.ts";
import { crdNameOf } from "../naming.ts";
import { rejectedClaimsAnnotation } from "../rbac.ts";
import { array, record, text, WireError } from "../wire-fields.ts";
import { checkApiName } from "./api-name.ts";
import { readSpec } from "./export.ts";

/** An API that a person decides about. */
export interface OfferedApi {
  /** `<resource>.<group>`: exactly what was asked for. */
  readonly name: string;
  readonly group: string;
  readonly resource: string;
  readonly informerScope: "Namespaced" | "Cluster";
  /** Claims of the right types; their group and resource may be any text, for `judgeClaim`. */
  readonly permissionClaims: readonly PermissionClaim[];
  /** Rejected claims as the provider's backend reports them (`rejectedClaims`); only for comparison. */
  readonly rejectedClaims?: string | undefined;
}

/** Maximum number of claims; no one can judge more. */
const maxClaims = 20;
/** Maximum length of one claim as JSON; usual ones contain a few names and patterns. */
const maxClaimLength = 16_384;

/** Reads the export of the API that was asked for. Throws `WireError` when it is of another one or malformed. */
export function decodeOfferedApi(
  value: unknown,
  wanted: { readonly group?: string | undefined; readonly resource: string },
): OfferedApi {
  const name = crdNameOf(wanted);
  const root = record(value, "APIServiceExport");
  const reading = readSpec(root);
  if ("problem" in reading) throw new WireError("spec", reading.problem);
  const spec = record(reading.spec, "spec");
  const group = text(spec["group"], "spec.group");
  const resource = text(record(spec["names"], "spec.names")["plural"], "spec.names.plural");
  const problem = checkApiName(group, resource);
  if (problem !== undefined) throw new WireError("spec", problem);
  if (crdNameOf({ group, resource }) !== name) {
    throw new WireError("spec", `is of ${crdNameOf({ group, resource })}, which was not asked for`);
  }
  const claims =
    spec["permissionClaims"] === undefined ? [] : array(spec["permissionClaims"], "spec.permissionClaims");
  if (claims.length > maxClaims) {
    throw new WireError(
      "spec.permissionClaims",
      `has ${claims.length} entries, at most ${maxClaims} can be judged`,
    );
  }
  const rejected = valueAt(root, "metadata", "annotations", rejectedClaimsAnnotation);
  return {
    name,
    group,
    resource,
    informerScope: spec["informerScope"] === "Cluster" ? "Cluster" : "Namespaced",
    permissionClaims: claims.map((claim, index) => decodeClaim(claim, `spec.permissionClaims[${index}]`)),
    ...(typeof rejected === "string" ? { rejectedClaims: rejected } : {}),
  };
}

function decodeClaim(value: unknown, field: string): PermissionClaim {
  if (JSON.stringify(value).length > maxClaimLength) {
    throw new WireError(field, `is longer than ${maxClaimLength} characters`);
  }
  const claim = record(value, field);
  const resource = text(claim["resource"], `${field}.resource`);
  const group = claim["group"] ?? "";
  if (typeof group !== "string") throw new WireError(`${field}.group`, "is not a string");
  // Names that no claim may have are judged, not malformed: the person learns which ones they are.
  const named = { ...claim, group: "", resource: "resources" };
  if (accepts(permissionClaim, named)) return { ...named, group, resource };
  const [problem] = problemsOf(permissionClaim.json, named, field);
  const { value: found = "wrong", expected = "a claim" } = problem ?? {};
  throw new WireError(problem?.field ?? field, `is ${found}, expected ${expected}`);
}
