/**
 * `klutch unbind --all`: removes Klutch from an app cluster. It checks first, shows what it will do, asks once, ends one binding after the
 * other in an order in which nothing waits for something that is gone, stops at the first failure, and removes the konnector last.
 */
import { consumerNamespace, konnectorName, syncerFinalizer } from "@klutch/api";
import { findCondition } from "@klutch/kube-core";
import { findBinding, leftApis, listBindings, listMetadata } from "../app-cluster/bound-resource.ts";
import { removeRole } from "../app-cluster/binding-role.ts";
import { findLeftRoles } from "../app-cluster/left-roles.ts";
import { readHome } from "../app-cluster/home.ts";
import { type Consumer, connectConsumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError, errorText, nothingChanged } from "../errors.ts";
import { counted, named } from "../findings.ts";
import { columns } from "../output.ts";
import { type Found, isOfThisCluster, obstaclesOf } from "./obstacles.ts";
import { inOrder, labelOf } from "./order.ts";
import { removeKonnector } from "./remove-konnector.ts";
import { survey } from "./survey.ts";
import { endBinding, policyOf, type UnbindOptions } from "./unbind.ts";

/** Flags of `unbind --all`. */
export interface UnbindAllOptions extends UnbindOptions {
  /** Leave the konnector, its account and roles, the admission policy and the namespace. */
  readonly keepKonnector: boolean;
}

/** Runs the command. It can be interrupted or fail at any point: the next run completes the rest. */
export async function unbindAll(context: CliContext, options: UnbindAllOptions): Promise<void> {
  const { signal, terminal } = context;
  await using consumer = await connectConsumer(options);
  const found = await look(context, consumer);
  const order = inOrder(
    found.shapes,
    new Set(found.claims.filter(({ isDeleting }) => isDeleting).map(({ api }) => api)),
  );
  if (order.length === 0 && !(await isAnythingLeft(found, consumer, options, signal))) {
    terminal.say(
      `No API is bound in this cluster (${consumer.place}), and nothing of Klutch is left to remove.`,
    );
    return;
  }
  describe(context, consumer, found, order, options);
  const obstacles = obstaclesOf(found, options);
  if (obstacles.length > 0) {
    terminal.say("This stands against it:");
    for (const text of obstacles) terminal.say(`  - ${text}`);
    throw new CliError(
      "Conflict",
      `${counted(obstacles.length, "obstacle")} to remove first; see above. ${nothingChanged}`,
    );
  }
  if (options.dryRun) {
    terminal.say("Dry run: nothing was changed.");
    return;
  }
  if (!options.yes) await confirm(context, options);
  for (const [index, name] of order.entries())
    await endOne(context, consumer, name, order.slice(index), options);
  if (options.keepKonnector) terminal.say("The konnector stays (--keep-konnector).");
  else await finish(context, consumer, options.timeoutMs);
  await sayLeft(context, consumer);
}

async function look(context: CliContext, consumer: Consumer): Promise<Found> {
  const bindings = (await listBindings(consumer, context.signal)) ?? [];
  const home = await readHome(context, consumer);
  const ours = bindings.filter(isOfThisCluster);
  return { bindings, home, ...(await survey(consumer, ours, context.signal)) };
}

async function isAnythingLeft(
  { bindings, home }: Found,
  consumer: Consumer,
  { keepKonnector }: UnbindAllOptions,
  signal: AbortSignal,
): Promise<boolean> {
  if (bindings.length > 0) return true;
  if (keepKonnector) return false;
  const { names } = await findLeftRoles(consumer, signal);
  return home.namespace !== "missing" || names.length > 0;
}

function describe(
  { terminal }: CliContext,
  { place }: Consumer,
  { claims, home }: Found,
  order: readonly string[],
  options: UnbindAllOptions,
): void {
  const parts = [
    ...(order.length > 0 ? [counted(order.length, "bound API")] : []),
    ...(options.keepKonnector ? [] : ["the konnector"]),
  ];
  terminal.say(`Removing ${parts.join(" and ")} from this cluster (${place}):`);
  if (order.length > 0) {
    const rows = order.map((name, index) => {
      const own = claims.filter(({ api }) => api === name);
      const deleting = own.filter(({ isDeleting }) => isDeleting).length;
      return [` ${index + 1}.`, name, String(own.length), String(deleting)];
    });
    terminal.say(columns([["", "API", "CLAIMS", "BEING DELETED"], ...rows]).trimEnd());
    terminal.say(
      options.delete
        ? "  --delete DELETES these claims and their counterparts in the control plane, with all data that these hold."
        : "  Claims stay and become plain objects; their counterparts and databases in the control plane go on running. A deletion that runs is finished first.",
    );
  }
  if (options.keepKonnector) return;
  terminal.say(
    `  Then these go, as far as they exist: Deployment ${consumerNamespace}/${konnectorName} with its account and roles, its admission policy, and namespace ${consumerNamespace} with everything in it.`,
  );
  if (home.deployment?.metadata.labels?.["app.kubernetes.io/managed-by"] === "Helm")
    terminal.say(
      "  Helm installed the konnector; the record of its release goes with the namespace. Stop a GitOps tool that would install it again.",
    );
  if (!options.delete && order.length > 0)
    terminal.say(
      "  After that the control plane takes this cluster for a new one: binding again does not take up these databases. Pass --keep-konnector if you want to bind again.",
    );
}

