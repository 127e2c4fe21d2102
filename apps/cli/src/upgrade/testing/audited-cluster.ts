/** A real cluster with an account that may only read, and the API server's own record of what that account did. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterRoleBindings, clusterRoles, serviceAccounts, textAt } from "@klutch/kube-core";
import { formatKubeconfig, parseJson } from "@klutch/kube";
import {
  accountConfig,
  roleBindingObject,
  roleObject,
  serviceAccountObject,
  startCluster,
  type TestCluster,
} from "@klutch/kube-testing";
import { type Finished, type Outside, startRun } from "../../testing/run.ts";

/** It runs until it is disposed. */
export interface AuditedCluster extends AsyncDisposable {
  readonly cluster: TestCluster;
  /** `klutch upgrade --check` with the reader's kubeconfig. */
  check(args?: readonly string[], outside?: Outside): Promise<Finished>;
  /** All requests that the reader has sent, as the API server wrote them down. */
  requests(): Promise<readonly AuditedRequest[]>;
}

/** A request; without a resource it was for a path. */
export interface AuditedRequest {
  readonly verb: string;
  readonly resource: string | undefined;
}

/** Each verb once, in order. */
export function verbsOf(requests: readonly AuditedRequest[]): readonly string[] {
  return [...new Set(requests.map(({ verb }) => verb))].toSorted();
}

const reader = { namespace: "default", name: "reader" };

/** Starts it with nothing of Klutch. */
export async function startAuditedCluster(): Promise<AuditedCluster> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "klutch-upgrade-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const log = join(folder, "audit.log");
  const policy = join(folder, "policy.json");
  const user = `system:serviceaccount:${reader.namespace}:${reader.name}`;
  const rules = [{ level: "Metadata", users: [user] }, { level: "None" }];
  await writeFile(policy, JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules }));
  const apiServerArgs = [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`];
  const cluster = stack.use(await startCluster({ name: "upgrade", apiServerArgs }));
  const { client } = cluster;
  await client.create(serviceAccounts, serviceAccountObject(reader));
  const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["get", "list"] }];
  await client.create(clusterRoles, roleObject({ name: reader.name }, everything));
  const role = { kind: "ClusterRole", name: reader.name } as const;
  await client.create(clusterRoleBindings, roleBindingObject({ name: reader.name }, role, reader));
  const kubeconfig = join(folder, "reader.kubeconfig");
  await writeFile(kubeconfig, formatKubeconfig(await accountConfig(cluster, reader)));
  const owned = stack.move();
  return {
    cluster,
    check: (args = [], outside = {}) =>
      startRun("klutch", ["upgrade", "--check", ...args], { env: { KUBECONFIG: kubeconfig }, ...outside })
        .done,
    async requests() {
      const lines = (await readFile(log, "utf8")).split("\n").filter((line) => line !== "");
      return lines.map((line) => {
        const event = parseJson(line, "a line of the audit log");
        return { verb: textAt(event, "verb") ?? "", resource: textAt(event, "objectRef", "resource") };
      });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
