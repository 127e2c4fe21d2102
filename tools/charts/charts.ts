/** Prints everything of the charts that follows from the source; the other templates are written by hand beside it. */
import {
  apiLimit,
  apiServiceBindingCrd,
  claimMarks,
  bindCrds,
  consumerNamespace,
  crossingSecretTypes,
  klutchVersion,
  konnectorManifests,
  konnectorPolicyOf,
  type Registry,
  releaseRegistry,
} from "@klutch/api";
import { backendProgram } from "@klutch/backend";
import { konnectorProgram } from "@klutch/konnector";
import { formatYaml } from "@klutch/kube";
import { recordAt, recordsAt, textAt } from "@klutch/kube-core";
import type { ProgramDescription } from "@klutch/program";
import type { CustomResourceDefinition } from "@klutch/schema";
import { exportTemplatesOf, generations } from "@klutch/services";
import {
  backendDeployment,
  backendName,
  backendRbac,
  consoleRbac,
  controlPlaneModeRbac,
} from "../generate/backend-manifests.ts";
import { chartRules } from "../alerts/print.ts";
import { dashboardFiles } from "../dashboards/print.ts";
import { documentsIn } from "../generate/manifests.ts";
import { filled, headOf } from "../generate/page.ts";
import { type ChartDefinition, chartsFolder, chartVersion, released } from "./chart.ts";
import { baseTemplate, chartPage, flagsTemplate, valuesSchema, valuesYaml, verbatim } from "./print.ts";
import { readValues, type ValueTable } from "./values.ts";

/** Returns both charts, with images and packages out of `registry`. */
export function chartDefinitions(registry: Registry = releaseRegistry): readonly ChartDefinition[] {
  return [controlPlaneChart(registry), appClusterChart(registry)];
}

/** Returns the printed files: path relative to the repository root → content. */
export function chartFiles(): ReadonlyMap<string, string> {
  const files = chartDefinitions().flatMap((chart) =>
    Object.entries(printedFiles(chart)).map(
      ([path, content]) => [`${chartsFolder}/${chart.name}/${path}`, content] as const,
    ),
  );
  return new Map(files);
}

/** Returns the printed files of a chart, by their paths in it. */
export function printedFiles(chart: ChartDefinition): Readonly<Record<string, string>> {
  const { name, description, namespace, values, templates } = chart;
  const about = { NAME: name, ABOUT: description, VERSION: chartVersion, APP_VERSION: klutchVersion };
  const all = {
    "Chart.yaml": documentsIn("tools/charts/chart.yaml", about).map(formatYaml).join(""),
    "values.yaml": valuesYaml(values),
    "values.schema.json": valuesSchema(values, `Values of the chart ${name}`),
    "README.md": chartPage(chart),
    "templates/_shared.tpl": [
      filled("tools/charts/shared.tpl", { CHART: name, NAMESPACE: namespace }),
      `\n{{/* Groups of alerts. */}}\n{{- define "${name}.alerts" -}}\n${chartRules(name)}{{- end }}\n`,
    ].join(""),
    ...dashboardFiles(name),
    "templates/_flags.tpl": flagsTemplate(`${name}.flags`, values),
    ...templates,
  };
  return Object.fromEntries(Object.entries(all).map(([path, text]) => [path, `${headOf(path)}${text}`]));
}

/** `helm show crds` puts nothing between files. */
function kind(crd: CustomResourceDefinition): string {
  return `---\n${formatYaml(released(crd))}`;
}

/** Returns the values of a chart; what Pods ask for, and how they are spread, is as in the Deployment. */
function valuesOf(
  chart: Omit<ChartDefinition, "description" | "values" | "templates">,
  image: string,
  program: ProgramDescription,
  deployment: unknown,
): ValueTable {
  const pod = recordAt(deployment, "spec", "template", "spec");
  const [container] = recordsAt(pod, "containers");
  const spread = recordsAt(pod, "topologySpreadConstraints").map((constraint) => {
    const { labelSelector: _, ...rest } = constraint;
    return rest;
  });
  return readValues(chart.name, program, {
    IMAGE: image,
    REGISTRY: chart.registry,
    NAMESPACE: chart.namespace,
    RESOURCES: JSON.stringify(container?.["resources"]),
    SPREAD: JSON.stringify(spread),
  });
}

