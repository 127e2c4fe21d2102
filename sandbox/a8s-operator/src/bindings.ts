/** Makes a login and a Secret for each ServiceBinding. */
import {
  boundedName,
  contains,
  type DynamicObject,
  isDeleting,
  maxSubdomainLength,
  refOfObject,
  secrets,
} from "@klutch/kube-core";
import type { Reconcile, ReconcileResult } from "@klutch/kube-runtime";
import { postgres } from "@klutch/data-servers";
import { credentialsOf, databaseOf, loginOf, passwordOf } from "./database.ts";
import { type ServiceBinding, serviceBindings } from "./kinds.ts";
import { addFinalizer, removeFinalizer, report, type Writer } from "./objects.ts";
import { type OperatorParts, withServer } from "./parts.ts";

/** The label of a8s, by which the Secret of a binding is synced to the app cluster and others are not. */
const credentialsLabel = { "service-binding": "true" } as const;
const waitMs = 1_000;

/** Returns the reconcile function, by the key of the binding. */
export function createBindingReconcile(parts: OperatorParts): Reconcile {
  const { client, clock, bindings } = parts;
  return async (key, { signal }) => {
    const binding = bindings.get(key);
    if (binding === undefined) return undefined;
    const writer: Writer = { client, clock, type: serviceBindings, signal };
    if (isDeleting(binding)) return remove(parts, writer, binding);
    await addFinalizer(writer, binding);
    const problem = await bind(parts, writer, binding);
    if (problem === undefined) return undefined;
    const ready = { isReady: false, reason: "Waiting", message: problem };
    await report(writer, binding, ready, { implemented: false });
    return { requeueAfterMs: waitMs };
  };
}

/** Returns why it cannot be bound now; undefined when it is bound. */
async function bind(
  parts: OperatorParts,
  writer: Writer,
  binding: ServiceBinding,
): Promise<string | undefined> {
  const { apiVersion, kind, namespace, name } = binding.spec.instance;
  if (namespace !== binding.metadata.namespace)
    return `spec.instance.namespace is ${namespace}; a binding is of an instance in its own namespace, ${binding.metadata.namespace}`;
  const [apiGroup = ""] = apiVersion.split("/");
  return withServer(parts, namespace, { apiGroup, kind, name }, async (server) => {
    const username = loginOf(binding.metadata.uid ?? "");
    await postgres.ensureLogin(databaseOf(server), { username, password: passwordOf(server, username) });
    const secret = secretOf(binding, credentialsOf(server, username));
    if (!(await writeSecret(writer, binding, secret)))
      return `the Secret ${secret.metadata.name} is there and is not this binding's; remove it`;
    const ref = refOfObject(secret);
    await report(writer, binding, { isReady: true, reason: "Bound" }, { implemented: true, secret: ref });
    return undefined;
  });
}

async function remove(
  { client, servers, instances }: OperatorParts,
  writer: Writer,
  binding: ServiceBinding,
): Promise<ReconcileResult | undefined> {
  const { instance: of } = binding.spec;
  const instance = instances.get(`${binding.metadata.namespace}/${of.name}`);
  // An instance that is being deleted takes its logins along.
  if (instance !== undefined && !isDeleting(instance)) {
    const isDropped = await servers.with(instance.metadata.uid ?? "", async (server) => {
      if (server !== undefined)
        await postgres.dropLogin(databaseOf(server), loginOf(binding.metadata.uid ?? ""));
      return server !== undefined;
    });
    if (!isDropped) return { requeueAfterMs: waitMs };
  }
  const ref = refOfObject(secretOf(binding, {}));
  const secret = await client.find<DynamicObject>(secrets, ref, { signal: writer.signal });
  if (secret !== undefined && isOwnedBy(secret, binding))
    await client.delete(secrets, ref, { preconditions: { uid: secret.metadata.uid }, signal: writer.signal });
  await removeFinalizer(writer, binding);
  return undefined;
}

function secretOf(binding: ServiceBinding, credentials: Readonly<Record<string, string>>): DynamicObject {
  const { namespace, name = "", uid = "" } = binding.metadata;
  const owner = { apiVersion: binding.apiVersion, kind: binding.kind, name, uid, controller: true };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      namespace,
      name: boundedName(`${name}-service-binding`, maxSubdomainLength),
      labels: credentialsLabel,
      ownerReferences: [owner],
    },
    type: "Opaque",
    data: Object.fromEntries(
      Object.entries(credentials).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
    ),
  };
}

/** Returns false when a Secret of another owner has the name. */
async function writeSecret(
  { client, signal }: Writer,
  binding: ServiceBinding,
  secret: DynamicObject,
): Promise<boolean> {
  const ref = refOfObject(secret);
  const found = await client.find<DynamicObject>(secrets, ref, { signal });
  if (found === undefined) {
    await client.create(secrets, secret, { signal });
    return true;
  }
  if (!isOwnedBy(found, binding)) return false;
  const { data } = secret;
  const patch = { metadata: { uid: found.metadata.uid, labels: credentialsLabel }, data };
  if (!contains(found, patch)) await client.mergePatch(secrets, ref, patch, { signal });
  return true;
}

function isOwnedBy(secret: DynamicObject, binding: ServiceBinding): boolean {
  return secret.metadata.ownerReferences?.some(({ uid }) => uid === binding.metadata.uid) === true;
}
