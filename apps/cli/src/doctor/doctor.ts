/** Implements `klutch doctor`: diagnoses Klutch in an app cluster and says how to repair it. */
import { type APIServiceBinding, printable, syncerFinalizer } from "@klutch/api";
import { customResourceDefinitions, findCondition, keyOfRef, type KubeObject } from "@klutch/kube-core";
import { crdHashAnnotation } from "@klutch/sync";
import { type Consumer, connectConsumer } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import type { CommonOptions } from "../options.ts";
import { bindingOwner, listBindings, listMetadata, servedResource } from "../app-cluster/bound-resource.ts";
import { hasLiveKonnector, type Home, needsKonnector, readHome } from "../app-cluster/home.ts";
import { checkClaims } from "./claims.ts";
import {
  type Finding,
  note,
  ok,
  printJson,
  printSections,
  problem,
  problemsIn,
  type Section,
} from "./diagnosis.ts";
import { checkKonnector } from "./konnector.ts";
import { checkLogins } from "./logins.ts";
import { checkRights, fixRights } from "./rights.ts";
import { CheckFailedError, CouldNotLookError, counted } from "../findings.ts";

/** Flags of `doctor`. */
export interface DoctorOptions extends Omit<CommonOptions, "output"> {
  /** Write the konnector's roles as they must be; `claims` answers whether it gets rights that it lacks. Nothing else is ever changed. */
  readonly fix: boolean;
  /** Format of the findings. Default: text. */
  readonly output: "json" | undefined;
}

/** Runs the command. Throws `CheckFailedError` when a problem is left, and `CouldNotLookError` when it cannot look. */
export async function doctor(context: CliContext, options: DoctorOptions): Promise<void> {
  try {
    await diagnose(context, options);
  } catch (error) {
    throw error instanceof CheckFailedError ? error : new CouldNotLookError(error);
  }
}

async function diagnose(context: CliContext, options: DoctorOptions): Promise<void> {
  await using consumer = await connectConsumer(options);
  const { output } = options;
  const bindings = await listBindings(consumer, context.signal);
  const home = await readHome(context, consumer);
  const rights = await checkRights(context, consumer, home);
  const sections = await sectionsOf(context, consumer, home, bindings, rights.section);
  if (output === undefined) printSections(context, sections);
  let left = problemsIn(sections);
  if (options.fix && (await fixRights(context, consumer, rights, options.claims))) {
    const again = await checkRights(context, consumer, home);
    const repaired = { ...again.section, title: "Rights of the konnector, after the repair" };
    sections.push(repaired);
    if (output === undefined) printSections(context, [repaired]);
    left += problemsIn([again.section]) - problemsIn([rights.section]);
  }
  if (output === "json") printJson(context, sections, left);
  if (left === 0) context.terminal.say("No problems.");
  else throw new CheckFailedError(`${counted(left, "problem")} found.`);
}

/** Looks without repairing; returns the sections that `doctor` prints. */
export async function diagnosisOf(context: CliContext, consumer: Consumer): Promise<readonly Section[]> {
  const bindings = await listBindings(consumer, context.signal);
  const home = await readHome(context, consumer);
  const { section } = await checkRights(context, consumer, home);
  return sectionsOf(context, consumer, home, bindings, section);
}

async function sectionsOf(
  context: CliContext,
  consumer: Consumer,
  home: Home,
  bindings: readonly APIServiceBinding[] | undefined,
  rights: Section,
): Promise<Section[]> {
  return [
    await checkKonnector(context, consumer, home, bindings ?? []),
    checkBindings(bindings, home, context.clock.now()),
    rights,
    await checkClaims(context, consumer, bindings ?? []),
    ...(await checkApis(context, consumer, bindings ?? [])),
    ...(await checkLogins(context, consumer, bindings ?? [])),
  ];
}

function checkBindings(bindings: readonly APIServiceBinding[] | undefined, home: Home, now: number): Section {
  const title = "Bindings";
  if (bindings === undefined) {
    const text = "The kind APIServiceBinding is not served: nothing has been bound in this cluster.";
    return { title, findings: [note(text)] };
  }
  if (bindings.length === 0) return { title, findings: [note("No API is bound.")] };
  return { title, findings: bindings.map((binding) => bindingFinding(binding, home, now)) };
}

/** A konnector renews the time of a binding about every 80 seconds. An older one is of two that were missed, and one more. */
const staleAfterMs = 240_000;

/** Returns the age of the binding's last heartbeat; undefined if an older konnector, or none, serves it. */
function heartbeatAgeMs({ status }: APIServiceBinding, now: number): number | undefined {
  const at = Date.parse(status?.lastHeartbeatTime ?? "");
  return Number.isNaN(at) ? undefined : Math.max(0, now - at);
}

