/**
 * `klutch hand-back`: takes this konnector's marks from bindings, so that a konnector which does not know them takes over and a
 * deleted binding goes. Claims, CRDs, Secrets and everything at the provider stay as they are.
 */
import {
  type APIServiceBinding,
  apiServiceBindings,
  consumerNamespace,
  konnectorName,
  konnectorPolicyName,
  providerUidAnnotation,
  releaseDeletionsAnnotation,
  releaseSchemaAnnotation,
  unbindFinalizer,
  unbindPolicyAnnotation,
  unreachableSinceAnnotation,
} from "@klutch/api";
import { type Consumer, connectConsumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import type { CommonOptions } from "../options.ts";
import { listBindings, noSuchBinding, parseApiName } from "../app-cluster/bound-resource.ts";
import { liftApiLimits } from "../app-cluster/api-limits.ts";
import { liftClaimMarks } from "../app-cluster/claim-marks.ts";
import { liftConfinement } from "../app-cluster/confinement.ts";
import { findLeftCrds, giveCrd } from "./crd-owners.ts";
import { obstacleOfNames } from "./plain-names.ts";

const ownAnnotations = [
  providerUidAnnotation,
  unbindPolicyAnnotation,
  releaseSchemaAnnotation,
  releaseDeletionsAnnotation,
  unreachableSinceAnnotation,
];
/** A konnector of ours that still runs puts its finalizer back at once. */
const secondReadingAfterMs = 3000;

/** Klutch's finalizers and annotations on a binding. */
export interface Marks {
  readonly hasFinalizer: boolean;
  readonly annotations: readonly string[];
}

/** Finds our marks on a binding; undefined when it has none. */
export function marksOf({ metadata }: APIServiceBinding): Marks | undefined {
  const hasFinalizer = metadata.finalizers?.includes(unbindFinalizer) === true;
  const annotations = ownAnnotations.filter((name) => metadata.annotations?.[name] !== undefined);
  return hasFinalizer || annotations.length > 0 ? { hasFinalizer, annotations } : undefined;
}

/** Flags of `hand-back`. */
export interface HandBackOptions extends CommonOptions {
  /** True if objects that a konnector in Go would make a second time are no obstacle. */
  readonly acceptCopies: boolean;
}

/** Runs the command for these APIs, or for all that are bound. Running it again is harmless. */
export async function handBack(
  context: CliContext,
  names: readonly string[],
  options: HandBackOptions,
): Promise<void> {
  const { signal, terminal, clock } = context;
  for (const name of names) parseApiName(name);
  await using consumer = await connectConsumer(options);
  const chosen = await chooseBindings(consumer, names, signal);
  const marked = chosen.filter((binding) => marksOf(binding) !== undefined);
  const left = await findLeftCrds(consumer, chosen, await chooseBindings(consumer, [], signal), signal);
  if (marked.length === 0 && left.length === 0) {
    terminal.say("No APIServiceBinding has a finalizer or annotations of this konnector. Nothing to do.");
    return;
  }
  if (!options.acceptCopies)
    await refuseCopies(consumer, marked, { signal, requestTimeoutMs: options.requestTimeoutMs });
  for (const binding of marked) await removeMarks(context, consumer, binding, options.dryRun);
  for (const one of left) {
    terminal.say(
      `${options.dryRun ? "Would give" : "Giving"} CustomResourceDefinition ${one.crd.metadata.name} of an earlier binding to the present one.`,
    );
    if (!options.dryRun) await giveCrd(consumer, one, signal);
  }
  if (!options.dryRun) await liftClaimMarks(context, consumer);
  if (!options.dryRun) await liftApiLimits(context, consumer);
  if (!options.dryRun && (await liftConfinement(consumer, signal)))
    terminal.say(
      `Deleted ValidatingAdmissionPolicy ${konnectorPolicyName}, because it allows only what this konnector writes.`,
    );
  if (options.dryRun) {
    terminal.say("Dry run: nothing was changed.");
    return;
  }
  await clock.sleep(secondReadingAfterMs, { signal });
  const again = (await chooseBindings(consumer, [], signal)).filter(
    (binding) =>
      marksOf(binding)?.hasFinalizer === true &&
      marked.some(({ metadata }) => metadata.uid === binding.metadata.uid),
  );
  if (again.length > 0) {
    throw new CliError(
      "Conflict",
      `A konnector of this implementation runs and has put its finalizer back on ${again.map(({ metadata }) => metadata.name).join(", ")}. Stop it, then run the command again: kubectl --namespace ${consumerNamespace} scale deployment ${konnectorName} --replicas=0`,
    );
  }
  terminal.say(
    "Done. Another konnector may take over now. Claims keep the finalizer that all konnectors share, so delete claims only while a konnector runs. To remove Klutch from this cluster instead: klutch unbind --all",
  );
}

/** Throws when a konnector in Go would make second objects for claims that have one. */
async function refuseCopies(
  consumer: Consumer,
  bindings: readonly APIServiceBinding[],
  options: Parameters<typeof obstacleOfNames>[2],
): Promise<void> {
  const obstacles: string[] = [];
  for (const binding of bindings) {
    const obstacle = await obstacleOfNames(consumer, binding, options);
    if (obstacle !== undefined) obstacles.push(obstacle);
  }
  if (obstacles.length === 0) return;
  throw new CliError(
    "Conflict",
    `A konnector in Go would make a second, empty object for each of these cluster-scoped claims, and serve that one: ${obstacles.join("; ")}. ${nothingChanged} Keep these APIs with this konnector and hand back others by their names. Pass --accept-copies if an earlier release of this konnector takes over, or if you move the data yourself.`,
  );
}

async function chooseBindings(
  consumer: Consumer,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly APIServiceBinding[]> {
  const all = (await listBindings(consumer, signal)) ?? [];
  const known = all.map(({ metadata }) => metadata.name ?? "");
  for (const name of names) if (!known.includes(name)) throw noSuchBinding(name, known);
  return names.length === 0 ? all : all.filter(({ metadata }) => names.includes(metadata.name ?? ""));
}

async function removeMarks(
  { signal, terminal }: CliContext,
  consumer: Consumer,
  binding: APIServiceBinding,
  isDryRun: boolean,
): Promise<void> {
  const { hasFinalizer = false, annotations = [] } = marksOf(binding) ?? {};
  const { namespace, name = "", uid, resourceVersion, finalizers = [], deletionTimestamp } = binding.metadata;
  const what = [...(hasFinalizer ? [`finalizer ${unbindFinalizer}`] : []), ...annotations].join(", ");
  terminal.say(`${isDryRun ? "Would take" : "Taking"} from APIServiceBinding ${namespace}/${name}: ${what}.`);
  if (deletionTimestamp !== undefined && hasFinalizer) {
    terminal.say(
      `  It is being deleted and goes now; its objects stay, and klutch doctor lists those that wait.`,
    );
  }
  if (isDryRun) return;
  const patch = {
    metadata: {
      uid,
      resourceVersion,
      finalizers: finalizers.filter((one) => one !== unbindFinalizer),
      annotations: Object.fromEntries(annotations.map((one) => [one, null])),
    },
  };
  await consumer.client.mergePatch(apiServiceBindings, { namespace, name }, patch, { signal });
}
