/**
 * Signs with the key of the app cluster, which shows that this person holds it, so that several people of one app cluster share its tenant at
 * the provider. An earlier backend gets the proof in the address of the login; one without proofs is logged in to as before.
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
import { CliError, nothingChanged } from "../errors.ts";
import { postJson } from "../http.ts";
import type { ProviderDescription } from "./provider.ts";

/** The key of an app cluster, for signatures. */
export interface ClusterSigner {
  readonly publicKey: string;
  /** Returns the signature in base64url. */
  sign(text: string): string;
}

/** Reads the key, which is made if there is none. Throws `CliError` if the existing Secret holds none. */
export async function clusterSigner({ client }: Consumer, signal: AbortSignal): Promise<ClusterSigner> {
  const ref = { namespace: consumerNamespace, name: clusterKeySecret };
  const make = (): DynamicObject => clusterKeySecretObject(consumerNamespace, newClusterKey());
  const key = secretText(await findOrCreate(client, secrets, ref, make, { signal }), clusterKeyDataKey) ?? "";
  const publicKey = publicKeyOf(key);
  if (publicKey !== undefined) return { publicKey, sign: (text) => signText(key, text) };
  throw new CliError(
    "Login",
    `Secret ${consumerNamespace}/${clusterKeySecret} has no usable private key. Delete it to get a new one, then run the command again. ${nothingChanged}`,
  );
}

/** Signs the proof for an older provider. Returns undefined if the provider takes none; reports it if the provider should take one but cannot. */
export async function proveCluster(
  context: CliContext,
  consumer: Consumer,
  provider: ProviderDescription,
  login: { readonly sessionId: string; readonly clusterId: string },
): Promise<ClusterProof | undefined> {
  const offer = await fetchChallenge(context, provider);
  if (offer === undefined) return undefined;
  const { challenge, url } = offer;
  // Signed is only what the person meant: a hostile provider could name the address of another one.
  if (url === undefined || new URL(url).origin !== new URL(provider.url).origin) {
    context.terminal.say(
      `You get a tenant of your own at ${provider.url}, not the one that other people of this app cluster use, because the provider names ${url ?? "an address that cannot be used"} as its address. To share a tenant, bind with that address if you trust it.`,
    );
    return undefined;
  }
  const signer = await clusterSigner(consumer, context.signal);
  const signature = signer.sign(clusterProofText(url, login, challenge));
  return { publicKey: signer.publicKey, challenge, signature };
}

/**
 * Fetches a challenge. Returns undefined if the backend does not know the route: the login works without one. Throws `CliError` if a backend
 * that may know it does not answer: without a proof the person would get a tenant of their own, unasked.
 */
async function fetchChallenge(
  context: CliContext,
  { loginUrl }: ProviderDescription,
): Promise<ReturnType<typeof decodeChallengeOffer> | undefined> {
  const url = challengeUrl(new URL("renew", loginUrl).href);
  const { status, body } = await postJson(context, url, {});
  if (status === 429 || status >= 500)
    throw new CliError(
      "ProviderUnreachable",
      `${url} gave no challenge to sign (HTTP ${status}). Run the command again in a minute. ${nothingChanged}`,
    );
  try {
    return status === 200 ? decodeChallengeOffer(body) : undefined;
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
