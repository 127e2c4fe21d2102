/** Dex as identity provider, with a developer and a colleague without rights: a process, or a Pod of the control plane. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { KeyPair } from "@klutch/certificates";
import { dexConfig, dexIssuer, dexPassword, resolveEngine } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import { deployments } from "@klutch/kube-core";
import { namespaceObject, secretObject } from "@klutch/kube-testing";
import type { NodeCluster } from "@klutch/nodes";
import type { SandboxBase } from "../context.ts";
import { applyAll, shippedManifests, waitForConditions } from "../objects.ts";
import { keepProcess } from "../supervise.ts";

/** The sandbox's user, who may bind every API. The password guards nothing but this machine's loopback. */
export const sandboxUser: { readonly email: string; readonly password: string } = {
  email: "developer@example.com",
  password: dexPassword,
};
/** Another person, who may bind nothing until an operator says so. The password is the same. */
export const sandboxColleague = "colleague@example.com";
const userID = "a3c9f5e2-0f0b-4c43-9f62-0c1f3b3f7d10";

/** The backend's way to log people in. */
export interface IdentityProviderAccess {
  /** The issuer. */
  readonly url: string;
  readonly clientSecret: string;
}

/** Client id of the backend. */
export const oidcClientId = "klutch-backend";

/** Returns Dex's configuration, with the sandbox's user and the backend as its client. `web`: its listen options, in Dex' own words. */
function configText(issuer: string, web: object, secret: string, backendUrl: string): string {
  const client = { id: oidcClientId, secret, callbackUrl: `${backendUrl}/callback` };
  const people = [
    { email: sandboxUser.email, username: "developer", userID },
    { email: sandboxColleague, username: "colleague", userID: "5b0c2a34-7a41-4a38-8d7e-6f1f0f7f2c11" },
  ];
  return formatYaml(dexConfig(issuer, web, { client, people }));
}

/** Starts Dex, and returns its issuer with the backend's secret there. */
export async function startDex(context: SandboxBase): Promise<IdentityProviderAccess> {
  const { ports, secrets, folder } = context.state;
  const file = join(folder, "dex", "config.yaml");
  const issuer = dexIssuer(ports.dex);
  const backendUrl = `http://127.0.0.1:${ports.backend}`;
  const web = { http: `127.0.0.1:${ports.dex}` };
  const config = configText(issuer, web, secrets.oidcClientSecret, backendUrl);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, config, { mode: 0o600 });
  await keepProcess(context, {
    name: "dex",
    command: await resolveEngine("dex"),
    args: ["serve", file],
    logFile: join(folder, "dex", "dex.log"),
    ready: `${issuer}/.well-known/openid-configuration`,
  });
  return { url: issuer, clientSecret: secrets.oidcClientSecret };
}

/** Starts Dex in a Pod, reached at its node, and returns its issuer. */
export async function startDexPod(
  { client, node }: NodeCluster,
  image: string,
  certificate: KeyPair,
  clientSecret: string,
  backendUrl: string,
): Promise<string> {
  const [name, port] = ["dex", 5556];
  const issuer = `https://${node.address}:${port}/dex`;
  const web = { https: `0.0.0.0:${port}`, tlsCert: "/etc/dex/tls.crt", tlsKey: "/etc/dex/tls.key" };
  const files = {
    "config.yaml": configText(issuer, web, clientSecret, backendUrl),
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
