/** Prints the bindings after a command: whether they work already, and the next step. */
import { type APIServiceBinding, apiServiceBindings, consumerNamespace } from "@klutch/api";
import { ApiError, TransportError } from "@klutch/kube";
import { findCondition } from "@klutch/kube-core";
import { konnectorLease } from "../app-cluster/konnector-lease.ts";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import type { CommonOptions } from "../options.ts";
import { bindingTable, formatObjects } from "../output.ts";

/** While a konnector works, it usually needs one or two seconds. */
const longestWaitMs = 5_000;
const intervalMs = 250;

/**
 * Prints the bindings. Before it prints a table, which is for a person, it waits a few seconds for them to become ready if a konnector
 * runs in the cluster; below the table it prints the next step.
 */
export async function showBindings(
  context: CliContext,
  consumer: Consumer,
  bindings: readonly APIServiceBinding[],
  options: Pick<CommonOptions, "output" | "showManagedFields">,
): Promise<void> {
  const { terminal, clock } = context;
  if (options.output !== undefined) {
    terminal.out(formatObjects(bindings, options.output, options));
    return;
  }
  const result = await settled(context, consumer, bindings);
  terminal.out(bindingTable(result.shown, clock.now()));
  terminal.say(nextStep(result));
}

interface Settled {
  readonly shown: readonly APIServiceBinding[];
  /** True if a konnector runs in the cluster; undefined if that could not be determined. */
  readonly works: boolean | undefined;
}

/** Reads the bindings until all are ready, no konnector runs, or the time is over. */
async function settled(
  context: CliContext,
  consumer: Consumer,
  bindings: readonly APIServiceBinding[],
): Promise<Settled> {
  const { clock, signal, terminal } = context;
  const deadline = clock.monotonic() + longestWaitMs;
  let last: Settled = { shown: bindings, works: undefined };
  let stop: (() => void) | undefined;
  try {
    for (;;) {
      last = await look(context, consumer, bindings);
      if (last.works !== true || last.shown.every(isReady) || clock.monotonic() >= deadline) return last;
      stop ??= terminal.waiting("Waiting for the konnector to make it ready");
      await clock.sleep(intervalMs, { signal });
    }
  } catch (error) {
    // It is bound. What cannot be looked at is shown as it was.
    if (error instanceof ApiError || error instanceof TransportError) return last;
    throw error;
  } finally {
    stop?.();
  }
}

async function look(
  { clock, signal }: CliContext,
  consumer: Consumer,
  bindings: readonly APIServiceBinding[],
): Promise<Settled> {
  const refs = bindings.map(({ metadata }) => ({ namespace: consumerNamespace, name: metadata.name ?? "" }));
  const [lease, ...found] = await Promise.all([
    konnectorLease(consumer, clock.now(), signal),
    ...refs.map((ref) => consumer.client.find<APIServiceBinding>(apiServiceBindings, ref, { signal })),
  ]);
  const shown = bindings.map((binding, index) => found[index] ?? binding);
  return { shown, works: lease?.isLive === true };
}

function isReady({ status }: APIServiceBinding): boolean {
  return findCondition(status?.conditions ?? [], "Ready")?.status === "True";
}

function nextStep({ shown, works }: Settled): string {
  if (shown.every(isReady)) {
    const plurals = shown.map(({ metadata }) => metadata.name?.split(".")[0] ?? "");
    return `Next: ${plurals.map((plural) => `kubectl explain ${plural}.spec`).join(", ")}`;
  }
  const kubectl = `kubectl --namespace ${consumerNamespace}`;
  return works === false
    ? `No konnector is running in this cluster yet; the binding becomes ready when one runs. To watch it start: ${kubectl} get pods`
    : `The binding is not ready yet. To watch it: ${kubectl} get apiservicebindings. If it stays so, run klutch doctor.`;
}
