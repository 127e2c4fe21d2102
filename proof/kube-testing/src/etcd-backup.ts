/** Backs up a cluster's etcd and restores it, as an operator does whose control plane is lost. Its servers are away meanwhile. */
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { KubeClient } from "@klutch/kube";
import { configMaps } from "@klutch/kube-core";
import type { OwnCluster } from "./cluster.ts";
import { objectOfType } from "./objects.ts";

/** Copies etcd's data aside. */
export function backUpEtcd(cluster: OwnCluster): Promise<void> {
  return whileStopped(cluster, (data, backup) => cp(data, backup, { recursive: true }));
}

/** Puts the copy of `backUpEtcd` in the place of etcd's data. */
export function restoreEtcd(cluster: OwnCluster): Promise<void> {
  return whileStopped(cluster, async (data, backup) => {
    await rm(data, { recursive: true });
    await cp(backup, data, { recursive: true });
  });
}

/** Makes `count` writes, after which the versions of a backup are behind, as those of an old one are. Once for a cluster. */
export async function outrunBackup(client: KubeClient, count: number): Promise<void> {
  const ref = { namespace: "default", name: "much" };
  await client.create(configMaps, objectOfType(configMaps, ref, { data: {} }));
  for (let number = 0; number < count; number++)
    await client.mergePatch(configMaps, ref, { data: { number: String(number) } });
}

async function whileStopped(
  cluster: OwnCluster,
  work: (data: string, backup: string) => Promise<void>,
): Promise<void> {
  await cluster.kill("apiserver");
  await cluster.kill("etcd");
  await work(join(cluster.dataDir, "etcd"), join(cluster.dataDir, "backup"));
  await cluster.restart("etcd");
  await cluster.restart("apiserver");
}
