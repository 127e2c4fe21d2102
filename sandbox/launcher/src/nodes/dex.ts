/** Dex in a Pod of the control plane, reached at its node. */
import type { KeyPair } from "@klutch/certificates";
import { formatYaml } from "@klutch/kube";
import { deployments } from "@klutch/kube-core";
import { namespaceObject, secretObject } from "@klutch/kube-testing";
import type { NodeCluster } from "@klutch/nodes";
import { applyAll, shippedManifests, waitForConditions } from "../objects.ts";
import { dexConfig } from "../services/dex.ts";

const name = "dex";
const port = 5556;

/** Options of Dex on nodes. */
export interface NodeDexOptions {
  readonly image: string;
  readonly certificate: KeyPair;
  readonly clientSecret: string;
  readonly backendUrl: string;
}

/** Starts it, and returns its issuer. */
export async function startDexPod(
  { client, node }: NodeCluster,
  { image, certificate, clientSecret, backendUrl }: NodeDexOptions,
): Promise<string> {
  const issuer = `https://${node.address}:${port}/dex`;
  const web = { https: `0.0.0.0:${port}`, tlsCert: "/etc/dex/tls.crt", tlsKey: "/etc/dex/tls.key" };
  const files = {
    "config.yaml": formatYaml(dexConfig({ issuer, web, clientSecret, backendUrl })),
    "tls.crt": certificate.certificate,
    "tls.key": certificate.key.reveal(),
  };
  await applyAll(client, [
    namespaceObject(name),
    secretObject(name, name, files),
    ...(await shippedManifests("dex", { IMAGE: image, ADDRESS: node.address })),
  ]);
  await waitForConditions(client, deployments, { name, namespace: name }, ["Available"]);
  return issuer;
}
