/** Records of who bound what: written before a credential is handed out, read when an app cluster asks for an API. */
import { createHash } from "node:crypto";
import { type Grant, grants, type GrantSpec } from "@klutch/api";
import type { Clock, KubeClient } from "@klutch/kube";
import { wholeSeconds } from "@klutch/kube-core";
import { ensure } from "../apply.ts";
import type { Person } from "../identity.ts";
import type { OfferedApi } from "../offered-api.ts";
import type { MayBind } from "./bind-rights.ts";

/** Writes the record of a person and an API into the cluster namespace; binding again renews it. */
export async function recordGrant(
  { client, clock }: { readonly client: KubeClient; readonly clock: Clock },
  namespace: string,
  person: Person,
  { group, resource, template }: OfferedApi,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const { issuer, subject, user = "", groups = [], displayName } = person;
  const spec: GrantSpec = {
    identity: { issuer, subject, user, groups, ...(displayName === undefined ? {} : { displayName }) },
    api: { group, resource },
    template,
    boundAt: wholeSeconds(clock.now()),
  };
  const name = grantName(person, `${resource}.${group}`);
  const grant = {
    apiVersion: "klutch.anynines.com/v1alpha1",
    kind: "Grant",
    metadata: { namespace, name },
    spec,
  };
  await ensure<Grant>(client, grants, grant, options);
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
    for (const { spec } of recordsIn(namespace)) {
      if (spec.api.resource !== resource || (spec.api.group ?? "") !== group) continue;
      const { user, groups = [] } = spec.identity;
      if (await mayBind({ user, groups }, template, signal)) return true;
    }
    return false;
  };
}
