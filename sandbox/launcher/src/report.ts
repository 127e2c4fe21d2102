/** Words the report that the sandbox prints once it is up. */
import { sandboxUser } from "./services/dex.ts";
import type { CliFiles } from "./cli-files.ts";
import type { ClusterName } from "./context.ts";
import type { AdminCluster } from "./accounts.ts";

/** Addresses and paths of the sandbox. */
export interface Whereabouts {
  readonly folder: string;
  readonly clusters: Readonly<Record<ClusterName, AdminCluster>>;
  readonly cli: CliFiles;
  readonly backendUrl: string;
  readonly issuer: string;
  /** File with the authority of the backend's certificate; undefined when it has none. */
  readonly authorities?: string | undefined;
  /** Last sentence, which tells how the sandbox ends. */
  readonly next: string;
}

/** Returns the text. */
export function report(where: Whereabouts): string {
  const { folder, clusters, cli, backendUrl, authorities } = where;
  const { controlPlane, appA, appB } = cli.kubeconfigs;
  const trusted = authorities === undefined ? "" : `\n  export NODE_EXTRA_CA_CERTS="${authorities}"`;
  return `
Klutch is up.

  binding page         ${backendUrl}/export   (user ${sandboxUser.email}, password ${sandboxUser.password})
  identity provider    ${where.issuer}
  control plane        ${clusters.controlPlane.config.server}   ${controlPlane}
  app cluster A        ${clusters.appA.config.server}   ${appA}
  app cluster B        ${clusters.appB.config.server}   ${appB}
  logs and data        ${folder}

Try next, in another terminal:

  export PATH="${cli.bin}:$PATH"${trusted}
  export KUBECONFIG="${appB}"
  kubectl bind ${backendUrl}/export             # log in, choose postgresqlinstances
  kubectl get apiservicebindings -n klutch-bind
  kubectl apply -f ${folder}/namespace.yaml -f ${folder}/postgresql-instance.yaml
  kubectl get postgresqlinstances -n demo --watch
  KUBECONFIG="${controlPlane}" kubectl get managed

${where.next}
`;
}
