/** Reads and writes the app cluster's objects of a binding. */
import { randomBytes } from "node:crypto";
import {
  type AnsweredPermissionClaim,
  type APIServiceBinding,
  apiServiceBindings,
  backendOriginAnnotation,
  consumerNamespace,
  kubeconfigKey,
  bindGroup,
} from "@klutch/api";
import {
  apiServices,
  customResourceDefinitions,
  type DynamicObject,
  falseCondition,
  isOwnerOfKind,
  isRecord,
  type KubeObject,
  namespaces,
  secrets,
  setCondition,
} from "@klutch/kube-core";
import {
  formatKubeconfig,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
  KubeconfigError,
  parseForeignKubeconfig,
} from "@klutch/kube";
import { type Consumer, kubeconfigOf, pluginManager, type Provider } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";

/** The namespace as it is created. Its UID is the cluster's identity towards providers, so it is never deleted. */
export const namespaceManifest: KubeObject = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: consumerNamespace },
};

/** UID of the namespace; undefined when it does not exist. */
export async function namespaceUid(consumer: Consumer, signal: AbortSignal): Promise<string | undefined> {
  const namespace = await consumer.client.find(namespaces, { name: consumerNamespace }, { signal });
  return namespace?.metadata.uid;
}

/** UID of the namespace, which is created when it does not exist. */
export async function ensureNamespace(context: CliContext, consumer: Consumer): Promise<string> {
  const { signal } = context;
  const existing = await namespaceUid(consumer, signal);
  if (existing !== undefined) return existing;
  try {
    const created = await consumer.client.create(namespaces, namespaceManifest, { signal });
    context.terminal.say(`Created namespace ${consumerNamespace} in the app cluster.`);
    return created.metadata.uid ?? "";
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return (await namespaceUid(consumer, signal)) ?? "";
  }
}

/** The Secret that holds a kubeconfig for the same server and namespace, if any. */
export async function findKubeconfigSecret(
  consumer: Consumer,
  provider: Provider,
  signal: AbortSignal,
): Promise<string | undefined> {
  const all = consumer.client.listAll<DynamicObject>(secrets, { namespace: consumerNamespace, signal });
  for await (const secret of all) {
    const text = kubeconfigOf(secret);
    if (text !== undefined && isFor(text, provider)) return secret.metadata.name;
  }
  return undefined;
}

function isFor(kubeconfig: string, provider: Provider): boolean {
  try {
    const { server, namespace } = parseForeignKubeconfig(kubeconfig);
    return server === provider.config.server && namespace === provider.namespace;
  } catch (error) {
    // The Secret belongs to someone else, or the konnector will refuse it as well.
    if (error instanceof KubeconfigError) return false;
    throw error;
  }
}

/** The Secret as it is written: the reduced kubeconfig, never the provider's own text. */
export function kubeconfigSecret(name: string, provider: Provider): DynamicObject {
  const text = formatKubeconfig(provider.config);
  const { backendOrigin } = provider;
  const annotations =
    backendOrigin === undefined ? {} : { annotations: { [backendOriginAnnotation]: backendOrigin } };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: consumerNamespace, ...annotations },
    type: "Opaque",
    data: { [kubeconfigKey]: Buffer.from(text).toString("base64") },
  };
}

/** A name for a new kubeconfig Secret. */
function newSecretName(): string {
  return `kubeconfig-${randomBytes(4).toString("hex")}`;
}

/** Writes the kubeconfig into the Secret `existing`, or into a new one. Returns its name. */
export async function writeKubeconfigSecret(
  context: CliContext,
  consumer: Consumer,
  provider: Provider,
  existing: string | undefined,
): Promise<string> {
  const { signal, terminal } = context;
  const secret = kubeconfigSecret(existing ?? newSecretName(), provider);
  const ref = { namespace: consumerNamespace, name: secret.metadata.name ?? "" };
  if (existing === undefined) await consumer.client.create(secrets, secret, { signal });
  else {
    const { annotations } = secret.metadata;
    const patch = {
      data: secret["data"],
      ...(annotations === undefined ? {} : { metadata: { annotations } }),
    };
    await consumer.client.mergePatch(secrets, ref, patch, { signal });
  }
  terminal.say(`${existing === undefined ? "Created" : "Updated"} Secret ${ref.namespace}/${ref.name}.`);
  return ref.name;
}

