/** `klutch verify`: whether what Klutch promises holds between two live clusters. Reads only. */
import { consumerNamespace, kubeconfigKey, printable } from "@klutch/api";
import { createKubeClient, loadKubeconfig, parseForeignKubeconfig } from "@klutch/kube";
import { type DynamicObject, secrets, secretText } from "@klutch/kube-core";
import { checkInvariants, countCompared, invariantNames, type Violation } from "@klutch/sync";
import { type Consumer, consumerOf } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { columns } from "../output.ts";
import { CheckFailedError, counted } from "../findings.ts";
import { type Reading, readSnapshot } from "./read.ts";
import type { ControlPlane } from "./reader.ts";

/** Arguments of `verify`. */
export interface VerifyOptions {
  /** Paths. */
  readonly consumerKubeconfig: string;
  readonly providerKubeconfig: string;
  /** Cluster namespace; default: the one of the control plane's kubeconfig, else the one that the app cluster's own credentials name. */
  readonly namespace: string | undefined;
  readonly output: "json" | undefined;
}

/** Between the two readings: long enough for a write on its way to arrive. */
const secondReadingAfterMs = 2000;

/** Runs the command. Throws `CheckFailedError` when an invariant is violated, and when it could not be looked at. */
export async function verify(context: CliContext, options: VerifyOptions): Promise<void> {
  const { terminal } = context;
  await using consumer = await connectApp(context, options.consumerKubeconfig);
  await using provider = await connectControlPlane(context, consumer, options);
  const { reading, violations } = await lookTwice(context, consumer, provider);
  terminal.out(
    options.output === "json"
      ? `${JSON.stringify(reportOf(reading, provider, violations), null, 2)}\n`
      : textOf(reading, provider, violations),
  );
  if (violations.length > 0) throw new CheckFailedError(`${counted(violations.length, "violation")} found.`);
  const problem = unseen(reading, provider);
  if (problem !== undefined) throw new CheckFailedError(problem);
}

/** Returns why a result without violations is incomplete. */
function unseen(reading: Reading, { namespace }: ControlPlane): string | undefined {
  const unread = rowsOf(reading).filter(({ optional, ...row }) => !optional && row.provider === undefined);
  if (unread.length > 0) {
    return `Not compared: ${unread.map(({ resource }) => resource).join(", ")}. Use a kubeconfig of the control plane that may list them in the tenant's namespaces.`;
  }
  const isEmpty = reading.resources.every(({ role }) => role !== "bound");
  if (isEmpty && reading.leftOut.length > 0) {
    return `Nothing was compared: no binding of the app cluster has its export in cluster namespace ${namespace}. Pass the matching cluster namespace with --namespace.`;
  }
  const unexplained = reading.leftOut.filter(({ isElsewhere }) => !isElsewhere);
  return unexplained.length === 0
    ? undefined
    : `Not compared: ${unexplained.map(({ name, reason }) => `${name} (${reason})`).join(", ")}.`;
}

/** Reads twice and keeps violations of both readings: the rest was still being synced. */
async function lookTwice(
  context: CliContext,
  consumer: Consumer,
  provider: ControlPlane,
): Promise<{ readonly reading: Reading; readonly violations: readonly Violation[] }> {
  const earlier = await readSnapshot(context, consumer, provider);
  const suspected = checkInvariants(earlier.snapshot);
  if (suspected.length === 0) return { reading: earlier, violations: [] };
  const stop = context.terminal.waiting(`${counted(suspected.length, "deviation")}; looking again`);
  try {
    await context.clock.sleep(secondReadingAfterMs, { signal: context.signal });
  } finally {
    stop();
  }
  const keyOf = ({ invariant, object, side }: Violation): string => `${invariant} ${side} ${object}`;
  const seen = new Set(suspected.map(keyOf));
  const reading = await readSnapshot(context, consumer, provider);
  const violations = checkInvariants(reading.snapshot).filter((violation) => seen.has(keyOf(violation)));
  return { reading, violations };
}

