/** The broker of the bundle for trying Klutch out, in a Pod of the control plane. */
import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { runtimeUser } from "@klutch/api";
import { deployments } from "@klutch/kube-core";
import type { NodeCluster } from "@klutch/nodes";
import { applyAll, readManifests, waitForConditions } from "../objects.ts";

/** Name of all objects of the broker's bundle. */
const name = "klutch-broker";
const metadata = { name, namespace: "klutch-backend" };

/** URL of the broker for Pods of the control plane. */
export const brokerUrl: string = `http://${name}.${metadata.namespace}`;

/** Installs it from the release's bundles, and waits until it is ready. Its namespace must be there. */
export async function installBroker(
  { client, folder }: NodeCluster,
  bundles: string,
  credentials: Readonly<Record<"username" | "password" | "secret-key", string>>,
): Promise<void> {
  const data = join(folder, name);
  await mkdir(data);
  await chown(data, runtimeUser, runtimeUser);
  const bundle = await readManifests(join(bundles, "install-dev.yaml"));
  await applyAll(client, [
    { apiVersion: "v1", kind: "Secret", metadata, stringData: { ...credentials } },
    // Nothing makes volumes on a node like ours, so here is the one that the claim asks for.
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name },
      spec: {
        capacity: { storage: "10Gi" },
        accessModes: ["ReadWriteOnce"],
        claimRef: metadata,
        hostPath: { path: data, type: "Directory" },
      },
    },
    ...bundle.filter((object) => object.metadata.name?.startsWith(name)),
  ]);
  await waitForConditions(client, deployments, metadata, ["Available"]);
}