/**
 * The binding of `name` if there is one for the same Secret. Throws `CliError` when the API is bound to another provider, or when
 * a CRD of that name exists that no binding of that name made.
 */
export async function existingBinding(
  consumer: Consumer,
  name: string,
  secretName: string | undefined,
  signal: AbortSignal,
): Promise<APIServiceBinding | undefined> {
  const ref = { namespace: consumerNamespace, name };
  const [binding, crd] = await Promise.all([
    consumer.client.find<APIServiceBinding>(apiServiceBindings, ref, { signal }),
    consumer.client.find(customResourceDefinitions, { name }, { signal }),
  ]);
  const secretRef = binding?.spec.kubeconfigSecretRef;
  if (
    secretRef !== undefined &&
    (secretRef.name !== secretName || secretRef.namespace !== consumerNamespace)
  ) {
    throw new CliError(
      "Conflict",
      `APIServiceBinding ${consumerNamespace}/${name} exists and belongs to another service provider (Secret ${secretRef.namespace}/${secretRef.name}). Delete it first if you want to change the provider.`,
    );
  }
  const owned = crd?.metadata.ownerReferences?.some(
    (owner) => owner.name === name && isOwnerOfKind(owner, apiServiceBindings),
  );
  if (crd !== undefined && owned !== true) {
    throw new CliError(
      "Conflict",
      `CustomResourceDefinition ${name} exists in the app cluster and was not made by a Klutch binding; it would be overwritten. Bind from a cluster that does not define ${name} itself.`,
    );
  }
  return binding;
}

/** The binding as it is created. */
export function bindingOf(
  name: string,
  secretName: string,
  permissionClaims: readonly AnsweredPermissionClaim[],
): APIServiceBinding {
  return {
    apiVersion: `${bindGroup}/v1alpha1`,
    kind: "APIServiceBinding",
    metadata: { name, namespace: consumerNamespace },
    spec: {
      kubeconfigSecretRef: { namespace: consumerNamespace, name: secretName, key: kubeconfigKey },
      ...(permissionClaims.length === 0 ? {} : { permissionClaims }),
    },
  };
}

/** Creates the binding and marks it as pending, unless the konnector has been faster. */
export async function createBinding(
  context: CliContext,
  consumer: Consumer,
  binding: APIServiceBinding,
): Promise<APIServiceBinding> {
  const { signal, clock } = context;
  const created = await consumer.client.create(apiServiceBindings, binding, { signal });
  const pending = falseCondition("Ready", "Pending", "Info", "The konnector has not seen this binding yet.");
  const ref = { namespace: consumerNamespace, name: created.metadata.name ?? "" };
  const patch = {
    metadata: { resourceVersion: created.metadata.resourceVersion },
    status: { conditions: setCondition([], pending, clock.now()) },
  };
  try {
    return await consumer.client.mergePatch(apiServiceBindings, ref, patch, {
      subresource: "status",
      fieldManager: pluginManager,
      signal,
    });
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return created;
    throw error;
  }
}

/** Deletes the kubeconfig Secret that this run has made, unless a binding uses it. */
export async function removeUnusedSecret(
  { signal, terminal }: CliContext,
  consumer: Consumer,
  name: string,
): Promise<void> {
  for await (const { spec } of consumer.client.listAll<APIServiceBinding>(apiServiceBindings, { signal })) {
    if (spec.kubeconfigSecretRef.name === name) return;
  }
  const ref = { namespace: consumerNamespace, name };
  if (await consumer.client.delete(secrets, ref, { signal })) {
    terminal.say(`Deleted Secret ${ref.namespace}/${name} again, because nothing uses it.`);
  }
}

/** Refuses an API whose group another API server answers for: the app cluster has it from elsewhere. */
export async function refuseAggregated(
  consumer: Consumer,
  { group = "", resource }: { readonly group?: string | undefined; readonly resource: string },
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const { metadata, spec } of consumer.client.listAll<DynamicObject>(apiServices, { signal })) {
      if (!isRecord(spec) || spec["group"] !== group || !isRecord(spec["service"])) continue;
      throw new CliError(
        "Conflict",
        `The app cluster has the API group ${group} from another server (APIService ${metadata.name}), so ${resource}.${group} cannot be bound. ${nothingChanged}`,
      );
    }
  } catch (error) {
    // Who may not look there cannot be warned; the konnector looks as well.
    if (!isForbidden(error)) throw error;
  }
}
