/** The app cluster's kubeconfig: may it be used, is it good, and its copy in the root namespace. */
import { kubeconfigKey } from "@klutch/api";
import {
  containsEqualLists,
  type DynamicObject,
  falseCondition,
  type NewCondition,
  recordAt,
  secrets,
  trueCondition,
} from "@klutch/kube-core";
import { type KubeClient, KubeconfigError, parseForeignKubeconfig } from "@klutch/kube";
import { ensure } from "../apply.ts";
import type { Step } from "./context.ts";
import { allowFromAnnotation, type Owner } from "./names.ts";

/** Verdict about the referenced Secret. */
export interface KubeconfigVerdict {
  readonly condition: NewCondition;
  /** The key's value as it stands in the Secret, in base64; only when it may be used and is good. */
  readonly data?: string | undefined;
  /** True if it exists but its owner does not let us use it (any more): the copy must be deleted. */
  readonly refused: boolean;
}

const opaque = "Opaque";

/** Reads and checks the Secret. Of a Secret in another namespace nothing is reported unless it may be used. */
export async function readKubeconfig(
  client: KubeClient,
  owner: Owner,
  step: Step,
): Promise<KubeconfigVerdict> {
  const { name, namespace, key } = owner.object.spec.kubeconfigSecretRef;
  const own = owner.object.metadata.namespace ?? "";
  const secret = await client.find<DynamicObject>(secrets, { namespace, name }, step);
  if (namespace !== own && (secret === undefined || !allows(secret, own))) {
    const message =
      `Secret ${namespace}/${name} cannot be used from namespace ${own}: it does not exist, or its annotation ` +
      `${allowFromAnnotation} does not name ${own} (or *)`;
    return { condition: invalid(message), refused: secret !== undefined };
  }
  if (secret === undefined) {
    const message = `Secret ${namespace}/${name} does not exist`;
    return {
      condition: falseCondition("SecretValid", "KubeconfigSecretNotFound", "Error", message),
      refused: false,
    };
  }
  const data = dataOf(secret)[key];
  const fault = typeof data === "string" ? faultOf(data) : `the key ${key} is missing`;
  if (typeof data !== "string" || fault !== undefined) {
    return { condition: invalid(`Secret ${namespace}/${name}: ${fault}`), refused: false };
  }
  return { condition: trueCondition("SecretValid"), data, refused: false };
}

function allows(secret: DynamicObject, namespace: string): boolean {
  const allowed = (secret.metadata.annotations?.[allowFromAnnotation] ?? "").split(",");
  return allowed.some((one) => [namespace, "*"].includes(one.trim()));
}

function invalid(message: string): NewCondition {
  return falseCondition("SecretValid", "KubeconfigSecretInvalid", "Error", message);
}

/** Returns why the kubeconfig cannot be used. Its context needs no namespace: the konnector works in the whole app cluster. */
function faultOf(data: string): string | undefined {
  try {
    parseForeignKubeconfig(Buffer.from(data, "base64").toString("utf8"), { namespace: "default" });
    return undefined;
  } catch (error) {
    if (error instanceof KubeconfigError) return error.message;
    throw error;
  }
}

/** Returns true if a copy from an earlier reconcile exists. */
export async function hasMirror(client: KubeClient, owner: Owner, step: Step): Promise<boolean> {
  return (await client.find(secrets, mirrorRef(owner), step)) !== undefined;
}

/** Copies the one key. A copy that may not be changed (another type, or immutable) is deleted and created again. */
export async function mirrorKubeconfig(
  client: KubeClient,
  owner: Owner,
  data: string,
  step: Step,
): Promise<void> {
  const ref = mirrorRef(owner);
  const wanted: DynamicObject = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...ref, labels: owner.labels, annotations: owner.annotations },
    type: opaque,
    data: { [kubeconfigKey]: data },
  };
  const present = await client.find<DynamicObject>(secrets, ref, step);
  const isFixed = present?.["immutable"] === true && !containsEqualLists(present, wanted);
  if (present === undefined || isFixed || (present["type"] ?? opaque) !== opaque) {
    if (present !== undefined) {
      await client.delete(secrets, ref, { ...step, preconditions: { uid: present.metadata.uid } });
    }
    await client.create(secrets, wanted, step);
    return;
  }
  await ensure(client, secrets, wanted, step);
}

/** Removes the copy. */
export async function removeMirror(client: KubeClient, owner: Owner, step: Step): Promise<void> {
  await client.delete(secrets, mirrorRef(owner), step);
}

function mirrorRef(owner: Owner): { readonly namespace: string; readonly name: string } {
  return { namespace: owner.root, name: owner.object.spec.kubeconfigSecretRef.name };
}

function dataOf(secret: DynamicObject): Readonly<Record<string, unknown>> {
  return recordAt(secret, "data");
}
