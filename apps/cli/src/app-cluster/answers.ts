/**
 * The permission claims that people accepted in an app cluster. A binding alone proves none: who may change its schema can have it say
 * anything. Its claims count as far as the konnector's role records them, or, without a record, as far as its roles give their rights already.
 */
import {
  acceptedClaimsAnnotation,
  type AnsweredPermissionClaim,
  type APIServiceBinding,
  bindingRoleName,
  bindingRules,
  isRecorded,
  parseAcceptedClaims,
} from "@klutch/api";
import type { Role } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import { listBindings } from "./bound-resource.ts";
import { type FoundRoles, readGrants } from "./grants.ts";
import { konnectorImage, watchesAll } from "./konnector-image.ts";
import { type BoundApi, boundResource, type Grant, lackOf } from "./rights.ts";

/** A bound API, with the accepted claims of its binding that someone accepted, and the others. */
export interface AnsweredBinding extends BoundApi {
  readonly unanswered: readonly AnsweredPermissionClaim[];
}

/** Separates the accepted claims of a binding. `role` is the konnector's role for its API. */
export function answersOf(
  { metadata, spec }: APIServiceBinding,
  role: Role | undefined,
  grants: readonly Grant[],
): AnsweredBinding {
  const { name = "" } = metadata;
  const accepted = (spec.permissionClaims ?? []).filter(({ state }) => state === "Accepted");
  const record = parseAcceptedClaims(role?.metadata.annotations?.[acceptedClaimsAnnotation]);
  const resource = boundResource(name);
  const own = resource === undefined ? 0 : bindingRules(resource, []).length;
  const isAnswered = (claim: AnsweredPermissionClaim): boolean =>
    record === undefined
      ? resource !== undefined && lackOf(bindingRules(resource, [claim]).slice(own), grants).length === 0
      : isRecorded(claim, record);
  const claims = accepted.filter(isAnswered);
  return { name, claims, unanswered: accepted.filter((claim) => !claims.includes(claim)) };
}

/** Reads the bindings and roles of the app cluster; the bindings are undefined when it does not serve the kind. */
export async function readAnswers(
  consumer: Consumer,
  signal: AbortSignal,
): Promise<{
  readonly bindings: readonly AnsweredBinding[] | undefined;
  readonly roles: FoundRoles;
  /** Image of the konnector that runs, if one does. */
  readonly image: string | undefined;
}> {
  const [bindings, roles, image] = await Promise.all([
    listBindings(consumer, signal),
    readGrants(consumer, signal),
    konnectorImage(consumer, signal),
  ]);
  const isWide = watchesAll(image);
  const answered = bindings?.map((binding) => {
    const role = roles.allRoles.get(`ClusterRole ${bindingRoleName(binding.metadata.name ?? "")}`);
    return { ...answersOf(binding, role, roles.grants), isWide };
  });
  return { bindings: answered, roles, image };
}
