/** Publishes connection details as a Secret that the managed resource owns. */
import { isAlreadyExists, type KubeClient } from "@klutch/kube";
import { controllerReference, isControlledBy, jsonEqual, type Secret, secrets } from "@klutch/kube-core";
import { type ConnectionDetails, ExternalError, type Managed } from "./external.ts";

const secretType = "connection.crossplane.io/v1alpha1";

/**
 * Creates the Secret or brings it up to date; without details nothing is made, so an empty Secret never appears. Writes only when
 * something differs. Throws `ExternalError` when a Secret of that name belongs to somebody else.
 */
export async function publishConnection(
  client: KubeClient,
  managed: Managed,
  details: ConnectionDetails | undefined,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const ref = secretRefOf(managed);
  if (ref === undefined || details === undefined || Object.keys(details).length === 0) return;
  const wanted = secretOf(managed, ref, details);
  const present = await client.find<Secret>(secrets, ref, options);
  if (present === undefined) {
    try {
      await client.create(secrets, wanted, options);
    } catch (error) {
      // Somebody was faster; the next reconcile sees whose it is.
      if (!isAlreadyExists(error)) throw error;
    }
    return;
  }
  if (!isControlledBy(present, managed.metadata.uid)) {
    throw new ExternalError(
      `cannot create or update connection secret: refusing to modify uncontrolled secret of type ${JSON.stringify(present.type ?? "")}: ` +
        `Secret ${ref.namespace}/${ref.name} was not made for this object; delete it, or choose another name`,
    );
  }
  if (jsonEqual(present.data ?? {}, wanted.data ?? {})) return;
  await client.replace(secrets, { ...present, data: wanted.data }, options);
}

/** Deletes the Secret if the managed resource owns it: garbage collection may be slow, and credentials are gone at the backend. */
export async function removeConnection(
  client: KubeClient,
  managed: Managed,
  options: { readonly signal: AbortSignal },
): Promise<void> {
  const ref = secretRefOf(managed);
  if (ref === undefined) return;
  const present = await client.find<Secret>(secrets, ref, options);
  if (present === undefined || !isControlledBy(present, managed.metadata.uid)) return;
  await client.delete(secrets, ref, { ...options, preconditions: { uid: present.metadata.uid } });
}

/** Returns the content of the Secret; undefined when none exists, or it belongs to another owner. */
export async function readConnection(
  client: KubeClient,
  managed: Managed,
  options: { readonly signal: AbortSignal },
): Promise<ConnectionDetails | undefined> {
  const ref = secretRefOf(managed);
  if (ref === undefined) return undefined;
  const present = await client.find<Secret>(secrets, ref, options);
  if (present === undefined || !isControlledBy(present, managed.metadata.uid)) return undefined;
  const entries = Object.entries(present.data ?? {});
  return Object.fromEntries(
    entries.map(([key, value]) => [key, Buffer.from(value, "base64").toString()] as const),
  );
}

/** Reports whether the Secret should exist and is missing; one of another owner does not count. */
export async function connectionIsMissing(
  client: KubeClient,
  managed: Managed,
  options: { readonly signal: AbortSignal },
): Promise<boolean> {
  const ref = secretRefOf(managed);
  if (ref === undefined) return false;
  const present = await client.find<Secret>(secrets, ref, options);
  return present === undefined || !isControlledBy(present, managed.metadata.uid);
}

interface SecretRef {
  readonly namespace: string;
  readonly name: string;
}

/** A namespaced managed resource has its Secret beside it, whatever namespace its spec names; undefined: there is to be none. */
function secretRefOf({ metadata, spec }: Managed): SecretRef | undefined {
  const ref = spec.writeConnectionSecretToRef;
  const namespace = metadata.namespace ?? ref?.namespace;
  return ref === undefined || namespace === undefined ? undefined : { namespace, name: ref.name };
}

function secretOf(managed: Managed, ref: SecretRef, details: ConnectionDetails): Secret {
  const data = Object.entries(details).map(
    ([key, value]) => [key, Buffer.from(value).toString("base64")] as const,
  );
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: secretType,
    metadata: {
      name: ref.name,
      namespace: ref.namespace,
      ownerReferences: [controllerReference(managed)],
    },
    data: Object.fromEntries(data),
  };
}
