/** Asks the API server itself for the rights of an account, and acts as one. */
import {
  type DynamicObject,
  isRecord,
  namespaces,
  type ObjectRef,
  subjectAccessReviews,
} from "@klutch/kube-core";
import {
  ApiError,
  type ClusterConfig,
  createKubeClient,
  type KubeClient,
  parseForeignKubeconfig,
  serviceAccountToken,
} from "@klutch/kube";
import type { TestCluster } from "./cluster.ts";

/** One question to the authorizer. */
export interface AccessQuestion {
  readonly verb: string;
  readonly group: string;
  /** `pods` or `pods/exec`. */
  readonly resource: string;
  /** Empty: any. */
  readonly name?: string | undefined;
}

/** Returns true if the authorizer lets a service account (`system:serviceaccount:…`) do it there; without a namespace everywhere. */
export async function isAllowed(
  client: KubeClient,
  user: string,
  { verb, group, resource, name }: AccessQuestion,
  namespace?: string,
): Promise<boolean> {
  const [plural = "", subresource] = resource.split("/");
  const groups = [
    "system:serviceaccounts",
    `system:serviceaccounts:${user.split(":")[2]}`,
    "system:authenticated",
  ];
  const { status } = await client.create<DynamicObject>(subjectAccessReviews, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    metadata: {},
    spec: {
      user,
      groups,
      resourceAttributes: { verb, group, resource: plural, subresource, name, namespace },
    },
  });
  return isRecord(status) && status["allowed"] === true;
}

/** Returns the way into a cluster as one of its service accounts, for a day. */
export async function accountConfig(
  { client, config }: Pick<TestCluster, "client" | "config">,
  account: ObjectRef,
): Promise<ClusterConfig> {
  const { token } = await serviceAccountToken(client, account, { expirationSeconds: 24 * 3600 });
  return { ...config, auth: { kind: "token", token } };
}

/** Returns a server's answer to a kubeconfig that asks for its own namespace: 200, or the status of the error. */
export async function answerTo(kubeconfig: string): Promise<number> {
  const config = parseForeignKubeconfig(kubeconfig);
  await using client = createKubeClient(config);
  try {
    await client.get(namespaces, { name: config.namespace ?? "" });
    return 200;
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
}

/** Acts as a service account with every right of RBAC: what it is refused, a policy refuses. The caller disposes of it. */
export function unlimitedClient({ config }: TestCluster, { namespace = "", name }: ObjectRef): KubeClient {
  const impersonate = { user: `system:serviceaccount:${namespace}:${name}`, groups: ["system:masters"] };
  return createKubeClient({ ...config, impersonate }, { userAgent: "test", flowControl: false });
}
