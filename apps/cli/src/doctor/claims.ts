/** The claims of the bound APIs: how many are not ready, and why. */
import { type APIServiceBinding, printable } from "@klutch/api";
import {
  conditionsOf,
  type DynamicObject,
  findCondition,
  keyOfRef,
  type NewCondition,
  textAt,
} from "@klutch/kube-core";
import { deletionHeldReason } from "@klutch/sync";
import { servedResource } from "../app-cluster/bound-resource.ts";
import type { Consumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { counted } from "../findings.ts";
import { type Finding, note, ok, problem, type Section } from "./diagnosis.ts";

const title = "Claims";
/** Most claims that are named. */
const mostNamed = 10;
/** A claim that is not ready for longer is a problem: the slowest service needs a quarter of an hour. */
const patienceMs = 15 * 60_000;

/** A claim that is not ready. */
interface Unready {
  /** `<plural.group> <namespace>/<name>`. */
  readonly name: string;
  readonly cause: string;
  readonly isProblem: boolean;
}

/** Reads every claim of the bound APIs, page by page. */
export async function checkClaims(
  { clock, signal }: CliContext,
  consumer: Consumer,
  bindings: readonly APIServiceBinding[],
): Promise<Section> {
  const unready: Unready[] = [];
  let count = 0;
  for (const { metadata } of bindings) {
    const { name = "" } = metadata;
    const type = await servedResource(consumer, name, signal);
    if (type === undefined) continue;
    const silent: Unready[] = [];
    let reports = false;
    for await (const claim of consumer.client.listAll<DynamicObject>(type, { signal })) {
      count++;
      reports ||= findCondition(conditionsOf(claim), "Ready") !== undefined;
      const found = judge(name, claim, clock.now());
      if (found !== undefined) silent.push(found);
    }
    // A kind without the condition says nothing of its claims.
    if (reports) unready.push(...silent);
  }
  return { title, findings: findingsOf(unready, count) };
}

/** Returns undefined for a claim that is ready. */
function judge(api: string, claim: DynamicObject, nowMs: number): Unready | undefined {
  const { name = "", namespace, creationTimestamp, deletionTimestamp } = claim.metadata;
  const conditions = conditionsOf(claim);
  const failed = conditions.filter(({ status }) => status === "False");
  const ready = findCondition(conditions, "Ready");
  if (ready?.status === "True" && failed.length === 0 && deletionTimestamp === undefined) return undefined;
  const since = deletionTimestamp ?? textAt(ready, "lastTransitionTime") ?? creationTimestamp ?? "";
  const isOld = nowMs - Date.parse(since) > patienceMs;
  const isRefused = failed.some(
    ({ type, reason }) => type === "Synced" || type.endsWith("/Synced") || reason === deletionHeldReason,
  );
  return {
    name: `${api} ${keyOfRef({ namespace, name })}`,
    cause: causeOf(failed, deletionTimestamp),
    isProblem: isOld || isRefused,
  };
}

/** Conditions of Klutch come first, because their words are for developers; a claim without any was not answered. */
function causeOf(failed: readonly NewCondition[], deletionTimestamp: string | undefined): string {
  const [first] = failed.toSorted((left, right) => Number(isOurs(right)) - Number(isOurs(left)));
  const deleting = deletionTimestamp === undefined ? [] : [`is being deleted since ${deletionTimestamp}`];
  if (first === undefined) return deleting[0] ?? "has no answer from the control plane";
  const { type, reason = type, message = "" } = first;
  return printable([...deleting, message === "" ? reason : `${reason}: ${message}`].join("; "));
}

function isOurs({ type }: NewCondition): boolean {
  return type.startsWith("klutch.anynines.com/");
}

function findingsOf(unready: readonly Unready[], count: number): readonly Finding[] {
  if (unready.length === 0) return [ok(count === 0 ? "None." : `${counted(count, "claim")}, none unready.`)];
  const named = unready
    .toSorted((left, right) => Number(right.isProblem) - Number(left.isProblem))
    .slice(0, mostNamed);
  const more = unready.length - named.length;
  return [
    note(`${unready.length} of ${counted(count, "claim")} ${unready.length === 1 ? "is" : "are"} not ready.`),
    ...named.map(({ name, cause, isProblem }) => (isProblem ? problem : note)(name, cause)),
    ...(more === 0 ? [] : [note(`${more} more; kubectl get claim --all-namespaces shows all.`)]),
  ];
}
