/** An aggregated API server of one resource, in this process: the cluster's API server really passes requests on to it. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { apiServices, type DynamicObject, type ResourceType } from "@klutch/kube-core";
import { type TestCluster, waitFor } from "@klutch/kube-testing";

/** Answers until it is disposed. */
export interface AggregatedServer extends AsyncDisposable {
  /** Paths it was asked for. */
  readonly requests: readonly string[];
}

const services: ResourceType = {
  group: "",
  version: "v1",
  plural: "services",
  kind: "Service",
  namespaced: true,
};

/** Serves `group/v1` with one resource, until it is disposed. */
export async function serveAggregated(
  cluster: TestCluster,
  { group, plural, kind }: { readonly group: string; readonly plural: string; readonly kind: string },
): Promise<AggregatedServer> {
  const requests: string[] = [];
  const [cert, key] = await Promise.all(
    ["crt", "key"].map((end) => readFile(join(cluster.dataDir, "certs", `apiserver.${end}`))),
  );
  const server = createServer({ cert, key }, ({ url = "" }, response) => {
    const path = url.split("?")[0] ?? "";
    requests.push(path);
    const resources = [{ name: plural, singularName: "", namespaced: true, kind, verbs: ["get", "list"] }];
    const isDiscovery = path === `/apis/${group}/v1`;
    response.writeHead(isDiscovery ? 200 : 404, { "content-type": "application/json" });
    const list = { kind: "APIResourceList", apiVersion: "v1", groupVersion: `${group}/v1`, resources };
    response.end(JSON.stringify(isDiscovery ? list : { kind: "Status", apiVersion: "v1", code: 404 }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const service = { namespace: "default", name: "aggregated" };
  const name = `v1.${group}`;
  const { client } = cluster;
  await client.create<DynamicObject>(services, {
    apiVersion: "v1",
    kind: "Service",
    metadata: service,
    spec: { type: "ExternalName", externalName: "localhost" },
  });
  await client.create<DynamicObject>(apiServices, {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name },
    spec: {
      group,
      version: "v1",
      groupPriorityMinimum: 1000,
      versionPriority: 15,
      insecureSkipTLSVerify: true,
      service: { ...service, port },
    },
  });
  await waitFor("the aggregated API", () => client.request({ method: "GET", path: `/apis/${group}/v1` }));
  await waitFor("its group", () => client.request({ method: "GET", path: `/apis/${group}` }));
  return {
    requests,
    async [Symbol.asyncDispose]() {
      await client.delete(apiServices, { name });
      await client.delete(services, service);
      server.closeAllConnections();
      server.close();
    },
  };
}
