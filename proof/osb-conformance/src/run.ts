/** Runs all checks in their order, and the cleaning up that follows them in any case. */
import type { TlsSettings } from "@klutch/http-client";
import {
  type BrokerAuth,
  type PollClock,
  apiVersions,
  createCredentials,
  createNamedClient,
  hasFeature,
  nextVersion,
} from "@klutch/osb/internal";
import { checkBindings } from "./checks/bind.ts";
import { checkDeletion } from "./checks/deletion.ts";
import { checkCatalog, checkHeaders, expectWellFormed } from "./checks/headers.ts";
import { checkProvision, checkRefusedProvisions, checkSynchronousProvision } from "./checks/provision.ts";
import { checkFetchInstance, checkUpdate } from "./checks/update.ts";
import { cleanUp, type Leftover } from "./cleanup.ts";
import { CheckContext, type CheckParts, type CheckWishes, sender } from "./context.ts";
import { createExchanger, type Exchanger } from "./exchange.ts";
import { Ledger } from "./ledger.ts";
import { type CheckedPlan, choosePlan, type PlanWish } from "./plan-choice.ts";
import { type Finding, Report } from "./report.ts";

/** Which broker, and what of it. */
export interface CheckOptions {
  readonly url: string;
  readonly auth: BrokerAuth | undefined;
  readonly tls: TlsSettings | undefined;
  /** Default: the newest that the broker does not refuse. */
  readonly apiVersion?: string | undefined;
  /** Limits one request. */
  readonly timeoutMs: number;
  /** Limits the deletion of everything at the end. */
  readonly cleanupMs: number;
  readonly choice: PlanWish;
  readonly wishes: CheckWishes;
}

/** The inputs of a run from outside. */
export interface CheckSources {
  readonly clock: PollClock;
  /** A new UUID. */
  readonly newId: () => string;
  /** Ends the checks; what they made is still deleted. */
  readonly signal: AbortSignal;
  /** Ends the deleting, too. */
  readonly hurry: AbortSignal;
  /** Called with the name of each step that begins. */
  readonly tell: (what: string) => void;
}

/** The outcome of a run. */
export interface CheckResult {
  readonly findings: readonly Finding[];
  readonly version: string;
  readonly plan: CheckedPlan | undefined;
  /** The reason why not everything could be tested; undefined when it could. */
  readonly stoppedBy: string | undefined;
  /** Things that are still at the broker. */
  readonly leftovers: readonly Leftover[];
}

/** Runs everything. Throws only for faults of the configuration (`OsbTransportError` `NotSent`) and of this program. */
export async function checkBroker(options: CheckOptions, sources: CheckSources): Promise<CheckResult> {
  const { clock, signal, hurry } = sources;
  const { timeoutMs, tls, auth, url } = options;
  await using http = createNamedClient("the broker", { timeoutMs, tls });
  await using credentials = createCredentials(auth, { now: clock.now, timeoutMs });
  const report = new Report();
  const ledger = new Ledger();
  const run: Run = { report, ledger, options, sources, version: options.apiVersion ?? apiVersions[0] };
  const { newId } = sources;
  const parts = { http, url, credentials, newId, secrets: secretsOf(auth), version: () => run.version };
  const exchange = createExchanger({ ...parts, observe: (each) => expectWellFormed(report, each) });
  const quiet = createExchanger({ ...parts, observe: () => undefined });
  let stoppedBy: string | undefined;
  let leftovers: readonly Leftover[] = [];
  try {
    stoppedBy = await runChecks(run, exchange, quiet);
  } catch (error) {
    if (!signal.aborted) throw error;
    stoppedBy = "interrupted";
  } finally {
    leftovers = await emptied(ledger, sender(quiet, clock, hurry), options, sources);
  }
  if (!hasFeature(run.version, "requestIdentity"))
    report.forget("request-identity", "it came with version 2.15");
  const findings = report.findings(stoppedBy ?? "nothing tested it");
  return { findings, version: run.version, plan: run.plan, stoppedBy, leftovers };
}

/** The state of a run. */
interface Run {
  readonly report: Report;
  readonly ledger: Ledger;
  readonly options: CheckOptions;
  readonly sources: CheckSources;
  version: string;
  plan?: CheckedPlan;
}

/** Runs the checks. Returns the reason why they stopped early, or undefined. */
async function runChecks(run: Run, exchange: Exchanger, quiet: Exchanger): Promise<string | undefined> {
  const { report, ledger, options } = run;
  const { signal, clock, newId, tell } = run.sources;
  const send = sender(exchange, clock, signal);
  tell("catalog and headers");
  await agreeOnVersion(run, quiet);
  const catalog = await checkCatalog({ send, report });
  if (catalog === undefined) return "there is no catalog";
  await checkHeaders({ send, report }, { authenticates: options.auth !== undefined });
  const plan = choosePlan(catalog, options.choice);
  if (typeof plan === "string") return plan;
  run.plan = plan;
  // Ids of this command begin alike, so that people who find one know whose it is.
  const parts = { send, report, ledger, plan, clock, signal, newId: () => `05bc4ec0${newId().slice(8)}` };
  const context = new CheckContext({ ...parts, wishes: options.wishes });
  tell("provisioning");
  await checkRefusedProvisions(context);
  await checkSynchronousProvision(context);
  const instance = await checkProvision(context);
  if (typeof instance === "string") return instance;
  tell("fetching and updating");
  await checkFetchInstance(context, instance);
  const updated = await checkUpdate(context, instance);
  if (typeof updated === "string") return updated;
  const now = context.withPlan(updated.planId);
  tell("binding");
  const unbound = await checkBindings(now, instance);
  const cleanup = { ledger, send: sender(quiet, clock, signal), clock, signal, limitMs: options.cleanupMs };
  const bound = await cleanUp({ ...cleanup, bindingsOnly: true });
  if (bound.length > 0) return `a binding could not be deleted: ${bound[0]?.came}`;
  tell("deprovisioning");
  return (await checkDeletion(now, instance)) ?? unbound;
}

/** The newest version that the broker does not refuse with 412. */
async function agreeOnVersion(run: Run, exchange: Exchanger): Promise<void> {
  const { clock, signal } = run.sources;
  const send = sender(exchange, clock, signal);
  const refused = new Set<string>();
  while (run.options.apiVersion === undefined) {
    const { status, text } = await send({ method: "GET", path: "/v2/catalog" });
    if (status !== 412) return;
    refused.add(run.version);
    const next = nextVersion(refused, text);
    if (next === undefined) return;
    run.version = next;
  }
}

/** Cleans up and returns the leftovers; if `hurry` aborts, those are the entries still in the ledger. */
async function emptied(
  ledger: Ledger,
  send: CheckParts["send"],
  { cleanupMs }: CheckOptions,
  { clock, hurry, tell }: CheckSources,
): Promise<readonly Leftover[]> {
  const { length } = ledger.entries;
  if (length > 0) tell(`deleting ${length} things that may be left`);
  try {
    return await cleanUp({ ledger, send, clock, signal: hurry, limitMs: cleanupMs });
  } catch (error) {
    if (!hurry.aborted) throw error;
    return ledger.entries.map((entry) => ({ entry, came: "nobody waited for its deletion" }));
  }
}

function secretsOf(auth: BrokerAuth | undefined): readonly string[] {
  switch (auth?.kind) {
    case undefined:
      return [];
    case "basic":
      return [auth.password, Buffer.from(`${auth.username}:${auth.password}`).toString("base64")];
    case "bearer":
      return [auth.token];
    case "oauth":
      return [auth.clientSecret];
  }
}
