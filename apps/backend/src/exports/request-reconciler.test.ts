import assert from "node:assert/strict";
import { test } from "node:test";
import { type APIServiceExportRequest, apiServiceExportRequests } from "@klutch/api";
import { type KubeObject, namespaces } from "@klutch/kube-core";
import { ApiServerModel, namespaceObject, VirtualClock } from "@klutch/kube-testing";
import { silentLogger } from "@klutch/telemetry";
import { silentAudit } from "../audit/audit.ts";
import type { ControllerContext } from "../controller-context.ts";
import { createExportRequestReconcile } from "./request-reconciler.ts";

const namespace = "cluster-a";

test("a request that was answered keeps its place, also before one of the same second whose name comes first", async () => {
  const clock = new VirtualClock();
  const server = new ApiServerModel({ clock, uidSeed: 1 });
  server.register({ type: apiServiceExportRequests, statusSubresource: true });
  const client = server.client({ clusterName: "control plane" });
  await client.create(namespaces, namespaceObject(namespace));
  const create = (name: string): Promise<APIServiceExportRequest> =>
    client.create<APIServiceExportRequest>(apiServiceExportRequests, {
      apiVersion: "klutch.anynines.com/v1alpha1",
      kind: "APIServiceExportRequest",
      metadata: { namespace, name },
      spec: { resources: [] },
    } as unknown as APIServiceExportRequest);
  const list = (): readonly APIServiceExportRequest[] =>
    server.objects(apiServiceExportRequests) as unknown as readonly APIServiceExportRequest[];
  const requests = {
    get: (key: string) => list().find(({ metadata }) => key === `${namespace}/${metadata.name}`),
    byIndex: list,
  };
  const reconcile = createExportRequestReconcile({
    client,
    caches: { requests, namespaces: { get: () => undefined } },
    clock,
    audit: silentAudit,
    limits: { requestsPerCluster: 1 },
  } as unknown as ControllerContext);
  const { signal } = new AbortController();
  const phases = (): readonly unknown[] =>
    list().map(({ metadata, status }) => [metadata.name, status?.phase]);
  for (const name of ["b", "a"]) {
    await create(name);
    await reconcile(`${namespace}/${name}`, { signal, logger: silentLogger } as never);
  }
  assert.deepEqual(phases(), [
    ["a", "Failed"],
    ["b", "Succeeded"],
  ]);
  const [refused] = list() as readonly (KubeObject & APIServiceExportRequest)[];
  assert.match(refused?.status?.terminalMessage ?? "", /has 2 APIServiceExportRequests.* 1 are allowed/);
});
