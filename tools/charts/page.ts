/** The page of a chart: how it is installed, what stays, and all its values. */
import { releaseRegistry } from "@klutch/api";
import { type ChartDefinition, chartVersion } from "./chart.ts";
import { valueRows } from "./print-values.ts";

/** Markdown. */
export function chartPage(
  chart: Pick<ChartDefinition, "name" | "description" | "namespace" | "registry" | "values">,
): string {
  const { name, description, namespace, registry, values } = chart;
  const source = `oci://${registry}/charts/${name}`;
  const install = `helm upgrade --install ${name} ${source} --version ${chartVersion} \\
      --namespace ${namespace} --create-namespace --values values.yaml`;
  return [
    `# Chart ${name}`,
    "",
    registry === releaseRegistry
      ? `${description}. \`${registry}\` is a name that nobody serves: put your registry in its place.`
      : `${description}.`,
    "",
    ...words[name](install, source),
    "",
    "## Values",
    "",
    ...valueRows(values),
    "",
  ].join("\n");
}

const words: Readonly<
  Record<ChartDefinition["name"], (install: string, source: string) => readonly string[]>
> = {
  klutch: (install, source) => [
    "## Install",
    "Secrets are yours: no value of the chart holds one, so none is in a release of Helm or in Git.",
    "",
    "    kubectl create namespace klutch-backend",
    "    kubectl -n klutch-backend create secret generic klutch-oidc --from-literal=client-secret=<from your identity provider>",
    "    kubectl -n klutch-backend create secret generic klutch-cookies \\",
    '      --from-literal=signing-key="$(openssl rand -base64 32)" --from-literal=encryption-key="$(openssl rand -base64 32)"',
    "",
    "    # values.yaml",
    "    oidc: {issuerUrl: https://login.example.org, clientId: klutch, secretName: klutch-oidc}",
    "    cookies: {secretName: klutch-cookies}",
    "    apiServer: {address: https://api.example.org:6443}",
    "    ingress: {enabled: true, host: klutch.example.org}",
    "    tls: {secretName: klutch-tls}",
    "",
    `    ${install}`,
    "",
    "The backend reads the client secret and the keys of cookies when it starts. The chart does not know them, so `helm upgrade` restarts nothing when they",
    "change, and you do: `kubectl -n klutch-backend rollout restart deployment klutch-backend`. A renewed certificate is taken without a restart. Changed",
    "authorities (`oidc.ca`, `apiServer.ca`) are values, with which `helm upgrade` replaces the Pods.",
    "",
    "## Kinds of others",
    "HTTPRoute, Certificate, ServiceMonitor and Crossplane's packages are made only when a value asks for them. The chart does not look whether the",
    "kind is there: the same values give the same objects on each cluster and in `helm template`, and what is missing is an error and not a gap.",
    "",
    "## Upgrade, back, remove",
    "Klutch's kinds are in the folder `crds`: Helm installs them where they are missing, and neither upgrades nor removes them. So they come first:",
    "",
    `    helm show crds ${source} --version ${chartVersion} | kubectl apply --server-side --force-conflicts -f -`,
    `    ${install}`,
    "",
    "Without the first line the second is refused while the kinds are of an older release (`crds.check`). `helm rollback` takes the backend back and",
    "leaves the kinds, which older backends understand. Argo CD and Flux (`crds: CreateReplace`) apply the folder by themselves.",
    "",
    "Crossplane's packages carry `helm.sh/resource-policy: keep`. So `helm uninstall` removes neither kinds nor packages, because with a kind all its",
    "objects go, and with a package all databases. Remove them by hand once nothing uses them.",
  ],
  "klutch-konnector": (install) => [
    "What it installs is what `kubectl bind` installs, object by object. A person can bind with the plugin afterwards.",
    "",
    "## Install",
    "",
    `    ${install}`,
    "",
    "## Bind from files",
    "`bindings` makes an APIServiceBinding for each API, and the rights for it. The kubeconfig of the provider is a Secret of yours in `klutch-bind`,",
    "for instance out of a `kubectl bind` elsewhere, kept by the tool that keeps your other Secrets.",
    "",
    "    # values.yaml",
    "    bindings:",
    "      - name: postgresqlinstances.anynines.com",
    "        secretName: kubeconfig-example",
    "        permissionClaims: []",
    "",
    "A binding that is taken out of the list stays with its rights, and so do all when the chart is removed, because an unbinding needs an agent that",
    "still runs: `klutch unbind <plural.group>` first. The admission policy behind the rights is written by `klutch doctor --fix`.",
    "",
    "## Upgrade",
    "The kind APIServiceBinding is in the folder `crds`, so that bindings can be in the same release. Helm installs it only where it is missing, and does",
    "not upgrade it; `kubectl apply --server-side -f crds` does.",
  ],
};
