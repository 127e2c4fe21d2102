/** The backend of the control plane, with the rights of its shipped manifest. */
import { peopleBindingObject } from "@klutch/kube-testing";
import { join } from "node:path";
import { bindAllName } from "@klutch/api";
import { buildConsole } from "@klutch/console";
import type { KubeClient } from "@klutch/kube";
import { type Generation, legacy } from "@klutch/services";
import { accountKubeconfig, type SandboxContext } from "../context.ts";
import { repository } from "../machine.ts";
import { applyAll, readManifests } from "../objects.ts";
import { keepApp } from "../supervise.ts";
import { type IdentityProviderAccess, oidcClientId, sandboxUser } from "./dex.ts";

/** Installs the kinds and rights that Klutch needs in the control plane, starts the backend, and returns its URL. */
export async function startBackend(context: SandboxContext, issuer: IdentityProviderAccess): Promise<string> {
  const { controlPlane } = context.clusters;
  const { ports, secrets } = context.state;
  const crds = (await readManifests(join(repository, "deploy", "crds"))).filter(
    ({ metadata }) => metadata.name?.endsWith("klutch.anynines.com") === true,
  );
  const files = ["backend-rbac.yaml", "console.yaml"];
  const rights = await Promise.all(files.map((file) => readManifests(join(repository, "deploy", file))));
  const mayBind = peopleBindingObject("bind-apis", bindAllName, [["User", `oidc:${sandboxUser.email}`]]);
  await applyAll(controlPlane.client, [...crds, ...rights.flat(), mayBind]);
  const folder = join(context.state.folder, "backend");
  const consoleAssets = join(folder, "console");
  await buildConsole(consoleAssets);
  const account = { namespace: "klutch-backend", name: "klutch-backend" };
  const url = `http://127.0.0.1:${ports.backend}`;
  await keepApp(context, "backend", {
    args: [
      `--listen-address=127.0.0.1:${ports.backend}`,
      `--probe-port=${ports.backendProbe}`,
      "--pretty-name=Klutch Sandbox",
      `--oidc-issuer-url=${issuer.url}`,
      `--oidc-issuer-client-id=${oidcClientId}`,
      `--oidc-callback-url=${url}/callback`,
      `--oidc-authorize-url=${url}/authorize`,
      "--oidc-username-claim=email",
      "--oidc-extra-scope=groups",
      `--console-assets=${consoleAssets}`,
      `--external-address=${controlPlane.url}`,
    ],
    env: {
      KUBECONFIG: await accountKubeconfig(controlPlane, account, folder),
      OIDC_CLIENT_SECRET: issuer.clientSecret,
      COOKIE_SIGNING_KEY: secrets.cookieKey,
    },
    logFile: join(folder, "backend.log"),
    ready: `http://127.0.0.1:${ports.backendProbe}/readyz`,
  });
  return url;
}

/** Offers our claims to app clusters. */
export async function offerApis(client: KubeClient, generations: readonly Generation[]): Promise<void> {
  for (const generation of generations) {
    const folder = generation === legacy ? "templates" : "namespaced/templates";
    await applyAll(client, await readManifests(join(repository, "configuration", folder)));
  }
}
