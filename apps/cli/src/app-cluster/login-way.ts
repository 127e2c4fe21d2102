/** Remembers in the app cluster how the credential of a provider came here, for `klutch doctor`. */
import { type APIServiceBinding, consumerNamespace, loginWayAnnotation } from "@klutch/api";
import { secrets } from "@klutch/kube-core";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";

/** `confirmed`, `ci` with an access token, `session` with that of `klutch login`, or `redirect` at an earlier backend: in the address that the browser opened. */
export type LoginWay = "ci" | "confirmed" | "redirect" | "session";

/** Writes the way on the Secrets of the bindings. */
export async function rememberLoginWay(
  { signal }: CliContext,
  { client }: Consumer,
  bindings: readonly APIServiceBinding[],
  way: LoginWay,
): Promise<void> {
  const patch = { metadata: { annotations: { [loginWayAnnotation]: way } } };
  for (const name of secretsOf(bindings))
    await client.mergePatch(secrets, { namespace: consumerNamespace, name }, patch, { signal });
}

/** Returns the names of the kubeconfig Secrets that the bindings use. */
export function secretsOf(bindings: readonly APIServiceBinding[]): readonly string[] {
  return [...new Set(bindings.map(({ spec }) => spec.kubeconfigSecretRef.name))];
}