function controlPlaneChart(registry: Registry): ChartDefinition {
  const [, ...rbac] = backendRbac();
  const kinds = Object.fromEntries(bindCrds.map((crd) => [crd.metadata.name, storedVersion(crd)]));
  const deployment = backendDeployment({ image: "", args: [], env: [] });
  const chart = { name: "klutch", namespace: backendName, registry } as const;
  return {
    ...chart,
    description: "The control plane of Klutch: login, binding page and controllers for app clusters",
    values: valuesOf(chart, "backend", backendProgram, deployment),
    templates: {
      "templates/rbac.yaml": [
        verbatim(rbac),
        "{{- if .Values.controlPlaneMode }}\n---\n",
        verbatim(controlPlaneModeRbac()),
        "{{- end }}\n{{- if .Values.console.assets }}\n---\n",
        verbatim(consoleRbac()),
        "{{- end }}\n",
      ].join(""),
      "templates/_deployment.tpl": baseTemplate("klutch.deployment", deployment),
      "templates/_kinds.tpl": [
        baseTemplate("klutch.kinds", kinds),
        baseTemplate("klutch.shippedApis", shippedApis()),
      ].join("\n"),
      "crds/kinds.yaml": bindCrds.map(kind).join(""),
    },
  };
}

/** Returns the kinds of the shipped templates: resources by API group. */
function shippedApis(): Readonly<Record<string, readonly string[]>> {
  const apis = generations.flatMap(exportTemplatesOf).map(({ spec }) => spec.APIServiceSelector);
  const groups = Map.groupBy(apis, ({ group = "" }) => group);
  return Object.fromEntries(
    [...groups].map(([group, found]) => [
      group,
      [...new Set(found.map(({ resource }) => resource))].toSorted(),
    ]),
  );
}

/** The version that the release's programs ask for. */
function storedVersion({ metadata, spec }: CustomResourceDefinition): string {
  const version = recordsAt(spec, "versions").find(({ storage }) => storage === true);
  const name = textAt(version, "name");
  if (name === undefined) throw new Error(`${metadata.name} stores no version`);
  return name;
}

function appClusterChart(registry: Registry): ChartDefinition {
  const [, ...rest] = konnectorManifests({ image: "" });
  const rbac = rest.filter(({ kind }) => kind !== "Deployment");
  const deployment = rest.find(({ kind }) => kind === "Deployment") ?? {};
  const chart = { name: "klutch-konnector", namespace: consumerNamespace, registry } as const;
  // The policy with placeholders for its allowed kinds, which follow from the bindings.
  const policy = konnectorPolicyOf({
    apis: "%APIS%",
    claims: "%CLAIMS%",
    secretTypes: "%TYPES%",
    groups: "%GROUPS%",
    except: "%EXCEPT%",
    updates: "%UPDATES%",
  });
  return {
    ...chart,
    description:
      "The agent of an app cluster, for clusters that are set up from files instead of by kubectl bind",
    values: valuesOf(chart, "konnector", konnectorProgram, deployment),
    templates: {
      "crds/apiservicebindings.yaml": kind(apiServiceBindingCrd),
      "templates/rbac.yaml": verbatim(rbac),
      "templates/_deployment.tpl": baseTemplate("klutch-konnector.deployment", deployment),
      "templates/_policy.tpl": [
        baseTemplate("klutch-konnector.policy", policy),
        baseTemplate("klutch-konnector.secretTypes", crossingSecretTypes),
        baseTemplate("klutch-konnector.claimMarks", claimMarks.templateOf("%API%", "%RESOURCE%", "%GROUP%")),
        baseTemplate("klutch-konnector.apiLimit", apiLimit.templateOf("%API%", "%RESOURCE%", "%GROUP%")),
      ].join("\n"),
    },
  };
}
