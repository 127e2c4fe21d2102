/** Crossplane as plain processes: init, core, RBAC manager, each under its own account. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { inheritedEnvironment, resolveEngine, run } from "@klutch/engines";
import { parseYamlDocuments } from "@klutch/kube";
import { type DynamicObject, isRecord, recordAt, secrets } from "@klutch/kube-core";
import { namespaceObject, serviceAccountObject, waitFor } from "@klutch/kube-testing";
import type { Certificates } from "./runtime.ts";
import { accountKubeconfig, crossplaneNamespace, type SandboxContext } from "../context.ts";
import { applyAll, readManifests } from "../objects.ts";
import { keepProcess } from "../supervise.ts";

const coreAccount = { namespace: crossplaneNamespace, name: "crossplane" };
const rbacAccount = { namespace: crossplaneNamespace, name: "rbac-manager" };
const external = { type: "ExternalName", externalName: "localhost" };
const webhooks = { namespace: crossplaneNamespace, name: "crossplane-webhooks" };

/** Templates of the chart with roles. */
const templates = [
  "clusterrole.yaml",
  "clusterrolebinding.yaml",
  "rbac-manager-clusterrole.yaml",
  "rbac-manager-clusterrolebinding.yaml",
  "rbac-manager-allowed-provider-permissions.yaml",
  "rbac-manager-managed-clusterroles.yaml",
];

/** Starts Crossplane; resolves when core is ready. */
export async function startCrossplane(context: SandboxContext, certificates: Certificates): Promise<void> {
  const { crossplaneMetrics, crossplaneProbe, crossplaneWebhook } = context.state.ports;
  const { controlPlane } = context.clusters;
  const program = await resolveEngine("crossplane");
  const folder = join(context.state.folder, "crossplane");
  await installObjects(context, dirname(program));
  // Core does not make its cache folders, and a package that cannot be cached cannot be installed.
  for (const name of ["xpkg", "xfn"]) await mkdir(join(folder, name), { recursive: true });
  const env = {
    KUBECONFIG: await accountKubeconfig(controlPlane, coreAccount, folder),
    POD_NAMESPACE: crossplaneNamespace,
    POD_SERVICE_ACCOUNT: coreAccount.name,
  };
  await initialise(program, env, crossplaneWebhook);
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
      `--tls-server-certs-dir=${await writeServerCertificate(context, folder)}`,
      `--tls-client-certs-dir=${certificates.crossplaneClient}`,
      `--xpkg-cache-dir=${join(folder, "xpkg")}`,
      `--xfn-cache-dir=${join(folder, "xfn")}`,
      "--circuit-breaker-burst=100000",
      "--circuit-breaker-refill-rate=10000",
    ],
    env,
    logFile: join(folder, "core.log"),
    ready: `http://127.0.0.1:${crossplaneProbe}/readyz`,
  });
  await keepProcess(context, {
    name: "crossplane rbac manager",
    command: await resolveEngine("crossplane-rbac"),
    args: ["rbac", "start", "--provider-clusterrole=crossplane:allowed-provider-permissions"],
    env: { KUBECONFIG: await accountKubeconfig(controlPlane, rbacAccount, folder) },
    logFile: join(folder, "rbac.log"),
  });
}

async function installObjects({ clusters }: SandboxContext, engineFolder: string): Promise<void> {
  await applyAll(clusters.controlPlane.client, [
    namespaceObject(crossplaneNamespace),
    serviceAccountObject(coreAccount),
    serviceAccountObject(rbacAccount),
    ...(await crossplaneRbac(engineFolder)),
    // The API server resolves an ExternalName Service for webhooks itself.
    { apiVersion: "v1", kind: "Service", metadata: webhooks, spec: external },
    // Without these CRDs the first init fails, because their kinds are not discovered yet.
    ...(await readManifests(join(engineFolder, "cluster", "crds"))),
  ]);
}

async function initialise(program: string, own: Readonly<Record<string, string>>, webhookPort: number) {
  const cluster = join(dirname(program), "cluster");
  const env = {
    ...inheritedEnvironment,
    ...own,
    CRDS_PATH: join(cluster, "crds"),
    WEBHOOK_CONFIGS_PATH: join(cluster, "webhookconfigurations"),
    WEBHOOK_SERVICE_NAME: webhooks.name,
    WEBHOOK_SERVICE_NAMESPACE: webhooks.namespace,
    WEBHOOK_SERVICE_PORT: String(webhookPort),
    TLS_CA_SECRET_NAME: "crossplane-root-ca",
    TLS_SERVER_SECRET_NAME: "crossplane-tls-server",
    TLS_CLIENT_SECRET_NAME: "crossplane-tls-client",
  };
  const init = (): Promise<object> => run(program, ["core", "init", "--activation", "*"], { env });
  // The account's rights are aggregated by a controller, which may need a moment.
  await waitFor("crossplane core init", init, { timeoutMs: 120_000, intervalMs: 500 });
}

/** Writes the certificate from the Secret that init made, because core reads files; returns their folder. */
async function writeServerCertificate(context: SandboxContext, folder: string): Promise<string> {
  const ref = { namespace: crossplaneNamespace, name: "crossplane-tls-server" };
  const secret = await context.clusters.controlPlane.client.get<DynamicObject>(secrets, ref);
  const target = join(folder, "tls-server");
  await mkdir(target, { recursive: true });
  for (const [name, value] of Object.entries(recordAt(secret, "data")))
    await writeFile(join(target, name), Buffer.from(String(value), "base64"), { mode: 0o600 });
  return target;
}

/** Returns the rights of Crossplane as its Helm chart has them, rendered without Helm: only a name and a namespace are filled in. */
export async function crossplaneRbac(engineFolder: string): Promise<readonly DynamicObject[]> {
  const folder = join(engineFolder, "cluster", "charts", "crossplane", "templates");
  const texts = await Promise.all(templates.map((name) => readFile(join(folder, name), "utf8")));
  return texts
    .flatMap((text) => parseYamlDocuments(render(text)))
    .filter((value): value is DynamicObject => isRecord(value) && "kind" in value);
}

/** Conditions of the templates are all true by default; labels and annotations of Helm are left out. */
export function render(text: string): string {
  const withoutLoops = text.replaceAll(
    /^\s*\{\{-?\s*(?:with|range)[^}]*\}\}[\s\S]*?^\s*\{\{-?\s*end\s*-?\}\}\s*$/gm,
    "",
  );
  // Lines whose value is a setting belong to the branch that is not taken when the setting is empty.
  return withoutLoops
    .replaceAll(/^.*:\s*\{\{\s*\.Values\.[^}]*\}\}\s*$/gm, "")
    .replaceAll(/\{\{\s*template "crossplane\.name" \.\s*\}\}/g, "crossplane")
    .replaceAll(/\{\{\s*\.Release\.Namespace\s*\}\}/g, crossplaneNamespace)
    .replaceAll(/\{\{-?[^}]*\}\}/g, "");
}
