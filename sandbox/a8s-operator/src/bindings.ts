/** Makes a login and a Secret for each ServiceBinding. */
import { postgres } from "@klutch/data-servers";
import { findOrCreate } from "@klutch/kube";
import * as core from "@klutch/kube-core";
import type { Reconcile } from "@klutch/kube-runtime";
import { credentialsOf, databaseOf, loginOf, passwordOf } from "./database.ts";
import { type ServiceBinding, serviceBindings } from "./kinds.ts";
import { type OperatorParts, withServer, type Writer, writerOf } from "./parts.ts";

/** The label of a8s, by which the Secret of a binding is synced to the app cluster and others are not. */
const labels = { "service-binding": "true" } as const;
const waitMs = 1_000;

/** Returns the reconcile function, by the key of the binding. */
export function createBindingReconcile(parts: OperatorParts): Reconcile {
  return async (key, { signal }) => {
    const binding = parts.bindings.get(key);
    if (binding === undefined) return undefined;
    const writer = writerOf(parts, serviceBindings, signal);
    if (core.isDeleting(binding))
      return (await remove(parts, writer, binding)) ? undefined : { requeueAfterMs: waitMs };
    await writer.addFinalizer(binding);
    const problem = await bind(parts, writer, binding);
    if (problem === undefined) return undefined;
    const ready = { isReady: false, reason: "Waiting", message: problem };
    await writer.report(binding, ready, { implemented: false });
    return { requeueAfterMs: waitMs };
  };
}

/** Returns why it cannot be bound now; undefined when it is bound. */
async function bind(parts: OperatorParts, writer: Writer, binding: ServiceBinding) {
  const { apiVersion, kind, namespace, name } = binding.spec.instance;
  const { uid = "", namespace: own } = binding.metadata;
  if (namespace !== own)
    return `spec.instance.namespace is ${namespace}; a binding is of an instance in its own namespace, ${own}`;
  const [apiGroup = ""] = apiVersion.split("/");
  return withServer(parts, namespace, { apiGroup, kind, name }, async (server) => {
    const { client } = parts;
    const { signal } = writer;
    const username = loginOf(uid);
    await postgres.ensureLogin(databaseOf(server), { username, password: passwordOf(server, username) });
    const secret = secretOf(binding, credentialsOf(server, username));
    const ref = core.refOfObject(secret);
    const found = await findOrCreate(client, core.secrets, ref, () => secret, { signal });
    if (!core.isOwnedBy(found, uid))
      return `the Secret ${ref.name} is there and is not this binding's; remove it`;
    const patch = { metadata: { uid: found.metadata.uid, labels }, data: secret["data"] };
    if (!core.contains(found, patch)) await client.mergePatch(core.secrets, ref, patch, { signal });
    await writer.report(binding, { isReady: true, reason: "Bound" }, { implemented: true, secret: ref });
    return undefined;
  });
}

/** Removes login and Secret; returns false when the server does not run, so that they have to wait. */
async function remove(parts: OperatorParts, writer: Writer, binding: ServiceBinding): Promise<boolean> {
  const { client, servers, instances } = parts;
  const { signal } = writer;
  const { uid = "", namespace } = binding.metadata;
  const instance = instances.get(`${namespace}/${binding.spec.instance.name}`);
  // An instance that is being deleted takes its logins along.
  if (instance !== undefined && !core.isDeleting(instance)) {
    const isDropped = await servers.with(instance.metadata.uid ?? "", async (server) => {
      if (server !== undefined) await postgres.dropLogin(databaseOf(server), loginOf(uid));
      return server !== undefined;
    });
    if (!isDropped) return false;
  }
  const ref = core.refOfObject(secretOf(binding, {}));
  const secret = await client.find(core.secrets, ref, { signal });
  if (secret !== undefined && core.isOwnedBy(secret, uid))
    await client.delete(core.secrets, ref, { preconditions: { uid: secret.metadata.uid }, signal });
  await writer.removeFinalizer(binding);
  return true;
}

function secretOf(binding: ServiceBinding, texts: Readonly<Record<string, string>>): core.DynamicObject {
  const { apiVersion, kind, metadata } = binding;
  const { namespace, name: own = "", uid = "" } = metadata;
  const name = core.boundedName(`${own}-service-binding`, core.maxSubdomainLength);
  const ownerReferences = [{ apiVersion, kind, name: own, uid, controller: true }];
  const encode = ([key, text]: [string, string]) => [key, Buffer.from(text).toString("base64")] as const;
  const data = Object.fromEntries(Object.entries(texts).map(encode));
  const described = { namespace, name, labels, ownerReferences };
  return { apiVersion: "v1", kind: "Secret", metadata: described, type: "Opaque", data };
}
