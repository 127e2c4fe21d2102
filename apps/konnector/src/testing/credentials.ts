/** The tenant's credential: where it is kept, whether it works, how it ends. */
import { binderName, consumerNamespace, kubeconfigKey } from "@klutch/api";
import { secrets, serviceAccounts } from "@klutch/kube-core";
import { answerTo, serviceAccountObject, type TestCluster, waitFor } from "@klutch/kube-testing";
import { tenantNamespace } from "./provider-side.ts";

type SecretRef = Readonly<Record<"namespace" | "name", string>>;

/** The Secret in which the provider hands the kubeconfig out. */
export const providerSecret: SecretRef = { namespace: tenantNamespace, name: kubeconfigKey };
/** The Secret that the agent reads, as `bindApi` makes it. */
export const consumerSecret: SecretRef = { namespace: consumerNamespace, name: "kubeconfig-test" };

/** Replaces the kubeconfig in a Secret. */
export async function putKubeconfig(
  { client }: TestCluster,
  ref: SecretRef,
  kubeconfig: string,
): Promise<void> {
  const data = { kubeconfig: Buffer.from(kubeconfig).toString("base64") };
  await client.mergePatch(secrets, ref, { data });
}

/** Ends all tokens of the tenant, as an operator does, and waits until this one is refused. Open watches outlive it. */
export async function endTokens({ client }: TestCluster, kubeconfig: string): Promise<void> {
  const account = { namespace: tenantNamespace, name: binderName };
  await client.delete(serviceAccounts, account);
  await client.create(serviceAccounts, serviceAccountObject(account));
  await waitFor("the token to be refused", async () => (await answerTo(kubeconfig)) === 401, {
    timeoutMs: 30_000,
  });
}