async function connectApp({ env }: CliContext, path: string): Promise<Consumer> {
  const config = await loadKubeconfig({ path, env });
  return consumerOf(config, createKubeClient(config, { userAgent: "klutch" }));
}

async function connectControlPlane(
  context: CliContext,
  consumer: Consumer,
  options: VerifyOptions,
): Promise<ControlPlane> {
  const { providerKubeconfig: path } = options;
  const config = await loadKubeconfig({ path, env: context.env });
  const named = options.namespace ?? config.namespace ?? "";
  const namespace = named === "" ? await ownClusterNamespace(context, consumer, "--namespace") : named;
  const client = createKubeClient({ ...config, namespace }, { userAgent: "klutch" });
  return { side: "provider", client, namespace, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

/** Returns the cluster namespace that the app cluster's kubeconfigs of its providers name. Throws `CliError`, naming `flag`, unless it is one. */
export async function ownClusterNamespace(
  { signal }: CliContext,
  { client }: Consumer,
  flag: string,
): Promise<string> {
  const all = client.listAll<DynamicObject>(secrets, { namespace: consumerNamespace, signal });
  const found = new Set<string>();
  for await (const secret of all) {
    const text = secretText(secret, kubeconfigKey);
    const namespace = text === undefined ? undefined : namespaceIn(text);
    if (namespace !== undefined) found.add(namespace);
  }
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  const which = only === undefined ? "no kubeconfig of a provider" : `providers of ${[...found].join(", ")}`;
  throw new CliError(
    "Usage",
    `The app cluster has ${which}. Pass ${flag} with the cluster namespace of this app cluster in the control plane.`,
  );
}

/** A provider's kubeconfig that cannot be read names none. */
function namespaceIn(text: string): string | undefined {
  try {
    return parseForeignKubeconfig(text).namespace;
  } catch {
    return undefined;
  }
}

interface Row {
  readonly resource: string;
  readonly role: "bound" | "claimed";
  /** Read although no accepted claim asks for it, to see that nothing is there. */
  readonly optional: boolean;
  readonly consumer: number | undefined;
  readonly provider: number | undefined;
}

function rowsOf({ resources, snapshot }: Reading): readonly Row[] {
  return resources.map((one) => ({ ...one, ...countCompared(snapshot, one.resource) }));
}

function reportOf(reading: Reading, provider: ControlPlane, violations: readonly Violation[]): object {
  return {
    namespace: provider.namespace,
    invariants: invariantNames,
    resources: rowsOf(reading),
    notes: reading.notes,
    leftOut: reading.leftOut.map(({ name, reason }) => ({ resource: name, reason })),
    violations,
  };
}

function textOf(reading: Reading, provider: ControlPlane, violations: readonly Violation[]): string {
  const shown = (count: number | undefined): string => (count === undefined ? "not read" : String(count));
  const rows = rowsOf(reading).map(({ resource, role, optional, consumer, provider: controlPlane }) => [
    resource,
    optional ? "unclaimed" : role,
    shown(consumer),
    shown(controlPlane),
  ]);
  const table =
    rows.length === 0
      ? "No API is bound.\n"
      : columns([["RESOURCE", "ROLE", "APP CLUSTER", "CONTROL PLANE"], ...rows]);
  const notes = reading.notes.map((text) => `Note: ${printable(text)}\n`).join("");
  const head = `Compared the app cluster with cluster namespace ${provider.namespace}:\n\n${table}${notes}\n`;
  if (violations.length === 0) {
    if (unseen(reading, provider) !== undefined) return `${head}No violation in the compared objects.\n`;
    const all = `All ${invariantNames.length} invariants hold`;
    const others = reading.leftOut.map(({ name }) => printable(name)).join(", ");
    return `${head}${others === "" ? `${all}.` : `${all} for the compared objects. Not compared: ${others}.`}\n`;
  }
  const lines = violations.map(({ invariant, side, object, message }) => [
    invariant,
    side === "consumer" ? "app cluster" : "control plane",
    object,
    message,
  ]);
  return `${head}${columns([["VIOLATED", "WHERE", "OBJECT", "MESSAGE"], ...lines])}`;
}