function agoText(ageMs: number): string {
  const seconds = Math.round(ageMs / 1_000);
  if (seconds < 120) return `${seconds} s ago`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3_600)} h ago`;
}

/** Conditions that are True while the konnector waits for a person. */
const holds: ReadonlySet<string> = new Set(["CreationHeld", "DeletionHeld"]);

function bindingFinding(binding: APIServiceBinding, home: Home, now: number): Finding {
  const { metadata, status } = binding;
  const { name = "" } = metadata;
  const conditions = status?.conditions ?? [];
  if (metadata.deletionTimestamp !== undefined) {
    if (needsKonnector(binding) && !hasLiveKonnector(home))
      return problem(
        `${name} is being unbound, and no konnector works that could do it.`,
        `Without a konnector: klutch hand-back ${name} lets the binding go. Its claims and databases stay.`,
      );
    const unbinding = findCondition(conditions, "Unbinding");
    const text = printable(unbinding?.message ?? "the konnector has not said what it waits for");
    return note(`${name} is being unbound: ${text}.`, `klutch unbind ${name}`);
  }
  const ready = findCondition(conditions, "Ready");
  const held = conditions.filter(({ type, status: value }) => holds.has(type) && value === "True");
  const ageMs = heartbeatAgeMs(binding, now);
  const heartbeat = ageMs === undefined ? "" : `; last heartbeat ${agoText(ageMs)}`;
  if (ready?.status === "True" && held.length === 0) {
    if (ageMs === undefined || ageMs < staleAfterMs) return ok(`${name} is Ready${heartbeat}.`);
    return problem(
      `${name} was Ready${heartbeat}. Nothing is known since then.`,
      "No konnector has reached the control plane in this time; see the rows of the konnector. If they are well, check the clock of this machine.",
    );
  }
  const reasons = conditions.filter(
    ({ type, status: value, severity }) =>
      type !== "Ready" && !holds.has(type) && value !== "True" && severity !== "Info",
  );
  const causes =
    reasons.length > 0 || held.length > 0 ? [...held, ...reasons] : ready === undefined ? [] : [ready];
  const lines = causes.map(({ type, reason, message = "" }) =>
    printable(`${type}${reason === undefined ? "" : ` ${reason}`}: ${message}`),
  );
  const isHeld =
    held.some(({ reason }) => reason !== "NamespaceDeletion") ||
    reasons.some(({ reason }) => reason === "BreakingSchemaChange");
  if (isHeld) lines.push(`When that is right: klutch release ${name}`);
  return problem(
    ready?.status === "True"
      ? `${name} is Ready, but holds ${held.some(({ type }) => type === "CreationHeld") ? "creations" : "deletions"}${heartbeat}.`
      : `${name} is not Ready${heartbeat}.`,
    lines.length > 0 ? lines.join("\n") : "No konnector has reported on it.",
  );
}

/** Finds CRDs of bindings, and objects with our finalizer that no konnector will remove. */
async function checkApis(
  { signal }: CliContext,
  consumer: Consumer,
  bindings: readonly APIServiceBinding[],
): Promise<readonly Section[]> {
  const names = new Set(bindings.map(({ metadata }) => metadata.name));
  const uids = new Set(bindings.map(({ metadata }) => metadata.uid));
  const all = consumer.client.listAll(customResourceDefinitions, { metadataOnly: true, signal });
  const crds: Finding[] = [];
  const claims: Finding[] = [];
  for await (const crd of all) {
    const { name = "", annotations } = crd.metadata;
    const owner = bindingOwner(crd);
    if (owner === undefined && annotations?.[crdHashAnnotation] === undefined) continue;
    if (names.has(name)) {
      if (owner === undefined || uids.has(owner.uid)) continue;
      crds.push(
        note(`${name} belongs to an earlier binding; the konnector takes it over for the present one.`),
      );
      continue;
    }
    const objects = await objectsOf(consumer, name, signal);
    if (owner !== undefined) crds.push(leftCrd(name, objects.length));
    claims.push(...objects.flatMap((object) => waitingClaim(name, object)));
  }
  return [
    { title: "Objects that wait for a binding", findings: claims.length > 0 ? claims : [ok("None.")] },
    {
      title: "CustomResourceDefinitions without their binding",
      findings: crds.length > 0 ? crds : [ok("None.")],
    },
  ];
}

async function objectsOf(
  consumer: Consumer,
  name: string,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const type = await servedResource(consumer, name, signal);
  return type === undefined ? [] : listMetadata(consumer, type, signal);
}

function leftCrd(name: string, count: number): Finding {
  const text = `${name}: its APIServiceBinding is gone. ${counted(count, "object")} of it exist${count === 1 ? "s" : ""} and ${count === 1 ? "is" : "are"} not synced.`;
  return note(
    text,
    `Bind ${name} again. Or delete the CustomResourceDefinition with all its objects: kubectl delete crd ${name}`,
  );
}

function waitingClaim(resource: string, { metadata }: KubeObject): readonly Finding[] {
  const { name = "", namespace, finalizers = [], deletionTimestamp } = metadata;
  const index = finalizers.indexOf(syncerFinalizer);
  if (index < 0) return [];
  const what = `${resource} ${keyOfRef({ namespace, name })}`;
  const path = `/metadata/finalizers/${index}`;
  const patch = JSON.stringify([
    { op: "test", path, value: syncerFinalizer },
    { op: "remove", path },
  ]);
  const flag = namespace === undefined ? "" : ` --namespace ${namespace}`;
  const command = `kubectl patch ${resource} ${name}${flag} --type=json -p '${patch}'`;
  return [
    deletionTimestamp === undefined
      ? note(
          `${what} has the finalizer ${syncerFinalizer}, but no APIServiceBinding serves it. Its deletion would wait.`,
          command,
        )
      : problem(
          `${what} is being deleted since ${deletionTimestamp} and waits, because no APIServiceBinding serves it.`,
          `Bind ${resource} again: then it is deleted at the provider too. Or remove the finalizer here and keep what the provider has:\n${command}`,
        ),
  ];
}
