/** The backend of the control plane, with the rights of its shipped manifest. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { KubeClient } from "@klutch/kube";
import { type Generation, legacy } from "@klutch/services";
import { accountKubeconfig } from "../accounts.ts";
import { appProcess } from "../node-process.ts";
import { applyAll, readManifests } from "../objects.ts";
import { keepProcess } from "../supervise.ts";
import type { SandboxContext } from "../context.ts";
import { oidcClientId } from "./dex.ts";

const repository = join(import.meta.dirname, "..", "..", "..", "..");

/** Installs what the control plane needs of Klutch, and starts the backend; gives back its URL. */
export async function startBackend(context: SandboxContext, issuer: string): Promise<string> {
  const { state, clusters } = context;
  const { client } = clusters.controlPlane;
  const crds = (await readManifests(join(repository, "deploy", "crds"))).filter(
    ({ metadata }) => metadata.name?.endsWith("klutch.anynines.com") === true,
  );
  await applyAll(client, [
    ...crds,
    ...(await readManifests(join(repository, "deploy", "backend-rbac.yaml"))),
  ]);
  const folder = join(state.folder, "backend");
  await mkdir(folder, { recursive: true });
  const account = { namespace: "klutch-backend", name: "klutch-backend" };
  const kubeconfig = await accountKubeconfig(clusters.controlPlane, account, folder, context);
  const { backend, backendProbe } = state.ports;
  const url = `http://127.0.0.1:${backend}`;
  await keepProcess(
    context,
    appProcess("backend", {
      args: [
        `--listen-address=127.0.0.1:${backend}`,
        `--probe-port=${backendProbe}`,
        "--pretty-name=Klutch Sandbox",
        `--oidc-issuer-url=${issuer}`,
        `--oidc-issuer-client-id=${oidcClientId}`,
        `--oidc-callback-url=${url}/callback`,
        `--oidc-authorize-url=${url}/authorize`,
        `--external-address=${clusters.controlPlane.url}`,
      ],
      env: {
        KUBECONFIG: kubeconfig,
        OIDC_CLIENT_SECRET: state.secrets.oidcClientSecret,
        COOKIE_SIGNING_KEY: state.secrets.cookieKey,
      },
      logFile: join(folder, "backend.log"),
      ready: async () => (await fetch(`http://127.0.0.1:${backendProbe}/readyz`)).ok,
    }),
  );
  return url;
}

/** Offers our claims to app clusters. */
export async function offerApis(client: KubeClient, generations: readonly Generation[]): Promise<void> {
  for (const generation of generations) {
    const folder = generation === legacy ? [] : ["namespaced"];
    await applyAll(client, await readManifests(join(repository, "configuration", ...folder, "templates")));
  }
}
