/** The kubeconfig that an agent gets in a Secret. */
import { type ClusterConfig, KubeconfigError } from "@klutch/kube";
import { falseCondition, jsonHash, type NewCondition, secretText, trueCondition } from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";

/** Delay before an unreadable Secret is read again. */
export const unreadableRetryMs = 2_000;

/**
 * Reads the kubeconfig under `dataKey` of the Secret `key`, and reports `SecretValid`. Undefined, with the reason in the condition, when
 * it cannot be used; `advice` ends such a message.
 */
export function readKubeconfig(
  cache: ReadYourWritesCache,
  { key, dataKey, advice = "" }: { readonly key: string; readonly dataKey: string; readonly advice?: string },
  parse: (text: string) => ClusterConfig,
  report: (condition: NewCondition) => void,
): { readonly config: ClusterConfig; readonly textHash: string } | undefined {
  const refuse = (reason: string, problem: string): undefined => {
    report(falseCondition("SecretValid", reason, "Error", `Secret ${key}${problem}${advice}`));
  };
  const secret = cache.get(key);
  if (secret === undefined) return refuse("KubeconfigSecretNotFound", " does not exist");
  const text = secretText(secret, dataKey);
  if (text === undefined) return refuse("KubeconfigSecretInvalid", ` has no key ${dataKey}`);
  try {
    const config = parse(text);
    report(trueCondition("SecretValid"));
    return { config, textHash: jsonHash(text) };
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    return refuse("KubeconfigSecretInvalid", `: ${error.message}`);
  }
}
