/** The page of documentation of a data service, as Markdown. */
import { formatYaml } from "@klutch/kube";
import { contractLines, type Rule } from "@klutch/schema";
import {
  backupConfigName,
  claimResource,
  type DataService,
  type Making,
  providerConfigName,
  serviceIn,
} from "./data-service.ts";
import type { Generation } from "./generation.ts";
import { examplesOf } from "./examples.ts";
import { offered } from "./plan-rules.ts";

const code = (text: string): string => `\`${text}\``;
const codes = (texts: readonly string[]): string => texts.map(code).join(", ");
const bullets = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join("\n");
const messageOf = ({ rule, message = rule }: Rule): string => message;

/**
 * Returns the page of a service: fields of its claim, how they may change, and the keys of its Secret. `examples` is the folder of its examples,
 * as the page links to it; by default the page shows them itself.
 */
export function pageOf(generation: Generation, of: DataService, examples?: string): string {
  const service = serviceIn(generation, of);
  const { title, about, hasBackups, kind, type, others, credentialKeys } = service;
  const { plural, group, version } = claimResource(kind, generation);
  const ways = [service, ...others];
  const titles = others.length === 0 ? ["at the broker"] : ways.map((way) => code(way.composition));
  return `# ${title}

${about}

The claim is ${code(kind)}, served as ${code(`${plural}.${group}`)} (${version}). ${hasBackups ? "Bindings, backups and restores name it" : "It has no backups. Bindings name it"}
with ${code(`serviceInstanceType: ${type}`)}. ${madeBy(generation, service)}

## Offerings and plans
${ways.map((making) => offers(service, making)).join("\n\n")}

## Parameters
| ${code("spec.parameters")} | meaning | ${titles.join(" | ")} | values |
|---|---|${titles.map(() => "---|").join("")}---|
${service.parameterSchemas.flatMap((parameter) => rowOf(parameter, ways)).join("\n")}

## Credentials
${[`The Secret of a binding has the keys ${codes(credentialKeys)}.`, ...others.flatMap(operatorSecret)].join(" ")}

## Examples
${examplesFor(generation, of, examples)}
`;
}

function examplesFor(generation: Generation, of: DataService, folder: string | undefined): string {
  const files = examplesOf(generation, of);
  if (folder !== undefined) return bullets(files.map(({ name }) => `[${name}.yaml](${folder}/${name}.yaml)`));
  return files
    .map(({ comment, manifest }) => `${comment.join("\n")}\n\n${fenced(formatYaml(manifest))}`)
    .join("\n\n");
}

const fenced = (yaml: string): string => `\`\`\`yaml\n${yaml}\`\`\``;

/** Says who makes the instances of a service whose default is a broker or objects. */
function madeBy({ machinery }: Generation, service: DataService): string {
  const { type, object, composition, others, hasBackups } = service;
  const manager = ` and its\nbackup manager through ${code(backupConfigName(type))}; without them,`;
  const made =
    object === undefined
      ? `The provider reaches its broker through the ProviderConfig ${code(providerConfigName(type))}${hasBackups ? manager : "; without it,"} claims say so in their conditions.`
      : `${code(composition)} makes objects in the cluster, by provider-kubernetes.`;
  const further = others.map((other) => {
    const name = `compositionRef: { name: ${other.composition} }`;
    const choice = machinery === "" ? name : `crossplane: { ${name} }`;
    const by = other.object === undefined ? "is made at a broker" : "is made in the cluster, by an operator";
    return `\nAn instance with ${code(choice)} ${by}; this cannot be changed later.`;
  });
  return made + further.join("");
}

function offers(service: DataService, making: Making): string {
  const { offerings, plans, plansAbout, rules, refused, composition } = making;
  const where = making === service ? "" : `With ${code(composition)}, `;
  const notThere =
    service.others.length === 0 || refused.length === 0
      ? ""
      : `\n\nNot supported for ${code(composition)}: ${codes(refused.map((path) => `spec.${path}`))}.`;
  return `${where}${code("spec.service")} is one of ${codes(offerings)}. It cannot be changed.

${where}${code("spec.plan")} is one of:
${bullets(plans.map((plan) => (plansAbout[plan] ? `${code(plan)}: ${plansAbout[plan]}` : code(plan))))}

A claim or a change that breaks one of these rules is refused with its message:
${bullets([...offered(service.type, making), ...rules].map(messageOf))}${notThere}`;
}

function operatorSecret({ composition, object }: Making): readonly string[] {
  if (object?.binding === undefined) return [];
  return [
    `With an instance of ${code(composition)} it is the operator's Secret, with its keys; ${code("status.managed.credentials.name")} names it.`,
  ];
}

/** A parameter that only the default lacks stands in the table, too, for it has a name elsewhere. */
function rowOf(
  { name, json }: DataService["parameterSchemas"][number],
  ways: readonly Making[],
): readonly string[] {
  const keys = ways.map((way) => way.parameters.find((parameter) => parameter.name === name)?.brokerKey);
  if (keys.every((key) => key === undefined)) return [];
  const lines = contractLines({ properties: { [name]: json } });
  const values = lines.map((line) => line.slice(name.length).replace(/^(: | rule: )/, ""));
  const { description } = json;
  const meaning = typeof description === "string" ? description : "";
  const at = keys.map((key) => (key === undefined ? "–" : code(key)));
  return [`| ${code(name)} | ${cell(meaning)} | ${at.join(" | ")} | ${cell(values.join("; "))} |`];
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
