/** Records of who bound what: written before a credential is handed out, read when an app cluster asks for an API. */
import { createHash } from "node:crypto";
import { crdNameOf, type Grant, grantFinalizer, grants, type GrantSpec } from "@klutch/api";
import { type Clock, isNotFound, type KubeClient } from "@klutch/kube";
import { wholeSeconds } from "@klutch/kube-core";
import type { Logger } from "@klutch/telemetry";
import { backendFieldManager } from "../apply.ts";
import type { Asker } from "../audit/audit.ts";
import { UserError } from "../errors.ts";
import type { Person } from "../identity.ts";
import type { OfferedApi } from "../offered-api.ts";
import type { MayBind } from "./bind-rights.ts";

/** A person who binds, and what a record says of the login. */
export type GrantedPerson = Person & Pick<Asker, "clusterName" | "way" | "address">;

/** Parts of `recordGrant`. */
export interface GrantWriter {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A control plane of an earlier release may lack the kind. Then binds go on without a record where none is needed. */
  readonly mayBeAbsent: boolean;
}

/**
 * Writes the record of a person and an API into the cluster namespace; binding again renews it. A login that an earlier release sealed has no name in
 * RBAC, and leaves no record. Throws `UserError` 409 while the record is being deleted.
 */
export async function recordGrant(
  { client, clock, logger, mayBeAbsent }: GrantWriter,
  namespace: string,
  person: GrantedPerson,
  { group, resource, template }: OfferedApi,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const { issuer, subject, user, groups = [], displayName, clusterName, way, address } = person;
  if (user === undefined) {
    logger.info("no Grant is written for a login of an earlier release", { namespace });
    return;
  }
  const known = Object.entries({ way, address, clusterName }).filter(([, value]) => value !== undefined);
  const spec: GrantSpec = {
    identity: { issuer, subject, user, groups, ...(displayName === undefined ? {} : { displayName }) },
    api: { group, resource },
    template,
    boundAt: wholeSeconds(clock.now()),
    ...Object.fromEntries(known),
  };
  const name = grantName(person, `${resource}.${group}`);
  const grant = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "Grant",
    metadata: { namespace, name, finalizers: [grantFinalizer] },
    spec,
  };
  try {
    // It always differs from an earlier one, by its time, so that is not read first.
    const written = { ...options, fieldManager: backendFieldManager, force: true };
    const { metadata } = await client.apply<Grant>(grants, grant, written);
    if (metadata.deletionTimestamp !== undefined) throw beingRevoked(crdNameOf({ group, resource }));
  } catch (error) {
    if (!mayBeAbsent || !isNotFound(error)) throw error;
    logger.warn("no Grant is written, because the kind does not exist: apply deploy/crds", { namespace });
  }
}

function beingRevoked(api: string): UserError {
  return new UserError(409, `Your access to ${api} is being revoked.`, "Try again in a minute.", {
    outcome: "BeingRevoked",
    passes: true,
  });
}

/** Returns the records for an API of a cluster namespace that are not being deleted. */
export function grantsFor(
  records: readonly Grant[],
  { group = "", resource }: { readonly group?: string | undefined; readonly resource: string },
): readonly Grant[] {
  return records.filter(
    ({ metadata, spec }) =>
      metadata.deletionTimestamp === undefined &&
      spec.api.resource === resource &&
      (spec.api.group ?? "") === group,
  );
}

/** The same person has one record for each API. No name of a person becomes part of it. */
function grantName({ issuer, subject }: Person, api: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([issuer, subject, api]))
    .digest("hex");
  return `grant-${digest.slice(0, 16)}`;
}

/** An API and the template that offers it now. */
type Asked = Pick<OfferedApi, "group" | "resource" | "template">;

/** Tells for a cluster namespace whether it may get the API. */
export type IsGranted = (namespace: string, api: Asked, signal: AbortSignal) => Promise<boolean>;

/**
 * Creates the answer for the controller of export requests, which an app cluster's account writes itself. A person must have bound the API
 * for this app cluster, and must have the right now. The template that offers the API now counts, not the one of the record: one that was
 * replaced gives no right. An AppClusterBinding is made by an operator and needs no person.
 */
export function createIsGranted(parts: {
  readonly recordsIn: (namespace: string) => readonly Grant[];
  /** Returns true for a namespace of an AppClusterBinding. */
  readonly isOperators: (namespace: string) => boolean;
  readonly mayBind: MayBind;
}): IsGranted {
  const { recordsIn, isOperators, mayBind } = parts;
  return async (namespace, { group, resource, template }, signal) => {
    if (isOperators(namespace)) return true;
    for (const { spec } of grantsFor(recordsIn(namespace), { group, resource })) {
      const { user, groups = [] } = spec.identity;
      if (await mayBind({ user, groups }, template, signal)) return true;
    }
    return false;
  };
}
