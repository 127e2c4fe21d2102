/** Prints the generated files of the repository from their sources. */
import {
  artefact,
  bindCrds,
  configurationMeta,
  functionMeta,
  klutchVersion,
  konnectorManifests,
  namespacedConfigurationMeta,
  providerCrds,
  providerMeta,
  releaseRegistry,
} from "@klutch/api";
import { allEngineNames, engineDefinition, keycloakVersion, kubernetesVersions } from "@klutch/engines";
import { formatYaml } from "@klutch/kube";
import {
  argoHealth,
  compositionsOf,
  exampleFilesOf,
  exportTemplatesOf,
  fluxHealth,
  generations,
  legacy,
  pageOf,
  services,
  xrdsOf,
} from "@klutch/services";
import { chartFiles } from "../charts/charts.ts";
import { backendRbac, consoleRbac, controlPlaneModeRbac } from "./backend-manifests.ts";
import { flagsPage } from "./flags-page.ts";
import { kindsPage } from "./kinds-page.ts";
import { metricsPage } from "./metrics-page.ts";
import { monitoringPage } from "./monitoring-page.ts";
import { filled, headOf } from "./page.ts";
import { providerKubernetesConfigs } from "./provider-kubernetes.ts";
import { triedKubernetes } from "../test/long-parts.ts";

/** Returns the generated files that git keeps, by path: those that people apply, install or read from a checkout. */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([...printedFiles()].filter(([path]) => isKept(path)));
}

/** Keeps those manifests of services that are applied from a checkout: templates, and the examples of PostgreSQL at a broker. Packages bring the others. */
function isKept(path: string): boolean {
  return (
    !path.startsWith("configuration/") ||
    /^configuration\/(?:namespaced\/)?templates\//.test(path) ||
    /^configuration\/examples\/postgresql-(?!a8s-)/.test(path)
  );
}

/** Returns every file that a source of the repository prints, by path. */
export function printedFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const addText = (path: string, text: string): unknown => files.set(path, headOf(path) + text);
  const add = (path: string, documents: readonly unknown[]): unknown =>
    addText(path, documents.map(formatYaml).join("---\n"));
  for (const crd of [...bindCrds, ...providerCrds]) add(`deploy/crds/${crd.metadata.name}.yaml`, [crd]);
  for (const generation of generations) {
    const folder = generation === legacy ? "configuration" : "configuration/namespaced";
    for (const xrd of xrdsOf(generation)) add(`${folder}/apis/${xrd.metadata.name}.yaml`, [xrd]);
    for (const composition of compositionsOf(generation))
      add(`${folder}/compositions/${composition.metadata.name}.yaml`, [composition]);
    for (const template of exportTemplatesOf(generation))
      add(`${folder}/templates/${template.metadata.name}.yaml`, [template]);
    for (const { name, comment, manifest } of exampleFilesOf(generation)) {
      const lines = comment.map((line) => `# ${line}\n`).join("");
      addText(`${folder}/examples/${name}.yaml`, lines + formatYaml(manifest));
    }
  }
  add("configuration/packages/configuration.yaml", [configurationMeta(releaseRegistry)]);
  add("configuration/packages/configuration-namespaced.yaml", [namespacedConfigurationMeta(releaseRegistry)]);
  add("configuration/packages/function.yaml", [functionMeta]);
  add("configuration/packages/provider.yaml", [providerMeta]);
  for (const service of services()) addText(`docs/services/${service.type}.md`, pageOf(legacy, service));
  add("deploy/konnector.yaml", konnectorManifests({ image: artefact("konnector") }));
  add("deploy/backend-rbac.yaml", backendRbac(artefact("konnector")));
  add("deploy/control-plane-mode.yaml", controlPlaneModeRbac());
  add("deploy/console.yaml", consoleRbac());
  add("deploy/provider-kubernetes-configs.yaml", providerKubernetesConfigs());
  add("deploy/gitops/argocd-health.yaml", [argoHealth()]);
  add("deploy/gitops/flux-health.yaml", [fluxHealth()]);
  for (const [path, content] of chartFiles()) files.set(path, content);
  addText("docs/reference/kinds.md", kindsPage());
  addText("docs/reference/flags.md", flagsPage());
  addText("docs/reference/metrics.md", metricsPage());
  addText("docs/monitoring.md", monitoringPage());
  addText("docs/support.md", filled("tools/generate/support.md", triedVersions()));
  return files;
}

/** Returns the versions that tests really run with, from the pins that they are obtained by. */
function triedVersions(): Readonly<Record<string, string>> {
  const engines = allEngineNames.map((name) => [name, engineDefinition(name).version] as const);
  const [oldest = ""] = /\d+\.\d+/.exec(kubernetesVersions.at(-1) ?? "") ?? [];
  const words = { kubernetes: kubernetesWords(), "oldest-kubernetes": oldest };
  return { ...Object.fromEntries(engines), ...words, keycloak: keycloakVersion, klutch: klutchVersion };
}

/** Lists the versions of Kubernetes that were tried on both sides, then the pairs. */
function kubernetesWords(): string {
  const tried = triedKubernetes();
  const versions = tried.filter(({ length }) => length === 1).flat();
  const pairs = tried
    .filter(({ length }) => length > 1)
    .map((pair) => `of ${pair.join(" with app clusters of ")}`);
  const list = (words: readonly string[]): string =>
    new Intl.ListFormat("en", { type: "conjunction" }).format(words);
  const byMinor = new Intl.Collator("en", { numeric: true });
  return `${list(versions.toSorted((left, right) => byMinor.compare(right, left)))}; a control plane ${list(pairs)}`;
}
