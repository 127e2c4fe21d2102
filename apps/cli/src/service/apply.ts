/** `klutch service apply`: a service's table becomes an API of the control plane. */
import { providerConfigs } from "@klutch/api";
import { formatYaml } from "@klutch/kube";
import {
  apiVersionOf,
  conditionsOf,
  type DynamicObject,
  findCondition,
  type KubeObject,
} from "@klutch/kube-core";
import { manifestsOf, type ServiceManifests } from "@klutch/services";
import type { CliContext } from "../context.ts";
import type { CommonOptions } from "../options.ts";
import { formatObjects } from "../output.ts";
import { waitFor } from "../wait.ts";
import {
  connectControlPlane,
  type ControlPlane,
  definitions,
  type Planned,
  plannedOf,
  refuseForeign,
  serviceManager,
} from "./control-plane.ts";
import { dryRun } from "./dry-run.ts";
import { readServiceFile } from "./file.ts";

/** Runs the command. Everything is checked before anything is written; it can be interrupted and run again at any point. */
export async function applyService(context: CliContext, path: string, options: CommonOptions): Promise<void> {
  const { signal, terminal } = context;
  const file = await readServiceFile(context, path);
  const manifests = manifestsOf(file.table);
  const planned = plannedOf(manifests);
  await using cluster = await connectControlPlane(options);
  await refuseForeign(cluster, planned, file.table.type, signal);
  await dryRun(context, cluster, file);
  if (options.dryRun) {
    terminal.say("Dry run: the API server would take all of it. Nothing was changed.");
    terminal.out(
      formatObjects(
        planned.map(({ object }) => object),
        options.output ?? "yaml",
        options,
      ),
    );
    return;
  }
  for (const one of planned) {
    await write(context, cluster, one);
    if (one.type === definitions) await waitUntilOffered(context, cluster, manifests, options.timeoutMs);
  }
  terminal.say(`${manifests.api} is offered; app clusters can bind it.`);
  await tellMissingConfigs(context, cluster, manifests);
}

async function write(
  context: CliContext,
  { client }: ControlPlane,
  { type, object }: Planned,
): Promise<void> {
  await client.apply<KubeObject>(type, object, { fieldManager: serviceManager, signal: context.signal });
  context.terminal.say(`Applied ${type.kind} ${object.metadata.name}.`);
}

async function waitUntilOffered(
  context: CliContext,
  { client }: ControlPlane,
  { xrd, api }: ServiceManifests,
  timeoutMs: number,
): Promise<void> {
  let told = "Crossplane has said nothing of it yet. Does it run?";
  await waitFor(context, { what: `${api} to be offered`, timeoutMs, problem: () => told }, async () => {
    const found = await client.get<DynamicObject>(
      definitions,
      { name: xrd.metadata.name },
      { signal: context.signal },
    );
    const open = ["Established", "Offered"].flatMap((type) => {
      const condition = findCondition(conditionsOf(found), type);
      if (condition?.status === "True") return [];
      return [`${type}: ${condition?.message ?? condition?.reason ?? "unknown"}`];
    });
    if (found.status !== undefined) told = `it is not ${open.join("; not ")}`;
    return open.length === 0 ? true : undefined;
  });
}

async function tellMissingConfigs(
  { terminal, signal }: CliContext,
  { client }: ControlPlane,
  manifests: ServiceManifests,
): Promise<void> {
  const found = await Promise.all(
    manifests.providerConfigs.map(async (config) => ({
      ...config,
      isThere: (await client.find(providerConfigs, { name: config.name }, { signal })) !== undefined,
    })),
  );
  const missing = found.filter(({ isThere }) => !isThere);
  if (missing.length === 0) return;
  terminal.say(
    `Missing: ${missing.map(({ name }) => `ProviderConfig ${name}`).join(", ")}. Fill in the address, and the Secret with user and password:`,
  );
  terminal.out(
    missing.map(({ name, serviceType }) => formatYaml(configManifest(name, serviceType))).join("---\n"),
  );
}

function configManifest(name: string, serviceType: string): object {
  const key = (of: string): object => ({ secretRef: { namespace: "crossplane-system", name, key: of } });
  return {
    apiVersion: apiVersionOf(providerConfigs),
    kind: providerConfigs.kind,
    metadata: { name },
    spec: {
      url: "https://broker.example.org",
      serviceType,
      providerCredentials: { source: "Secret", username: key("username"), password: key("password") },
    },
  };
}
