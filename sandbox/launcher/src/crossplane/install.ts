/** Crossplane as plain processes: init, core, RBAC manager, each under its own account. */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { resolveEngine } from "@klutch/engines";
import { type DynamicObject, recordAt, secrets } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { accountKubeconfig } from "../accounts.ts";
import { inheritedEnvironment } from "../environment.ts";
import type { CertificateFolders } from "../certificates.ts";
import { applyAll, readManifests } from "../objects.ts";
import { keepProcess } from "../supervise.ts";
import { crossplaneNamespace, type ControlPlane } from "../context.ts";
import { crossplaneRbac } from "./chart.ts";

const run = promisify(execFile);

/** Starts Crossplane; resolves when core is ready. */
export async function startCrossplane(
  context: ControlPlane,
  certificates: CertificateFolders,
): Promise<void> {
  const { state } = context;
  const { controlPlane } = context.clusters;
  const program = await resolveEngine("crossplane");
  const engineFolder = dirname(program);
  await applyAll(controlPlane.client, [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: crossplaneNamespace } },
    ...["crossplane", "rbac-manager"].map(account),
    ...(await crossplaneRbac(engineFolder)),
    webhookService,
    // Without them the first init fails, because their kinds are not discovered yet.
    ...(await readManifests(join(engineFolder, "cluster", "crds"))),
  ]);
  const folder = join(state.folder, "crossplane");
  // Core does not make its cache folders, and a package that cannot be cached cannot be installed.
  for (const name of ["xpkg", "xfn"]) await mkdir(join(folder, name), { recursive: true });
  const core = await accountKubeconfig(
    controlPlane,
    { namespace: crossplaneNamespace, name: "crossplane" },
    folder,
    context,
  );
  const rbac = await accountKubeconfig(
    controlPlane,
    { namespace: crossplaneNamespace, name: "rbac-manager" },
    folder,
    context,
  );
  await initialise(context, program, core);
  const serverFolder = await writeServerCertificate(context, folder);
  const { crossplaneMetrics, crossplaneProbe, crossplaneWebhook } = state.ports;
  await keepProcess(context, {
    name: "crossplane core",
    command: program,
    args: [
      "core",
      "start",
      "--package-runtime=External",
      `--metrics-port=${crossplaneMetrics}`,
      `--health-probe-port=${crossplaneProbe}`,
      `--webhook-port=${crossplaneWebhook}`,
      `--tls-server-certs-dir=${serverFolder}`,
      `--tls-client-certs-dir=${certificates.crossplaneClient}`,
      `--xpkg-cache-dir=${join(folder, "xpkg")}`,
      `--xfn-cache-dir=${join(folder, "xfn")}`,
      "--circuit-breaker-burst=100000",
      "--circuit-breaker-refill-rate=10000",
    ],
    env: { KUBECONFIG: core, POD_NAMESPACE: crossplaneNamespace, POD_SERVICE_ACCOUNT: "crossplane" },
    logFile: join(folder, "core.log"),
    ready: async () => (await fetch(`http://127.0.0.1:${crossplaneProbe}/readyz`)).ok,
  });
  await keepProcess(context, {
    name: "crossplane rbac manager",
    command: await resolveEngine("crossplane-rbac"),
    args: ["rbac", "start", "--provider-clusterrole=crossplane:allowed-provider-permissions"],
    env: { KUBECONFIG: rbac },
    logFile: join(folder, "rbac.log"),
  });
}

function account(name: string): DynamicObject {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: crossplaneNamespace, name } };
}

/** The API server resolves an ExternalName Service for webhooks itself. */
const webhookService: DynamicObject = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "crossplane-webhooks", namespace: crossplaneNamespace },
  spec: { type: "ExternalName", externalName: "localhost" },
};

async function initialise(context: ControlPlane, program: string, kubeconfig: string): Promise<void> {
  const cluster = join(dirname(program), "cluster");
  const env = {
    ...inheritedEnvironment,
    KUBECONFIG: kubeconfig,
    CRDS_PATH: join(cluster, "crds"),
    WEBHOOK_CONFIGS_PATH: join(cluster, "webhookconfigurations"),
    WEBHOOK_SERVICE_NAME: "crossplane-webhooks",
    WEBHOOK_SERVICE_NAMESPACE: crossplaneNamespace,
    WEBHOOK_SERVICE_PORT: String(context.state.ports.crossplaneWebhook),
    TLS_CA_SECRET_NAME: "crossplane-root-ca",
    TLS_SERVER_SECRET_NAME: "crossplane-tls-server",
    TLS_CLIENT_SECRET_NAME: "crossplane-tls-client",
    POD_NAMESPACE: crossplaneNamespace,
    POD_SERVICE_ACCOUNT: "crossplane",
  };
  // The account's rights are aggregated by a controller, which may need a moment.
  await waitFor(
    "crossplane core init",
    async () => (await run(program, ["core", "init", "--activation", "*"], { env })).stderr !== undefined,
    {
      timeoutMs: 120_000,
      intervalMs: 500,
    },
  );
}

/** Writes the certificate from the Secret that init made; core reads files. */
async function writeServerCertificate(context: ControlPlane, folder: string): Promise<string> {
  const secret = await context.clusters.controlPlane.client.get<DynamicObject>(secrets, {
    namespace: crossplaneNamespace,
    name: "crossplane-tls-server",
  });
  const target = join(folder, "tls-server");
  await mkdir(target, { recursive: true });
  const data = recordAt(secret, "data");
  for (const [name, value] of Object.entries(data)) {
    await writeFile(join(target, name), Buffer.from(String(value), "base64"), { mode: 0o600 });
  }
  return target;
}
