/**
 * A control plane and an app cluster of real servers with konnector, backend and provider as processes that can be started again with other
 * variables, a broker that makes everything at once, and the part of Crossplane: a managed instance and a Secret for each claim.
 */
import { createServer } from "node:http";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  konnectorRuntime,
  providerConfigs,
  providerCrds,
  serviceInstances,
  traceAnnotation,
} from "@klutch/api";
import { reservePorts, type RunningProcess, startProcess } from "@klutch/engines";
import type { KubeClient } from "@klutch/kube";
import { conditionsOf, type DynamicObject, isTrue, secrets } from "@klutch/kube-core";
import { installKinds, objectOfType, secretObject } from "@klutch/kube-testing";
import { type FleetControlPlane, startControlPlane } from "../fleet/control-plane.ts";
import { timedKind } from "../fleet/kinds.ts";
import { type ClaimCopy, type RealCluster, startRealCluster } from "../fleet/real-cluster.ts";
import { buildBundle, ownAgent } from "../harness/agent-process.ts";
import { startStopwatch, type Stopwatch, within } from "../harness/stopwatch.ts";

export type Variables = Readonly<Record<string, string>>;

/** The programs under test. */
export const programs = ["konnector", "backend", "provider"] as const;

/** Everything that the benchmark works with. */
export interface TracesFixture extends AsyncDisposable {
  /** Ends all programs and starts them with these variables; resolves when they are ready and a claim has gone through. */
  restart(env: Variables): Promise<void>;
  /** Lets one claim live with its instance and its Secret. */
  live(): Promise<void>;
  pidOf(program: (typeof programs)[number]): number;
}

const limitMs = 120_000;
const tenant = "traced";

/** Starts it, without variables. `folder` is for its files. */
export async function startTracesFixture(folder: string): Promise<TracesFixture> {
  await using stack = new AsyncDisposableStack();
  const controlPlane = stack.use(await startControlPlane([timedKind], "Namespaced"));
  const { cluster } = controlPlane;
  await offerInstances(cluster.client, stack.use(await startBroker()).url);
  const arrivals = stack.use(await startStopwatch(cluster.client, timedKind.type));
  const instances = stack.use(await startStopwatch(cluster.client, serviceInstances));
  const agent = await ownAgent(folder);
  const options = { name: tenant, apis: 1, namespaces: 1, folder, agent };
  const appCluster = stack.use(await startRealCluster(options, { controlPlane, arrivals }));
  const provider = stack.use(await prepareProvider(folder, cluster.kubeconfig));
  const provide = (copy: ClaimCopy): Promise<void> => provideFor(cluster.client, instances, copy);
  await provider.restart({});
  await appCluster.connect(await controlPlane.bind(tenant));
  return Object.assign(stack.move(), { ...driving(controlPlane, appCluster, provider, provide) });
}

function driving(
  controlPlane: FleetControlPlane,
  appCluster: RealCluster,
  provider: Provider,
  provide: (copy: ClaimCopy) => Promise<void>,
): Omit<TracesFixture, keyof AsyncDisposable> {
  const live = async (): Promise<void> => void (await appCluster.timeClaim(provide));
  return {
    live,
    async restart(env) {
      await controlPlane.restartBackend(env);
      await provider.restart(env);
      await appCluster.restartAgent(env);
      await live();
    },
    pidOf(program) {
      if (program === "konnector") return appCluster.agentPid;
      return program === "backend" ? controlPlane.backend.pid : provider.pid();
    },
  };
}

/** Plays Crossplane and the function: an instance with the context of its claim, and then a Secret that the claim owns. */
async function provideFor(
  client: KubeClient,
  instances: Stopwatch,
  { namespace, name }: ClaimCopy,
): Promise<void> {
  const upstream = await client.get<DynamicObject>(timedKind.type, { namespace, name });
  const context = upstream.metadata.annotations?.[traceAnnotation];
  const annotations = context === undefined ? {} : { [traceAnnotation]: context };
  const forProvider = { serviceName: "postgresql", planName: "nano", organizationGuid: "o", spaceGuid: "s" };
  const spec = { providerConfigRef: { name: "broker" }, forProvider };
  const ready = instances.seen(name, (object) => isTrue(conditionsOf(object), "Ready"));
  await client.create(serviceInstances, objectOfType(serviceInstances, { name, annotations }, { spec }));
  await within(ready, limitMs, `the instance ${name}`, async () =>
    JSON.stringify(await client.find<DynamicObject>(serviceInstances, { name })),
  );
  const { apiVersion, kind, metadata } = upstream;
  const owner = { apiVersion, kind, name, uid: metadata.uid ?? "" };
  const secret = secretObject(namespace, `${name}-creds`, { password: "p" });
  await client.create(secrets, { ...secret, metadata: { ...secret.metadata, ownerReferences: [owner] } });
  await client.delete(serviceInstances, { name });
}

interface Provider extends AsyncDisposable {
  restart(env: Variables): Promise<void>;
  pid(): number;
}

async function prepareProvider(folder: string, kubeconfig: string): Promise<Provider> {
  await using stack = new AsyncDisposableStack();
  const bundle = await buildBundle("provider-anynines", folder);
  const [port = 0] = stack.use(await reservePorts(1)).ports;
  const file = join(folder, "provider.kubeconfig");
  await writeFile(file, kubeconfig, { mode: 0o600 });
  const address = `127.0.0.1:${port}`;
  let running: RunningProcess | undefined;
  stack.defer(async () => running?.stop());
  return Object.assign(stack.move(), {
    async restart(env: Variables) {
      await running?.stop();
      running = await startProcess({
        name: "provider",
        command: process.execPath,
        args: [bundle, `--health-probe-bind-address=${address}`, "--namespace=default"],
        env: { ...konnectorRuntime, KUBECONFIG: file, ...env },
        logFile: join(folder, "provider.log"),
        ready: async () => (await fetch(`http://${address}/readyz`)).ok,
      });
    },
    pid: () => running?.pid ?? 0,
  });
}

/** A broker that makes everything at once. */
async function startBroker(): Promise<AsyncDisposable & { readonly url: string }> {
  const plans = [{ id: "plan", name: "nano", description: "-", free: true }];
  const services = [{ id: "service", name: "postgresql", description: "-", bindable: true, plans }];
  const server = createServer((request, response) => {
    const isCatalog = request.url?.endsWith("/v2/catalog") === true;
    response.writeHead(request.method === "PUT" ? 201 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(isCatalog ? { services } : {}));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}

async function offerInstances(client: KubeClient, url: string): Promise<void> {
  await installKinds(client, providerCrds);
  await client.create(secrets, secretObject("default", "broker", { login: "bench" }));
  const key = { secretRef: { namespace: "default", name: "broker", key: "login" } };
  const providerCredentials = { source: "Secret", username: key, password: key };
  const spec = { url, serviceType: "servicebroker", providerCredentials };
  await client.create(providerConfigs, objectOfType(providerConfigs, { name: "broker" }, { spec }));
}
