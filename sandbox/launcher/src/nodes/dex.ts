/** Dex in a Pod of the control plane, reached at its node. */
import { restrictedContainer } from "@klutch/api";
import type { KeyPair } from "@klutch/certificates";
import { formatYaml } from "@klutch/kube";
import { deployments } from "@klutch/kube-core";
import { namespaceObject, secretObject } from "@klutch/kube-testing";
import type { NodeCluster } from "@klutch/nodes";
import { applyAll, waitForConditions } from "../objects.ts";
import { dexConfig } from "../services/dex.ts";

const name = "dex";
const metadata = { name, namespace: name };
const labels = { app: name };
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
  const template = { metadata: { labels }, spec: podSpec(image) };
  // No load balancer is here: the node itself takes requests to its address.
  const service = { selector: labels, ports: [{ port }], externalIPs: [node.address] };
  await applyAll(client, [
    namespaceObject(name),
    secretObject(name, name, files),
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: { selector: { matchLabels: labels }, template },
    },
    { apiVersion: "v1", kind: "Service", metadata, spec: service },
  ]);
  await waitForConditions(client, deployments, metadata, ["Available"]);
  return issuer;
}

function podSpec(image: string): object {
  const path = "/dex/.well-known/openid-configuration";
  const container = {
    name,
    image,
    ports: [{ containerPort: port }],
    readinessProbe: { httpGet: { path, port, scheme: "HTTPS" }, periodSeconds: 1 },
    securityContext: restrictedContainer,
    volumeMounts: [{ name: "config", mountPath: "/etc/dex" }],
  };
  return {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [container],
    volumes: [{ name: "config", secret: { secretName: name } }],
  };
}
