/**
 * A token that does not end, in a Secret as the existing backend makes it: for agents that cannot come back by themselves after an
 * absence, and before going back to the existing backend, which renews nothing.
 */
import { binderName } from "@klutch/api";
import { type DynamicObject, secrets, secretText, serviceAccounts } from "@klutch/kube-core";
import { type Clock, isAlreadyExists, type KubeClient } from "@klutch/kube";
import { Secret } from "@klutch/telemetry";
import { AccountMissingError } from "./account-missing.ts";

const accountName = "kubernetes.io/service-account.name";
const accountUid = "kubernetes.io/service-account.uid";
const pollMs = 200;
const attempts = 50;

/** The token of the account in `namespace`, made when there is none. The control plane's token controller fills it in. */
export async function lastingToken(
  client: KubeClient,
  namespace: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<Secret<string>> {
  const ref = { namespace, name: binderName };
  const account = await client.find(serviceAccounts, ref, { signal });
  if (account === undefined) throw new AccountMissingError(namespace);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const secret = await client.find<DynamicObject>(secrets, ref, { signal });
    // One of an account of the same name that was deleted is about to go.
    const isOwn = secret?.metadata.annotations?.[accountUid] === account.metadata.uid;
    const token = isOwn ? secretText(secret, "token") : undefined;
    if (token !== undefined) return new Secret(token);
    if (secret === undefined) await create(client, namespace, signal);
    await clock.sleep(pollMs, { signal });
  }
  throw new Error(
    `Secret ${namespace}/${binderName} got no token within ${(attempts * pollMs) / 1000} s. Check that kube-controller-manager runs`,
  );
}

async function create(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const metadata = { namespace, name: binderName, annotations: { [accountName]: binderName } };
  const secret: DynamicObject = {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    type: "kubernetes.io/service-account-token",
  };
  try {
    await client.create(secrets, secret, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
