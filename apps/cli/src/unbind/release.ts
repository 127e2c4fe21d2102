/** `klutch release`: let go on what the konnector holds until a person has looked at it. */
import {
  apiServiceBindings,
  printable,
  releaseCreationsAnnotation,
  releaseDeletionsAnnotation,
  releaseSchemaAnnotation,
} from "@klutch/api";
import { findCondition, isDnsLabel, namespaces } from "@klutch/kube-core";
import { connectConsumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { CommonOptions } from "../options.ts";
import {
  findBinding,
  listBindings,
  noSuchBinding,
  parseApiName,
  servedResource,
} from "../app-cluster/bound-resource.ts";
import { named } from "../findings.ts";

/** A held schema names each claim that does not fit. */
const maxMessage = 20_000;

const namespacePrefix = "namespace/";

/** Runs the command. It shows the change or deletions first; nothing else of the binding or namespace is changed. */
export async function release(context: CliContext, name: string, options: CommonOptions): Promise<void> {
  if (name.startsWith(namespacePrefix))
    return releaseNamespace(context, name.slice(namespacePrefix.length), options);
  const { signal, terminal, clock } = context;
  parseApiName(name);
  await using consumer = await connectConsumer(options);
  const { binding, names } = await findBinding(consumer, name, signal);
  if (binding === undefined) throw noSuchBinding(name, names);
  const conditions = binding.status?.conditions;
  const schema = findCondition(conditions, "SchemaInSync");
  const deletions = findCondition(conditions, "DeletionHeld");
  const creations = findCondition(conditions, "CreationHeld");
  const annotations: Record<string, string> = {};
  if (schema?.status === "False" && schema.reason === "BreakingSchemaChange") {
    terminal.say(
      `The konnector holds back a new schema of ${name}:\n  ${printable(schema.message ?? "", maxMessage)}`,
    );
    annotations[releaseSchemaAnnotation] = schemaHash(name, schema.message);
  }
  if (deletions?.status === "True") {
    terminal.say(
      `The konnector holds back deletions of ${name}:\n  ${printable(deletions.message ?? "", maxMessage)}`,
    );
    // With milliseconds, so that releasing twice within a second gives two values.
    annotations[releaseDeletionsAnnotation] = new Date(clock.now()).toISOString();
  }
  if (creations?.status === "True") {
    terminal.say(
      `The konnector creates no new objects for claims of ${name} that lost theirs:\n  ${printable(creations.message ?? "", maxMessage)}`,
    );
    annotations[releaseCreationsAnnotation] = new Date(clock.now()).toISOString();
  }
  if (Object.keys(annotations).length === 0) {
    terminal.say(`The konnector holds back nothing of ${name}.`);
    return;
  }
  const { namespace, uid } = binding.metadata;
  const patch = { metadata: { uid, annotations } };
  await consumer.client.mergePatch(apiServiceBindings, { namespace, name }, patch, { signal });
  for (const [key, value] of Object.entries(annotations)) {
    terminal.say(`Released: APIServiceBinding ${namespace}/${name} now has ${key}: ${value}`);
  }
}

/** Confirms the deletion of a namespace for the claims of all APIs in it. */
async function releaseNamespace(context: CliContext, name: string, options: CommonOptions): Promise<void> {
  const { signal, terminal } = context;
  if (!isDnsLabel(name)) throw new CliError("Usage", `${name} is not the name of a namespace.`);
  await using consumer = await connectConsumer(options);
  const found = await consumer.client.find(namespaces, { name }, { signal });
  if (found?.metadata.deletionTimestamp === undefined) {
    const text = `Namespace ${name} ${found === undefined ? "does not exist" : "is not being deleted"}`;
    throw new CliError("Usage", `${text}, so the konnector holds nothing of it.`);
  }
  const { uid, deletionTimestamp } = found.metadata;
  terminal.say(`Namespace ${name} is being deleted since ${deletionTimestamp}. With it go:`);
  for (const { metadata } of (await listBindings(consumer, signal)) ?? []) {
    const type = await servedResource(consumer, metadata.name ?? "", signal);
    if (type?.namespaced !== true) continue;
    const { items } = await consumer.client.list(type, { namespace: name, signal });
    const names = items.map((claim) => claim.metadata.name ?? "");
    if (names.length > 0) terminal.say(`  ${metadata.name}: ${named(names)}`);
  }
  const patch = { metadata: { uid, annotations: { [releaseDeletionsAnnotation]: "true" } } };
  await consumer.client.mergePatch(namespaces, { name }, patch, { signal });
  terminal.say(`Released: namespace ${name} now has ${releaseDeletionsAnnotation}: true`);
}

/** The hash at the end of the condition's message. Throws `CliError` when there is none. */
function schemaHash(name: string, message: string | undefined): string {
  const hash = /\(release with hash ([^()\s]+)\)\s*$/.exec(message ?? "")?.[1];
  if (hash !== undefined) return hash;
  throw new CliError(
    "Conflict",
    `The condition SchemaInSync of APIServiceBinding ${name} has no hash; its message must end with "(release with hash <hash>)". Upgrade the konnector, then run the command again.`,
  );
}
