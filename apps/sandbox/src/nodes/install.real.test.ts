/** The release in Pods of a real node. Needs root and control groups, and apt's network for the images. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { type ArtefactName, klutchVersion } from "@klutch/api";
import { resolveEngine } from "@klutch/engines";
import { conditionsOf, deployments, type DynamicObject, isTrue, type ResourceType } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { openNodeNetwork, startNodeCluster, startNodeRegistry, whyUnfit } from "@klutch/nodes";
import { pushLayout } from "@klutch/oci";
import { installCrossplane } from "./crossplane.ts";
import { openHelm } from "./helm.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../../..");
const released = { images: ["konnector"], packages: ["function-klutch", "provider-anynines"] } as const;
const options = { skip: (await whyUnfit()) ?? false };

test(
  "Crossplane runs the released packages, and the released konnector is Ready, all in Pods",
  options,
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "klutch-install-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await using network = await openNodeNetwork();
    await using registry = await startNodeRegistry(network);
    const registries = { [registry.host]: registry.url, "registry.klutch.example": registry.url };
    const [, opened] = await Promise.all([
      release(folder, registry.url),
      startNodeCluster({ name: "install", network, registries }),
    ]);
    await using cluster = opened;
    const { client } = cluster;
    const kubeconfig = join(folder, "kubeconfig");
    await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
    await installCrossplane(await openHelm(kubeconfig, folder), registry, folder);

    const kubectl = await resolveEngine("kubectl");
    await run(kubectl, ["--kubeconfig", kubeconfig, "apply", "-f", join(root, "deploy/konnector.yaml")]);
    for (const [type, name] of [
      [functions, "function-klutch"],
      [providers, "provider-anynines"],
    ] as const) {
      const spec = { package: `${registry.host}/klutch/${name}:${klutchVersion}` };
      await client.create<DynamicObject>(type, {
        apiVersion: "pkg.crossplane.io/v1",
        kind: type.kind,
        metadata: { name },
        spec,
      });
    }
    for (const [type, name] of [
      [functions, "function-klutch"],
      [providers, "provider-anynines"],
    ] as const)
      await untilTrue(() => client.get<DynamicObject>(type, { name }), `${name} to be Healthy`, "Healthy");
    const konnector = { namespace: "klutch-bind", name: "konnector" };
    await untilTrue(() => client.get<DynamicObject>(deployments, konnector), "the konnector", "Available");
  },
);

const packageType = (kind: string, plural: string): ResourceType => ({
  group: "pkg.crossplane.io",
  version: "v1",
  plural,
  kind,
  namespaced: false,
});
const functions = packageType("Function", "functions");
const providers = packageType("Provider", "providers");

async function untilTrue(read: () => Promise<DynamicObject>, what: string, type: string): Promise<void> {
  await waitFor(
    what,
    async () => {
      const conditions = conditionsOf(await read());
      assert.ok(isTrue(conditions, type), JSON.stringify(conditions));
      return true;
    },
    { timeoutMs: 120_000 },
  );
}

/** Builds the images as people do, and pushes them under the path of the release. */
async function release(folder: string, registry: string): Promise<void> {
  const names: readonly ArtefactName[] = [...released.images, ...released.packages];
  const architecture = process.arch === "arm64" ? "arm64" : "amd64";
  const args = [
    `--out=${folder}`,
    `--architecture=${architecture}`,
    ...names.map((name) => `--image=${name}`),
  ];
  await run(process.execPath, [join(root, "tools/release/main.ts"), ...args]);
  for (const [kind, each] of Object.entries(released))
    for (const name of each)
      await pushLayout(join(folder, kind, name), { registry, repository: `klutch/${name}` });
}
