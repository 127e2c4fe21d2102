/** What is printed when the sandbox is up. */
import { sandboxUser } from "./services/dex.ts";
import type { CliFiles } from "./cli-files.ts";
import type { SandboxContext } from "./context.ts";

export function report(context: SandboxContext, cli: CliFiles, backendUrl: string, issuer: string): string {
  const { state, clusters } = context;
  const { controlPlane, appA, appB } = cli.kubeconfigs;
  return `
Klutch is up.

  binding page         ${backendUrl}/export   (user ${sandboxUser.email}, password ${sandboxUser.password})
  identity provider    ${issuer}
  control plane        ${clusters.controlPlane.url}   ${controlPlane}
  app cluster A        ${clusters.appA.url}   ${appA}
  app cluster B        ${clusters.appB.url}   ${appB}
  logs and data        ${state.folder}

Try next, in another terminal:

  export PATH="${cli.bin}:$PATH"
  export KUBECONFIG="${appB}"
  kubectl bind ${backendUrl}/export             # log in, choose postgresqlinstances
  kubectl get apiservicebindings -n klutch-bind
  kubectl apply -f ${state.folder}/namespace.yaml -f ${state.folder}/postgresql-instance.yaml
  kubectl get postgresqlinstances -n demo --watch
  KUBECONFIG="${controlPlane}" kubectl get managed

Ctrl-C ends every process; the next start takes up where this one ended.
`;
}
