/** Checks the output of `kubectl get` and `kubectl explain` for each kind, in an app cluster that bound them all. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "@klutch/engines";
import { bindApis } from "@klutch/launcher";
import { formatYaml } from "@klutch/kube";
import { exampleFilesOf, legacy, services } from "@klutch/services";
import { waitFor } from "@klutch/kube-testing";
import { cliFilesIn } from "./own-sandbox.ts";

const repository = join(import.meta.dirname, "..", "..");

/** Columns behind those of their own. */
const common = ["REASON", "SYNCED", "READY", "AGE"];

/** Titles exactly as they are printed. */
const columns: readonly (readonly [plural: string, titles: readonly string[]])[] = [
  ...services().map(({ type }): readonly [string, readonly string[]] => [
    `${type}instances`,
    ["NAME", ...(type === "postgresql" ? [] : ["MANAGEDRESOURCE"]), "SERVICE", "PLAN", ...common],
  ]),
  ["servicebindings", ["NAME", "SERVICE", "INSTANCE", "SECRET", ...common]],
  ["backups", ["NAME", "SERVICE", "INSTANCE", "STATE", ...common]],
  ["restores", ["NAME", "SERVICE", "BACKUP", "STATE", ...common]],
];

/** The sandbox's broker makes these. */
const made = ["postgresql", "mariadb", "keyvalue", "objectstorage"];
/** Reason of a claim that is as it should be, by plural; of the others there is no broker. */
const reasonOf = (plural: string): string =>
  made.some((type) => plural.startsWith(type)) || !plural.endsWith("instances") ? "Available" : "NoBroker";

const captured = `# What kubectl shows
Printed in an app cluster of the sandbox that bound all twelve kinds. One example of each is applied. The sandbox's broker makes PostgreSQL, MariaDB,
KeyValue and object storage; the others say that there is no broker. \`KLUTCH_CAPTURE=docs/kubectl.md npm test -- proof/e2e/whole-way\` writes this page anew. The same
test holds the columns and the explained plans against what they must be.
`;

/** A sandbox that is up. */
export interface SeenSandbox {
  readonly folder: string;
  readonly backendUrl: string;
}

type Kubectl = (...args: readonly string[]) => Promise<string>;

function kubectlIn(folder: string): Kubectl {
  const { bin, kubeconfigs } = cliFilesIn(folder);
  return async (...args) =>
    (await run(join(bin, "kubectl"), ["--kubeconfig", kubeconfigs.appA, ...args])).stdout;
}

/** Binds the kinds that are not bound yet. */
export async function bindKinds({ folder, backendUrl }: SeenSandbox): Promise<void> {
  const bound = await kubectlIn(folder)("get", "customresourcedefinitions", "--output=name");
  const wanted = columns.map(([plural]) => plural).filter((plural) => !bound.includes(`/${plural}.`));
  if (wanted.length > 0) await bindApis(cliFilesIn(folder), "appA", backendUrl, wanted);
}

/** Applies an example of each kind, looks at all of them, and deletes them again. With `captureTo`, a file of the repository, it keeps the output. */
export async function assertKindsAreSeen(folder: string, captureTo?: string): Promise<void> {
  const kubectl = kubectlIn(folder);
  const wanted = [
    ...services().map(({ type }) => `${type}-instance`),
    ...["binding", "backup", "restore"].map((operation) => `postgresql-${operation}`),
  ];
  const files = await writeExamples(join(folder, "examples"), wanted);
  await waitFor("the examples to be applied", () => kubectl("apply", ...files));
  const captures: string[] = [];
  for (const [plural, titles] of columns) {
    const isSeen = async (): Promise<string> => {
      const printed = await kubectl("get", plural);
      if (!printed.includes(reasonOf(plural))) throw new Error(printed);
      return printed;
    };
    const what = `${plural} to be ${reasonOf(plural)}`;
    const rows = await waitFor(what, isSeen, { timeoutMs: 120_000 });
    assert.deepEqual(rows.split("\n", 1)[0]?.trim().split(/ {2,}/), titles, plural);
    captures.push(section(`kubectl get ${plural}`, rows));
    const field = plural.endsWith("instances") ? `${plural}.spec.plan` : `${plural}.spec`;
    captures.push(section(`kubectl explain ${field}`, await kubectl("explain", field)));
  }
  for (const service of services()) {
    const ways = [service, ...service.others];
    await assertExplained(kubectl, `${service.kind.toLowerCase()}s`, [
      ...ways.flatMap(({ offerings }) => offerings),
      ...ways.flatMap(({ plans, plansAbout }) =>
        plans.map((plan) => (plansAbout[plan] ? `${plan} (${plansAbout[plan]})` : plan)),
      ),
    ]);
  }
  if (captureTo !== undefined)
    await writeFile(join(repository, captureTo), [captured, ...captures].join("\n"));
  await kubectl("delete", "--timeout=120s", ...files);
}

/** Writes the examples with these names, and returns the arguments with which kubectl takes them. */
async function writeExamples(folder: string, names: readonly string[]): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const examples = exampleFilesOf(legacy).filter(({ name }) => names.includes(name));
  assert.equal(examples.length, names.length);
  for (const { name, manifest } of examples)
    await writeFile(join(folder, `${name}.yaml`), formatYaml(manifest));
  return names.flatMap((name) => ["-f", join(folder, `${name}.yaml`)]);
}

/** Asserts that the explanation of `spec` contains these words; kubectl breaks long lines anywhere between words. */
async function assertExplained(kubectl: Kubectl, plural: string, words: readonly string[]): Promise<void> {
  const text = (await kubectl("explain", `${plural}.spec`)).replaceAll(/\s+/g, " ");
  for (const word of words) assert.ok(text.includes(word), `${plural} does not explain ${word}: ${text}`);
}

function section(command: string, printed: string): string {
  const lines = printed
    .trimEnd()
    .split("\n")
    .map((line) => `    ${line.replaceAll("\t", " ")}`.trimEnd());
  return [`    $ ${command}`, ...lines, ""].join("\n");
}
