/** Prints the page of a chart, which says how it is installed, what stays, and all its values. */
import { releaseRegistry } from "@klutch/api";
import { type ChartDefinition, chartVersion } from "./chart.ts";
import { filled } from "./print-templates.ts";
import { valueRows } from "./print-values.ts";

/** Returns the Markdown of the file in this folder that has the chart's name. */
export function chartPage(chart: Omit<ChartDefinition, "templates">): string {
  const { name, description, namespace, registry, values } = chart;
  const source = `oci://${registry}/charts/${name} --version ${chartVersion}`;
  const isReserved = registry === releaseRegistry;
  const hint = ` \`${registry}\` is a name that nobody serves: put your registry in its place.`;
  return filled(`${name}.md`, {
    ABOUT: `${description}.${isReserved ? hint : ""}`,
    SOURCE: source,
    INSTALL: `helm upgrade --install ${name} ${source} \\
      --namespace ${namespace} --create-namespace --values values.yaml`,
    VALUES: valueRows(values).join("\n"),
  });
}
