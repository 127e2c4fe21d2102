/**
 * Brings the provider's fresh credential into the app cluster. The cache of the provider's Secret only says when to read: it may be
 * old, so the Secret is read again over a connection that works, and what it holds must prove itself before it takes the place of
 * the one in use.
 */
import { kubeconfigKey } from "@klutch/api";
import {
  type ClusterConfig,
  failureOutline,
  isConflict,
  KubeconfigError,
  parseForeignKubeconfig,
} from "@klutch/kube";
import {
  type DynamicObject,
  falseCondition,
  keyOfRef,
  type NewCondition,
  type ObjectRef,
  secrets,
  secretText,
  trueCondition,
} from "@klutch/kube-core";
import type { ReadYourWritesCache } from "@klutch/kube-runtime";
import type { Logger } from "@klutch/telemetry";
import type { ConsumerCluster, ProviderCluster } from "../clusters.ts";
import { issuedAt } from "./token-expiry.ts";
import { isSameServer, type ProviderConnection } from "./provider-connection.ts";

/** Options of `bringCredential`. */
export interface BringOptions {
  readonly consumer: ConsumerCluster;
  readonly provider: ProviderCluster;
  /** The provider's Secret as the watch showed it last. */
  readonly hint: ReadYourWritesCache;
  /** Name and key of the provider's Secret. */
  readonly name: string;
  readonly key: string;
  /** The Secret in the app cluster. */
  readonly secretRef: ObjectRef;
  readonly cache: ReadYourWritesCache;
  readonly connection: Pick<ProviderConnection, "prove" | "server">;
  readonly logger: Logger;
}

/** The app cluster did not take the provider's credential. */
export class ConsumerWriteError extends Error {
  readonly code = "ConsumerWrite";

  constructor(ref: ObjectRef, cause: unknown) {
    super(
      `the app cluster did not take new credentials of the provider into Secret ${keyOfRef(ref)}: ${messageOf(cause)}. The konnector's role in that namespace must allow create and patch of Secrets`,
      { cause },
    );
    this.name = "ConsumerWriteError";
  }
}

/** Reason of `SecretValid` while the provider names another server than the accepted one. */
export const serverNotAcceptedReason = "ServerNotAccepted";

/** Says why a credential is not used. `told` crosses to the provider, so it holds nothing of an answer. */
interface Refusal {
  /** Default `ProviderSecretInvalid`. */
  readonly reason?: "ProviderSecretInvalid" | typeof serverNotAcceptedReason | undefined;
  readonly told: string;
  /** For the log of this agent. */
  readonly error?: unknown;
}

/** Gives back `SecretValid` for the provider. Throws when the provider cannot be asked. */
export async function bringCredential(options: BringOptions, signal: AbortSignal): Promise<NewCondition> {
  const { provider, hint, name, key, secretRef, cache } = options;
  const ref = { namespace: provider.tenant.namespace, name };
  const present = cache.get(keyOfRef(secretRef));
  const presentText = secretText(present, kubeconfigKey);
  const hinted = secretText(hint.get(keyOfRef(ref)), key);
  if (hinted !== undefined && hinted === presentText) return trueCondition("SecretValid");
  const secret = await provider.client.find<DynamicObject>(secrets, ref, { signal });
  const where = `Secret ${keyOfRef(ref)} of the provider`;
  if (secret === undefined) {
    return falseCondition("SecretValid", "ProviderSecretNotFound", "Warning", `${where} does not exist`);
  }
  const refuse = ({ told, error, reason = "ProviderSecretInvalid" }: Refusal): NewCondition => {
    const fields = { ...ref, problem: told, error };
    options.logger.warn("the provider offers a credential that cannot be used", fields);
    const message = `${where} is not used: ${told}. The credential in use is kept`;
    return falseCondition("SecretValid", reason, "Warning", message);
  };
  const text = secretText(secret, key);
  if (text === undefined) return refuse({ told: `it has no key ${key}` });
  if (text === presentText) return trueCondition("SecretValid");
  const candidate = parsed(text);
  if (typeof candidate === "string") return refuse({ told: candidate });
  const refusal = await refusalOf(candidate, presentText, options, signal);
  if (refusal !== undefined) return refuse(refusal);
  await write(text, present, options, signal);
  return trueCondition("SecretValid");
}

/** Returns the reason why the candidate must not be used; undefined when it may be. */
async function refusalOf(
  candidate: ClusterConfig,
  presentText: string | undefined,
  { provider, connection }: BringOptions,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  const { server } = candidate;
  // A provider must not choose which server of this network the agent asks, not even once.
  if (!isSameServer(server, connection.server)) {
    const told = `it is for the server ${server}, and ${connection.server} was accepted in the app cluster. If the provider moved, run kubectl bind with its address again`;
    return { reason: serverNotAcceptedReason, told };
  }
  try {
    const uid = await connection.prove(candidate, signal);
    if (uid !== provider.tenant.namespaceUid) {
      return { told: `it leads to another namespace (not the one with UID ${provider.tenant.namespaceUid})` };
    }
  } catch (error) {
    signal.throwIfAborted();
    return { told: `it does not work: ${failureOutline(error)}`, error };
  }
  const present = presentText === undefined ? "absent" : parsed(presentText);
  if (typeof present === "string" || !isOlder(candidate, present)) return undefined;
  const presentWorks = await connection.prove(present, signal).then(
    () => true,
    () => false,
  );
  return presentWorks ? { told: "it is older than the one in use, which works" } : undefined;
}

function isOlder(one: ClusterConfig, other: ClusterConfig): boolean {
  return (issuedAt(one) ?? Number.POSITIVE_INFINITY) < (issuedAt(other) ?? Number.NEGATIVE_INFINITY);
}

async function write(
  text: string,
  present: DynamicObject | undefined,
  { consumer, secretRef, cache, logger }: BringOptions,
  signal: AbortSignal,
): Promise<void> {
  const data = { [kubeconfigKey]: Buffer.from(text).toString("base64") };
  const ref = { name: secretRef.name, namespace: secretRef.namespace };
  try {
    const answer =
      present === undefined
        ? await consumer.client.create<DynamicObject>(
            secrets,
            { apiVersion: "v1", kind: "Secret", metadata: ref, type: "Opaque", data },
            { signal },
          )
        : await consumer.client.mergePatch<DynamicObject>(
            secrets,
            ref,
            // A person may be binding again at this moment: theirs is not written over unseen.
            { metadata: { resourceVersion: present.metadata.resourceVersion }, data },
            { signal },
          );
    cache.wrote(answer);
    logger.info("brought new credentials of the provider over", ref);
  } catch (error) {
    signal.throwIfAborted();
    // The Secret changed; its event starts another reconcile.
    if (isConflict(error)) return;
    throw new ConsumerWriteError(secretRef, error);
  }
}

/** The reduced kubeconfig, or why it is refused. */
function parsed(text: string): ClusterConfig | string {
  try {
    return { ...parseForeignKubeconfig(text), name: "provider" };
  } catch (error) {
    if (error instanceof KubeconfigError) return error.message;
    throw error;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
