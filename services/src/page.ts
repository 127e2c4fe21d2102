/** The page of documentation of a data service, as Markdown. */
import { contractLines, type Rule } from "@klutch/schema";
import {
  backupConfigName,
  claimResource,
  type DataService,
  type Parameter,
  providerConfigName,
} from "./data-service.ts";
import { examplesOf } from "./examples.ts";
import { offered } from "./plan-rules.ts";

const code = (text: string): string => `\`${text}\``;
const codes = (texts: readonly string[]): string => texts.map(code).join(", ");
const bullets = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join("\n");
const messageOf = ({ rule, message = rule }: Rule): string => message;

/** What may be claimed, how it may change, what comes back. `examples` is the folder of the examples, as a link of the page. */
export function pageOf(service: DataService, examples = "../../configuration/examples"): string {
  const { title, about, kind, type, offerings, plans, plansAbout, parameters, credentialKeys } = service;
  const { plural, group, version } = claimResource(kind);
  const links = examplesOf(service).map(({ name }) => `[${name}.yaml](${examples}/${name}.yaml)`);
  return `# ${title}

${about}

The claim is ${code(kind)}, served as ${code(`${plural}.${group}`)} (${version}). Bindings, backups and restores name it
with ${code(`serviceInstanceType: ${type}`)}. The provider reaches its broker through the ProviderConfig ${code(providerConfigName(type))} and its
backup manager through ${code(backupConfigName(type))}; without them, claims say so in their conditions.

## Offerings and plans
${code("spec.service")} is one of ${codes(offerings)}. It cannot be changed.

${code("spec.plan")} is one of:
${bullets(plans.map((plan) => (plansAbout[plan] ? `${code(plan)}: ${plansAbout[plan]}` : code(plan))))}

A claim or a change that breaks one of these rules is refused with its message:
${bullets([...offered(type, service), ...service.rules].map(messageOf))}

## Parameters
| ${code("spec.parameters")} | meaning | at the broker | values |
|---|---|---|---|
${parameters.map(rowOf).join("\n")}

## Credentials
The Secret of a binding has the keys ${codes(credentialKeys)}.

## Examples
${bullets(links)}
`;
}

function rowOf({ name, brokerKey, schema }: Parameter): string {
  const lines = contractLines({ properties: { [name]: schema.json } });
  const values = lines.map((line) => line.slice(name.length).replace(/^(: | rule: )/, ""));
  const { description } = schema.json;
  const meaning = typeof description === "string" ? description : "";
  return `| ${code(name)} | ${cell(meaning)} | ${code(brokerKey)} | ${cell(values.join("; "))} |`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
