/** `klutch unbind` and `kubectl bind unbind`: end the binding of one API, with the konnector's rights on it. */
import {
  type APIServiceBinding,
  apiServiceBindings,
  autoBindAnnotation,
  autoBindRole,
  isAutoBindApi,
  parseAutoBind,
  printable,
  unbindFinalizer,
  unbindPolicyAnnotation,
} from "@klutch/api";
import { clusterRoles, type DynamicObject, findCondition, keyOfRef } from "@klutch/kube-core";
import { type Consumer, connectConsumer, ifAllowed } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import type { CommonOptions } from "../options.ts";
import { columns } from "../output.ts";
import { waitFor } from "../wait.ts";
import {
  findBinding,
  listBindings,
  listMetadata,
  noSuchBinding,
  parseApiName,
  servedResource,
} from "../app-cluster/bound-resource.ts";
import { removeRole } from "../app-cluster/binding-role.ts";
import { liftApiLimits } from "../app-cluster/api-limits.ts";
import { liftClaimMarks } from "../app-cluster/claim-marks.ts";
import { counted } from "../findings.ts";
import { isOfThisCluster, sentenceOf } from "./obstacles.ts";
import { blockedClaims } from "./order.ts";
import { survey } from "./survey.ts";

/** Flags of `unbind`. */
export interface UnbindOptions extends CommonOptions {
  /** Delete claims and upstream objects; otherwise both stay. */
  readonly delete: boolean;
  /** Do not ask before deleting. */
  readonly yes: boolean;
}

/** Effect on claims and upstream objects. */
export type Policy = "Orphan" | "Delete";

/** Runs the command. It can be interrupted at any point: the next run completes the rest. */
export async function unbind(context: CliContext, name: string, options: UnbindOptions): Promise<void> {
  const { signal } = context;
  parseApiName(name);
  await using consumer = await connectConsumer(options);
  const { binding, names } = await findBinding(consumer, name, signal);
  if (binding === undefined) {
    if (options.dryRun) throw noSuchBinding(name, names);
    // An earlier run may have ended between the binding and its role.
    if (await removeRole(context, consumer, name)) return;
    throw noSuchBinding(name, names);
  }
  const policy = policyOf(binding, options);
  const claims = await claimsByNamespace(consumer, name, signal);
  describe(context, binding, policy, claims);
  await warnOfUsers(context, consumer, name, policy);
  await warnOfReturn(context, consumer, name);
  if (options.dryRun) {
    context.terminal.say("Dry run: nothing was changed.");
    return;
  }
  if (binding.metadata.finalizers?.includes(unbindFinalizer) !== true) refuseOrWarn(context, name, policy);
  if (policy === "Delete" && !options.yes && !isDeletingAll(binding)) await confirmName(context, name);
  await endBinding(context, consumer, binding, policy, options.timeoutMs);
}

/** Deletes the binding, waits until the konnector has unbound it, and removes the rights on its API. */
export async function endBinding(
  context: CliContext,
  consumer: Consumer,
  binding: APIServiceBinding,
  policy: Policy,
  timeoutMs: number,
): Promise<void> {
  const { namespace, name = "" } = binding.metadata;
  await ifAllowed(() => liftClaimMarks(context, consumer, name));
  await ifAllowed(() => liftApiLimits(context, consumer, name));
  await deleteBinding(context, consumer, binding, policy);
  await waitUntilGone(context, consumer, binding, timeoutMs);
  context.terminal.say(`APIServiceBinding ${keyOfRef({ namespace, name })} is gone.`);
  await removeRole(context, consumer, name);
}

/** Keeps the policy of a binding that is already being deleted, unless `--delete` asks for more. */
export function policyOf(binding: APIServiceBinding, options: Pick<UnbindOptions, "delete">): Policy {
  return options.delete || isDeletingAll(binding) ? "Delete" : "Orphan";
}

/** Returns true if someone already confirmed the deletion of all objects. */
function isDeletingAll({ metadata }: APIServiceBinding): boolean {
  return (
    metadata.deletionTimestamp !== undefined && metadata.annotations?.[unbindPolicyAnnotation] === "Delete"
  );
}

type Counts = ReadonlyMap<string, number>;

