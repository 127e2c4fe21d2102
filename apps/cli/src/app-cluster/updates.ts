/** Updates of the konnector that the app cluster's operator allows (designs/0035-waves.md): read from its role, and written with it. */
import {
  consumerNamespace,
  konnectorManifests,
  type KonnectorUpdateScope,
  type Manifest,
  parseUpdateScope,
  printable,
  updateArguments,
  updateManifests,
  updateRole,
  updatesAnnotation,
} from "@klutch/api";
import { type PolicyRule, type Role, roleBindings, roles } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import { CliError } from "../errors.ts";
import type { FollowUpdates } from "../follow-updates.ts";
import { type Grant, sameRights } from "./rights.ts";

/** Returns what the app cluster follows now; undefined where it follows nothing. */
export async function readUpdates(
  consumer: Consumer,
  signal: AbortSignal,
): Promise<KonnectorUpdateScope | undefined> {
  const ref = { namespace: consumerNamespace, name: updateRole };
  const role = await consumer.client.find<Role>(roles, ref, { signal });
  return parseUpdateScope(role?.metadata.annotations?.[updatesAnnotation]);
}

/** Returns what it follows from now on with this image. Throws `CliError` for an image that cannot follow. */
export function updatesWith(
  image: string,
  present: KonnectorUpdateScope | undefined,
  asked: FollowUpdates | undefined,
): KonnectorUpdateScope | undefined {
  if (asked === undefined || asked === "none") return asked === "none" ? undefined : present;
  const [, repository = "", floor = ""] = /^([^@]+):([^:/@]+)$/.exec(image) ?? [];
  const scope = parseUpdateScope(JSON.stringify({ line: asked, floor, repository }));
  if (scope !== undefined) return scope;
  throw new CliError(
    "Usage",
    `--follow-updates needs an image with the version of a release as its tag and no digest, such as registry.example.org/klutch/konnector:v1.6.0; it is ${printable(image)}.`,
  );
}

/** Returns the konnector's manifests; `updates` adds flags and a role. */
export function followingManifests(
  image: string,
  updates: KonnectorUpdateScope | undefined,
): readonly Manifest[] {
  if (updates === undefined) return konnectorManifests({ image });
  return [...konnectorManifests({ image, args: updateArguments(updates) }), ...updateManifests(updates)];
}

/** Deletes the role, which is a right that no konnector needs any more. */
export async function endUpdates(consumer: Consumer, signal: AbortSignal): Promise<void> {
  const ref = { namespace: consumerNamespace, name: updateRole };
  await consumer.client.delete(roleBindings, ref, { signal });
  await consumer.client.delete(roles, ref, { signal });
}

/** Returns true if the grant is just what its own annotation says, so that it is not surplus. */
export function isUpdateGrant(grant: Grant, allRoles: ReadonlyMap<string, Role>): boolean {
  const name = `Role ${consumerNamespace}/${updateRole}`;
  if (grant.role !== name) return false;
  const scope = parseUpdateScope(allRoles.get(name)?.metadata.annotations?.[updatesAnnotation]);
  const own = scope && updateManifests(scope).find(({ kind }) => kind === "Role");
  return own !== undefined && sameRights(grant.rules, own["rules"] as readonly PolicyRule[]);
}
