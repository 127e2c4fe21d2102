/** Checks how the credentials of providers came into the app cluster. */
import { type APIServiceBinding, consumerNamespace, loginWayAnnotation } from "@klutch/api";
import { type DynamicObject, secrets } from "@klutch/kube-core";
import { secretsOf } from "../app-cluster/login-way.ts";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { note, type Section } from "./diagnosis.ts";

/** Names the credentials that came through a browser. Returns no section if there are none. */
export async function checkLogins(
  { signal }: CliContext,
  { client }: Consumer,
  bindings: readonly APIServiceBinding[],
): Promise<readonly Section[]> {
  const old: string[] = [];
  for (const name of secretsOf(bindings)) {
    const ref = { namespace: consumerNamespace, name };
    const secret = await client.find<DynamicObject>(secrets, ref, { signal });
    if (secret?.metadata.annotations?.[loginWayAnnotation] === "redirect") old.push(name);
  }
  const findings = old.map((name) =>
    note(
      `The credential in Secret ${consumerNamespace}/${name} came through a browser, in a login that no one confirmed.`,
      "Ask the provider's operator to upgrade its backend. Then log in again with kubectl bind.",
    ),
  );
  return findings.length === 0 ? [] : [{ title: "Logins", findings }];
}
