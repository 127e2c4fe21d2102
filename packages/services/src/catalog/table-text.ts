/** Writes the text of a table with comments for the person who edits it. */
import { formatYaml } from "@klutch/kube";
import type { CatalogParameters } from "./parameters.ts";
import type { OfferedPlan, OfferedService } from "./offered-service.ts";
import { withoutMarkup } from "./plain-text.ts";
import { tableApiVersion } from "../table/file-schema.ts";

/** Content of a table. */
export interface TableContent extends CatalogParameters {
  readonly service: OfferedService;
  /** Origin of the catalog, for the first line. */
  readonly source: string;
  /** Names of parameters that bindings may have. */
  readonly bindParameters: readonly string[];
}

/** Prints it. */
export function tableText(content: TableContent): string {
  const { service, parameters } = content;
  const type = typeName(service.name);
  const kind = `${type.replaceAll(/(?:^|-)([a-z0-9]?)/g, (_, letter: string) => letter.toUpperCase())}Instance`;
  const title = service.displayName || withoutMarkup(service.name, 60);
  return [
    ...header(content),
    `apiVersion: ${tableApiVersion}`,
    "kind: DataService",
    "# Decide: type and kind, which claims name; they cannot change while claims exist.",
    `metadata: { name: ${quoted(type)} }`,
    "spec:",
    "  # Decide: title and text for people.",
    `  title: ${quoted(title)}`,
    `  about: ${quoted(service.description || `Instances of ${title}.`)}`,
    `  claim: { kind: ${kind} }`,
    "  # Decide: words of sizes in the plans' names, the smallest first, for the rule neverSmaller.",
    "  # sizes: [{ word: small }, { word: big }]",
    ...backendLines(content),
    ...(parameters.length === 0 ? [] : parameterLines(content)),
    ...credentialLines(service),
    ...exampleLines(content, type),
    "",
  ].join("\n");
}

function header({ service, source }: TableContent): readonly string[] {
  const says = (flag: boolean): string => (flag ? "yes" : "no");
  return [
    `# Written by klutch service from-catalog from ${withoutMarkup(source, 200)}.`,
    "# docs/add-a-service.md explains each field. Lines with Decide need a person.",
    `# Instances can be fetched: ${says(service.instancesRetrievable)}; bindings can be fetched: ${says(service.bindingsRetrievable)}.`,
  ];
}

function backendLines({ service, rules }: TableContent): readonly string[] {
  return [
    "  backends:",
    "    - name: broker",
    "      default: true",
    "      broker: {}",
    `      services: [${quoted(service.name)}]`,
    "      # Decide: the purpose of each plan; retired: true for plans that no new instance may have.",
    "      plans:",
    ...service.plans.flatMap((plan) => planLines(plan, service)),
    "      # Decide: usual durations, such as takes: { create: 10m, change: 10m, delete: 5m }.",
    ...(rules.length === 0 ? [] : ["      rules:", ...block(rules, 8)]),
  ];
}

function planLines(plan: OfferedPlan, service: OfferedService): readonly string[] {
  const notes = [
    ...(plan.maximumPollingDuration === undefined
      ? []
      : [`an operation lasts at most ${plan.maximumPollingDuration} s`]),
    ...(plan.bindable === service.bindable ? [] : [plan.bindable ? "bindable" : "not bindable"]),
  ];
  const note = notes.length === 0 ? "" : ` # ${notes.join("; ")}`;
  const about = plan.description === "" ? [] : [`          about: ${quoted(plan.description)}`];
  return [`        - name: ${quoted(plan.name)}${note}`, ...about];
}

function parameterLines({ parameters, service }: TableContent): readonly string[] {
  return [
    "  # Decide: the text of each parameter.",
    `  parametersAbout: ${quoted(`Settings of ${service.displayName || service.name}. Unset ones keep the defaults of the broker.`)}`,
    "  parameters:",
    ...parameters.flatMap(({ name, key, schema: { about, ...schema } }) => [
      `    - name: ${quoted(name)}`,
      `      about: ${quoted(typeof about === "string" ? about : `The broker's parameter ${withoutMarkup(key, 100)}.`)}`,
      `      to: { broker: ${quoted(key)} }`,
      "      schema:",
      ...block(schema, 8),
    ]),
  ];
}

function credentialLines({ bindable }: OfferedService): readonly string[] {
  return [
    bindable
      ? "  # Decide: the keys of a binding's Secret, which no catalog tells; these are common ones."
      : "  # The service is not bindable: the broker refuses bindings. A table has keys nevertheless.",
    "  credentials:",
    "    keys: [database, host, password, port, uri, username]",
    "    connection: [{ label: Address, from: host, form: host, port: port }]",
  ];
}

function exampleLines(
  { service, isAnyRequired, bindParameters }: TableContent,
  type: string,
): readonly string[] {
  const bind =
    bindParameters.length === 0
      ? []
      : [
          `  # Bindings have no parameters in a table; the broker takes: ${withoutMarkup(bindParameters.join(", "), 300)}.`,
        ];
  if (isAnyRequired) return [...bind, "  # Decide: examples, with the required parameters."];
  const spec = `{ service: ${quoted(service.name)}, plan: ${quoted(service.plans[0]?.name ?? "")} }`;
  return [
    ...bind,
    "  examples:",
    `    - file: ${quoted(`${type}-instance`)}`,
    "      about: A first instance.",
    "      name: first",
    `      spec: ${spec}`,
  ];
}

/** Makes a type of a service's name. */
function typeName(name: string): string {
  const words = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+/, "")
    .slice(0, 30)
    .replace(/-+$/, "");
  return words === "" ? "service" : words;
}

/** Prints a text as YAML reads it back. */
function quoted(text: string): string {
  const isPlain =
    /^[A-Za-z][-A-Za-z0-9]*$/.test(text) && !/^(?:y|n|yes|no|on|off|true|false|null)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}

function block(value: object, indent: number): readonly string[] {
  return formatYaml(value)
    .trimEnd()
    .split("\n")
    .map((line) => `${" ".repeat(indent)}${line}`);
}