async function claimsByNamespace(consumer: Consumer, name: string, signal: AbortSignal): Promise<Counts> {
  const counts = new Map<string, number>();
  const type = await servedResource(consumer, name, signal);
  if (type === undefined) return counts;
  for (const { metadata } of await listMetadata(consumer, type, signal)) {
    const namespace = metadata.namespace ?? "(cluster)";
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  return counts;
}

const totalOf = (counts: Counts): number => counts.values().reduce((sum, count) => sum + count, 0);

function describe(
  { terminal }: CliContext,
  { metadata, status }: APIServiceBinding,
  policy: Policy,
  claims: Counts,
): void {
  const { name = "", namespace = "" } = metadata;
  const provider = printable(status?.providerPrettyName ?? "the provider");
  if (metadata.deletionTimestamp !== undefined) {
    terminal.say(`APIServiceBinding ${namespace}/${name} is already being unbound (${policy}).`);
  }
  const total = counted(totalOf(claims), "object");
  if (policy === "Orphan") {
    terminal.say(`Unbinding ${name} (${provider}) keeps everything that exists:
  - ${total} in this cluster stay and become plain objects; nothing syncs them any more.
  - Their counterparts at the provider stay and go on running. Binding again takes them up.
  - The konnector in this cluster loses its rights on ${name}.
  To delete the objects and their counterparts instead, run the command with --delete.`);
    return;
  }
  terminal.say(`Unbinding ${name} (${provider}) with --delete DELETES:
  - ${total} in this cluster,
  - their counterparts at the provider, with all data that these hold.`);
  if (claims.size > 0) {
    const rows = [...claims].map(([one, count]) => ["", one, String(count)]);
    terminal.say(columns([["", "NAMESPACE", "OBJECTS"], ...rows]).trimEnd());
  }
}

/** Says which claims of the API cannot be deleted, and which of them keep claims of other APIs from being deleted. */
async function warnOfUsers(
  { signal, terminal }: CliContext,
  consumer: Consumer,
  name: string,
  policy: Policy,
): Promise<void> {
  const bindings = ((await listBindings(consumer, signal)) ?? []).filter(isOfThisCluster);
  // A person may have rights on this API only.
  const claims = (await ifAllowed(() => survey(consumer, bindings, signal)))?.claims ?? [];
  const coming =
    policy === "Delete"
      ? claims.map((one) => (one.api === name ? { ...one, isDeleting: true } : one))
      : claims;
  const isAbout = (label: string): boolean => label.startsWith(`${name} `);
  const blocked = blockedClaims(coming).filter(({ claim, users }) => [claim, ...users].some(isAbout));
  for (const one of blocked) {
    const state = policy === "Delete" && isAbout(one.claim) ? "would be deleted" : "is being deleted";
    terminal.say(`Note: ${sentenceOf(one, state)}`);
  }
}

/** Says that the konnector will bind the API again, where its chart says so; in silence where the person may not read the chart's role. */
async function warnOfReturn(
  { signal, terminal }: CliContext,
  { client }: Consumer,
  name: string,
): Promise<void> {
  const role = await ifAllowed(() =>
    client.find<DynamicObject>(clusterRoles, { name: autoBindRole }, { signal }),
  );
  const scope = parseAutoBind(role?.metadata.annotations?.[autoBindAnnotation]);
  if (!isAutoBindApi(name, scope)) return;
  const group = name.slice(name.indexOf(".") + 1);
  terminal.say(
    `Note: the konnector binds ${name} again, because autoBind.groups of its chart names ${group}. Add ${name} to autoBind.except first, if it shall stay unbound.`,
  );
}

function refuseOrWarn({ terminal }: CliContext, name: string, policy: Policy): void {
  const problem = `APIServiceBinding ${name} has no finalizer ${unbindFinalizer}: no konnector that can unbind serves it`;
  if (policy === "Delete") {
    throw new CliError(
      "Conflict",
      `${problem}, so nothing would be deleted at the provider. Start or upgrade the konnector (klutch doctor shows its state), then run the command again; or delete the objects first and unbind without --delete.`,
    );
  }
  terminal.say(`Note: ${problem}. Objects may keep their finalizer; klutch doctor lists them.`);
}

async function confirmName({ terminal }: CliContext, name: string): Promise<void> {
  terminal.say(`Type ${name} to delete all of this:`);
  const line = await terminal.readLine();
  if (line === undefined) {
    throw new CliError(
      "Cancelled",
      "No answer on standard input, so nothing was changed. Pass --yes to delete without a question.",
    );
  }
  if (line.trim() === name) return;
  throw new CliError("Cancelled", `"${line.trim()}" is not ${name}. Nothing was changed.`);
}

async function deleteBinding(
  context: CliContext,
  consumer: Consumer,
  { metadata }: APIServiceBinding,
  policy: Policy,
): Promise<void> {
  const { signal, terminal } = context;
  const { name = "", namespace, uid, annotations, deletionTimestamp } = metadata;
  const ref = { namespace, name };
  if (annotations?.[unbindPolicyAnnotation] !== policy) {
    const patch = { metadata: { uid, annotations: { [unbindPolicyAnnotation]: policy } } };
    await consumer.client.mergePatch(apiServiceBindings, ref, patch, { signal });
  }
  if (deletionTimestamp !== undefined) return;
  await consumer.client.delete(apiServiceBindings, ref, { preconditions: { uid }, signal });
  terminal.say(`Deleted APIServiceBinding ${namespace}/${name}. The konnector unbinds it now.`);
}

async function waitUntilGone(
  context: CliContext,
  consumer: Consumer,
  { metadata }: APIServiceBinding,
  timeoutMs: number,
): Promise<void> {
  const { name = "", namespace, uid } = metadata;
  const { signal, terminal } = context;
  let told = "";
  const problem = (): string =>
    `${told === "" ? `The konnector has reported nothing. klutch doctor shows whether it runs; klutch hand-back ${name} lets the binding go without one` : told}. Unbinding continues in the cluster. Run the command again to see its end.`;
  try {
    await waitFor(
      context,
      { what: `${name} to be unbound`, timeoutMs, problem, intervalMs: 500 },
      async () => {
        const ref = { namespace, name };
        const found = await consumer.client.find<APIServiceBinding>(apiServiceBindings, ref, { signal });
        if (found === undefined || found.metadata.uid !== uid) return true;
        const condition = findCondition(found.status?.conditions, "Unbinding");
        const message = printable(condition?.message ?? condition?.reason ?? "");
        if (message !== "" && message !== told) terminal.say(`  ${message}`);
        told = message === "" ? told : message;
        return undefined;
      },
    );
  } catch (error) {
    if (signal.aborted) {
      terminal.say(
        `Unbinding continues in the cluster. Run the command again to see its end and to remove the konnector's rights on ${name}.`,
      );
    }
    throw error;
  }
}
