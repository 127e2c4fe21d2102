/** `klutch status`: whether all is well in the cluster at hand, app cluster or control plane, else the problems and the next command. */
import {
  apiServiceBindings,
  apiServiceExports,
  type APIServiceExportTemplate,
  apiServiceExportTemplates,
  appClusterBindings,
  appClusters,
  clusterBindings,
  clusterProviderConfigs,
  namespacedProviderConfigs,
  providerConfigs,
  regionLabel,
  revokedAnnotation,
  serviceTypeLabel,
  type Tenant,
  tenants,
} from "@klutch/api";
import type { KubeClient } from "@klutch/kube";
import { conditionsOf, type DynamicObject, type ResourceType } from "@klutch/kube-core";
import { clusterAdvice, offerAdvice, problemsOf, problemText } from "@klutch/overview";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { type Finding, note, ok, problem, type Section } from "../doctor/diagnosis.ts";
import { diagnosisOf } from "../doctor/doctor.ts";
import { CliError } from "../errors.ts";
import { counted } from "../findings.ts";
import type { ControlPlane } from "../service/control-plane.ts";
import { listed } from "../tenants/read.ts";
import { serves } from "./lists.ts";
import { clusterRows, offerRows } from "./rows.ts";
import type { Row } from "./table.ts";

/** Reads the sections of the cluster at hand. A cluster that is both has those of both. */
export async function statusSections(context: CliContext, consumer: Consumer): Promise<readonly Section[]> {
  const { signal } = context;
  const { client } = consumer;
  const isControlPlane = await serves(client, clusterBindings, signal);
  const isAppCluster = await serves(client, apiServiceBindings, signal);
  if (!isControlPlane && !isAppCluster)
    throw new CliError(
      "Usage",
      `Klutch is not in this cluster (${consumer.place}). To use a platform's APIs here: kubectl bind <url>. Another cluster: --context.`,
    );
  const nothing = { [Symbol.asyncDispose]: () => Promise.resolve() };
  const upper = isControlPlane
    ? await controlPlaneSections(context, { side: "control plane", client, ...nothing })
    : [];
  const isOnlyAbove = isControlPlane && (!isAppCluster || (await isEmpty(client, signal)));
  return isOnlyAbove ? upper : [...upper, ...(await diagnosisOf(context, consumer))];
}

async function isEmpty(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  return (await client.list(apiServiceBindings, { limit: 1, signal })).items.length === 0;
}

async function controlPlaneSections(context: CliContext, cluster: ControlPlane): Promise<readonly Section[]> {
  const [bindings, owners, templates, exports, declared, ours] = await Promise.all([
    listed<DynamicObject>(context, cluster, clusterBindings),
    listed<Tenant>(context, cluster, tenants),
    listed<APIServiceExportTemplate>(context, cluster, apiServiceExportTemplates),
    listed<DynamicObject>(context, cluster, apiServiceExports),
    listed<DynamicObject>(context, cluster, appClusters),
    listed<DynamicObject>(context, cluster, appClusterBindings),
  ]);
  const kinds = [providerConfigs, namespacedProviderConfigs, clusterProviderConfigs];
  const configs = await Promise.all(kinds.map((type) => listed<DynamicObject>(context, cluster, type)));
  const living = exports.filter(({ metadata }) => metadata.annotations?.[revokedAnnotation] === undefined);
  return [
    ofRows(
      "App clusters",
      "app cluster",
      clusterRows(bindings, owners, context.clock.now()),
      "tenant",
      ({ fields }) => clusterAdvice({ problem: String(fields["problem"]), tenant: String(fields["tenant"]) }),
    ),
    ofRows("Offers", "offer", offerRows(templates), "api", ({ fields }) =>
      offerAdvice(String(fields["template"])),
    ),
    ofObjects("Exports", "export", living, apiServiceExports, ({ type }) => type === "ProviderInSync"),
    ofObjects("App clusters that bind by themselves", "AppCluster", declared, appClusters),
    ofObjects("App clusters with a konnector here", "AppClusterBinding", ours, appClusterBindings),
    ofObjects(
      "Backends",
      "ProviderConfig",
      configs.flat(),
      providerConfigs,
      ({ type }) => type === "Healthy",
    ),
  ];
}

function ofRows(
  title: string,
  what: string,
  rows: readonly Row[],
  name: string,
  advice: (row: Row) => string,
): Section {
  const bad = rows.filter(({ isWell }) => !isWell);
  const findings = bad.map((row): Finding => {
    const { [name]: named = "", cluster = "", problem: text = "" } = row.fields;
    const who = cluster === "" ? String(named) : `${named} (${cluster})`;
    return text === ""
      ? note(`${who}: nothing has reported on it yet`, advice(row))
      : problem(`${who}: ${text}`, advice(row));
  });
  return section(title, what, rows.length, findings);
}

function ofObjects(
  title: string,
  what: string,
  objects: readonly DynamicObject[],
  { plural, group }: ResourceType,
  counts: (condition: { readonly type: string }) => boolean = () => true,
): Section {
  const findings = objects.flatMap((object) => {
    const { namespace, name = "" } = object.metadata;
    const flag = namespace === undefined ? "" : ` -n ${namespace}`;
    // The three kinds of ProviderConfigs stand in one section.
    const [kindGroup = group] = object.apiVersion.split("/");
    const resource =
      kindGroup === group ? `${plural}.${group}` : `${object.kind.toLowerCase()}s.${kindGroup}`;
    const next = `kubectl describe ${resource} ${name}${flag}`;
    return problemsOf(conditionsOf(object))
      .filter(counts)
      .map((found) =>
        problem(
          `${namespace === undefined ? "" : `${namespace}/`}${name}${placeOf(object)}: ${problemText(found)}`,
          next,
        ),
      );
  });
  return section(title, what, objects.length, findings);
}

/** Returns the service and the region of a broker, if its ProviderConfig names a region. */
function placeOf({ metadata: { labels } }: DynamicObject): string {
  const { [serviceTypeLabel]: type = "", [regionLabel]: region = "" } = labels ?? {};
  return region === "" ? "" : ` (${[type, region].filter((word) => word !== "").join(" in ")})`;
}

/** Most findings of a section on one screen. */
const mostShown = 10;

function section(title: string, what: string, count: number, findings: readonly Finding[]): Section {
  const wells = count === 0 ? "None." : `${counted(count, what)}, all well.`;
  if (findings.length === 0) return { title, findings: [ok(wells)] };
  const more = findings.length - mostShown;
  const rest = more > 0 ? [problem(`${more} more`, "klutch clusters and klutch offers list all")] : [];
  return { title, findings: [...findings.slice(0, mostShown), ...rest] };
}

/** Returns the sections as one screen: a line for a section that is well, and whatever is not. */
export function shortened(sections: readonly Section[]): readonly Section[] {
  return sections.map(({ title, findings }) => {
    const bad = findings.filter(({ level }) => level !== "ok");
    const [first] = findings;
    return {
      title,
      findings: bad.length > 0 || first === undefined ? bad : [summary(findings.length, first)],
    };
  });
}

function summary(count: number, first: Finding): Finding {
  return count === 1 ? first : ok(`${counted(count, "check")}, all well.`);
}