async function confirm({ terminal }: CliContext, options: UnbindAllOptions): Promise<void> {
  const word = options.delete ? "delete" : "yes";
  terminal.say(`Type ${word} to do this:`);
  const line = await terminal.readLine();
  if (line?.trim() === word) return;
  throw new CliError(
    "Cancelled",
    line === undefined
      ? `No answer on standard input. ${nothingChanged} Pass --yes to go on without a question.`
      : `"${line.trim()}" is not ${word}. ${nothingChanged}`,
  );
}

/** Ends one binding. A failure ends the command with the APIs that are left, and what to do. */
async function endOne(
  context: CliContext,
  consumer: Consumer,
  name: string,
  left: readonly string[],
  options: UnbindAllOptions,
): Promise<void> {
  const { signal, terminal } = context;
  try {
    const { binding } = await findBinding(consumer, name, signal);
    if (binding === undefined) await removeRole(context, consumer, name);
    else await endBinding(context, consumer, binding, policyOf(binding, options), options.timeoutMs);
  } catch (error) {
    if (signal.aborted) throw error;
    await sayPending(context, consumer, name);
    terminal.say(
      `Stopped at ${name}. Still bound: ${left.join(", ")}. The konnector and its rights are untouched, so claims of these APIs can still be changed and deleted.`,
    );
    const code = error instanceof CliError ? error.code : "Conflict";
    const again = "When that is resolved: klutch unbind --all goes on here.";
    throw new CliError(code, `${errorText(error)} ${again}`, { cause: error });
  }
}

/** Names the claims that are being deleted, with their causes; these hold a binding up most often. */
async function sayPending(context: CliContext, consumer: Consumer, name: string): Promise<void> {
  const { binding } = await findBinding(consumer, name, context.signal);
  if (binding === undefined) return;
  const { claims } = await survey(consumer, [binding], context.signal);
  const pending = claims.filter(({ isDeleting }) => isDeleting);
  if (pending.length === 0) return;
  const condition = findCondition(binding.status?.conditions, "Unbinding");
  context.terminal.say(
    `Being deleted and not gone: ${named(pending.map(labelOf))}. kubectl describe shows the cause of each.`,
  );
  if (condition === undefined)
    context.terminal.say("No konnector has said that it unbinds; klutch doctor shows whether one works.");
}

async function finish(context: CliContext, consumer: Consumer, timeoutMs: number): Promise<void> {
  const again = (await listBindings(consumer, context.signal)) ?? [];
  if (again.length > 0)
    throw new CliError(
      "Conflict",
      `${again.map(({ metadata }) => metadata.name).join(", ")} was bound in the meantime, so the konnector stays. To remove it, too, run klutch unbind --all again.`,
    );
  await removeKonnector(context, consumer, timeoutMs);
}

/** Says what stays in the cluster, and what of it would wait. */
async function sayLeft(context: CliContext, consumer: Consumer): Promise<void> {
  const { signal, terminal } = context;
  const apis = await leftApis(consumer, signal);
  let waiting = 0;
  for (const type of apis.values()) {
    const all = type === undefined ? [] : await listMetadata(consumer, type, signal);
    waiting += all.filter(({ metadata }) => metadata.finalizers?.includes(syncerFinalizer)).length;
  }
  if (apis.size > 0 && waiting === 0)
    terminal.say(
      `Each API leaves its CustomResourceDefinition with the claims. To delete both: kubectl delete crd ${[...apis.keys()].join(" ")}`,
    );
  if (waiting > 0)
    terminal.say(
      `${counted(waiting, "claim")} still ${waiting === 1 ? "has" : "have"} the finalizer ${syncerFinalizer}, because no konnector released ${waiting === 1 ? "it" : "them"}; deleting ${waiting === 1 ? "it or its" : "them or their"} CustomResourceDefinition would wait. klutch doctor shows how to remove the finalizer.`,
    );
}
