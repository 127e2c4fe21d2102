/**
 * The proof that this person holds the app cluster: a signature with the key that lives there, so that several people of one app
 * cluster share its tenant at the provider. A provider without this is logged in to as before.
 */
import {
  challengeUrl,
  clusterKeyDataKey,
  clusterKeySecret,
  clusterKeySecretObject,
  type ClusterProof,
  clusterProofText,
  consumerNamespace,
  decodeChallengeOffer,
  newClusterKey,
  publicKeyOf,
  signText,
  WireError,
} from "@klutch/api";
import { type DynamicObject, secrets, secretText } from "@klutch/kube-core";
import { findOrCreate } from "@klutch/kube";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { readAtMost } from "../http.ts";
import type { ProviderDescription } from "./provider.ts";

const timeoutMs = 15_000;
const longestAnswer = 16 * 1024;

/** Signs the proof. Returns undefined if the provider takes none; reports it if the provider should take one but cannot. */
export async function proveCluster(
  context: CliContext,
  consumer: Consumer,
  provider: ProviderDescription,
  login: { readonly sessionId: string; readonly clusterId: string },
): Promise<ClusterProof | undefined> {
  const offer = await fetchChallenge(provider, context.signal);
  if (offer === undefined) return undefined;
  const { challenge, url } = offer;
  // Signed is only what the person meant: a hostile provider could name the address of another one.
  if (url === undefined || new URL(url).origin !== new URL(provider.url).origin) {
    context.terminal.say(
      `You get a tenant of your own at ${provider.url}, not the one that other people of this app cluster use, because the provider names ${url ?? "an address that cannot be used"} as its address. To share a tenant, bind with that address if you trust it.`,
    );
    return undefined;
  }
  const key = await ensureKey(consumer, context.signal);
  const publicKey = publicKeyOf(key);
  if (publicKey === undefined) {
    context.terminal.say(
      `Secret ${consumerNamespace}/${clusterKeySecret} has no usable private key. Delete it to get a new one.`,
    );
    return undefined;
  }
  return { publicKey, challenge, signature: signText(key, clusterProofText(url, login, challenge)) };
}

/** Returns the private key in PEM; empty if the existing Secret holds none. */
async function ensureKey({ client }: Consumer, signal: AbortSignal): Promise<string> {
  const ref = { namespace: consumerNamespace, name: clusterKeySecret };
  const make = (): DynamicObject => clusterKeySecretObject(consumerNamespace, newClusterKey());
  return secretText(await findOrCreate(client, secrets, ref, make, { signal }), clusterKeyDataKey) ?? "";
}

/** Fetches a challenge. Returns undefined if the backend does not know the route: the login works without one. */
async function fetchChallenge(
  { loginUrl }: ProviderDescription,
  signal: AbortSignal,
): Promise<ReturnType<typeof decodeChallengeOffer> | undefined> {
  try {
    const response = await fetch(challengeUrl(new URL("renew", loginUrl).href), {
      method: "POST",
      redirect: "error",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: "{}",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const text = await readAtMost(response, longestAnswer);
    return response.ok && text !== undefined ? decodeChallengeOffer(JSON.parse(text)) : undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof WireError || error instanceof SyntaxError || error instanceof TypeError)
      return undefined;
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}
