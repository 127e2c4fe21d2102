/** `klutch service apply`: a service's table becomes an API of the control plane. */
import { formatYaml } from "@klutch/kube";
import {
  apiVersionOf,
  conditionsOf,
  type DynamicObject,
  findCondition,
  type KubeObject,
  type ResourceType,
} from "@klutch/kube-core";
import { manifestsOf, type ServiceManifests } from "@klutch/services";
import type { CliContext } from "../context.ts";
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
import { configsOf, type ServiceOptions } from "./generation.ts";

/** Runs the command. Everything is checked before anything is written; it can be interrupted and run again at any point. */
export async function applyService(
  context: CliContext,
  path: string,
  options: ServiceOptions,
): Promise<void> {
  const { signal, terminal } = context;
  const { generation } = options;
  const file = await readServiceFile(context, path);
  const manifests = manifestsOf(generation, file.table);
  const planned = plannedOf(manifests, generation);
  await using cluster = await connectControlPlane(options);
  await refuseForeign(cluster, planned, file.table.type, signal);
  await dryRun(context, cluster, file, generation);
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
    if (one.type.kind === definitions.kind) await waitUntilOffered(context, cluster, manifests, options);
  }
  terminal.say(`${manifests.api} is offered; app clusters can bind it.`);
  await tellMissingConfigs(context, cluster, manifests, configsOf(generation));
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
  { generation, timeoutMs }: ServiceOptions,
): Promise<void> {
  // Claims are offered; a composite that is the claim is there at once.
  const needed = generation.name === "legacy" ? ["Established", "Offered"] : ["Established"];
  let told = "Crossplane has said nothing of it yet. Does it run?";
  await waitFor(context, { what: `${api} to be offered`, timeoutMs, problem: () => told }, async () => {
    const found = await client.get<DynamicObject>(
      definitions,
      { name: xrd.metadata.name },
      { signal: context.signal },
    );
    const open = needed.flatMap((type) => {
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
  type: ResourceType,
): Promise<void> {
  const found = await Promise.all(
    manifests.providerConfigs.map(async (config) => ({
      ...config,
      isThere: (await client.find(type, { name: config.name }, { signal })) !== undefined,
    })),
  );
  const missing = found.filter(({ isThere }) => !isThere);
  if (missing.length === 0) return;
  terminal.say(
    `Missing: ${missing.map(({ name }) => `${type.kind} ${name}`).join(", ")}. Fill in the address, and the Secret with user and password:`,
  );
  terminal.out(
    missing.map(({ name, serviceType }) => formatYaml(configManifest(type, name, serviceType))).join("---\n"),
  );
}

function configManifest(type: ResourceType, name: string, serviceType: string): object {
  const key = (of: string): object => ({ secretRef: { namespace: "crossplane-system", name, key: of } });
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: { name },
    spec: {
      url: "https://broker.example.org",
      serviceType,
      providerCredentials: { source: "Secret", username: key("username"), password: key("password") },
    },
  };
}
