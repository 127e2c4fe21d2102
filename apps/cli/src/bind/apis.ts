/**
 * The common part of both commands: from export requests to bindings. Everything that can be refused is found out first; the app
 * cluster is written to only when the provider has made the exports and the person has answered all questions.
 */
import {
  acceptedClaimsText,
  type AnsweredPermissionClaim,
  type APIServiceBinding,
  bindingRules,
  boundApiRoleManifests,
  crdNameOf,
  type ExportRequestResponse,
  judgeClaim,
  type OfferedApi,
  type PermissionClaim,
  printable,
} from "@klutch/api";
import { discoverResource } from "@klutch/kube";
import type { ObjectRef } from "@klutch/kube-core";
import { claimFaults } from "@klutch/sync";
import { type Asked, acceptedOf, restoreAnswers, sendAnswers } from "./answers.ts";
import { answerTogether } from "../app-cluster/claims-together.ts";
import { answerClaims, answerUnrecorded, ask, confirmRights } from "../app-cluster/permission-claims.ts";
import type { Consumer, Provider } from "../clusters.ts";
import {
  bindingOf,
  createBinding,
  ensureNamespace,
  existingBinding,
  findKubeconfigSecret,
  refuseAggregated,
  removeUnusedSecret,
  writeKubeconfigSecret,
} from "./consumer.ts";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import { type AcceptedClaims, requestExports, takeBack, withAnswers } from "./export-request.ts";
import { type AnsweredBinding, readAnswers } from "../app-cluster/answers.ts";
import { type Grant, lackOfApi } from "../app-cluster/rights.ts";
import { writeApiLimits } from "../app-cluster/api-limits.ts";
import { writeClaimMarks } from "../app-cluster/claim-marks.ts";
import { confineKonnector, refreshConfinement } from "../app-cluster/confinement.ts";
import { removeRole } from "../app-cluster/binding-role.ts";
import { konnectorImage } from "../app-cluster/konnector-image.ts";
import {
  applyManifests,
  installKonnector,
  planKonnector,
  waitForBindingKind,
  willWatchAll,
} from "../app-cluster/konnector.ts";
import type { ClaimAnswer, CommonOptions } from "../options.ts";
import { type ChosenApis, confirmApis } from "./requested.ts";
import { describeRule } from "../app-cluster/rule-text.ts";

/** One API and the decision about it. */
interface Decision {
  readonly api: OfferedApi;
  readonly claims: readonly AnsweredPermissionClaim[];
  /** Existing binding, which stays unchanged. */
  readonly existing: APIServiceBinding | undefined;
  /** See `RuleOptions`. */
  readonly isWide: boolean;
  /** Rights of an existing binding that are missing stay so. Default false. */
  readonly keepsRoles?: boolean | undefined;
}

/** The app cluster before the command: bound APIs, with the claims that people accepted, and the konnector's rights. */
interface Standing {
  readonly answered: ReadonlyMap<string, AnsweredBinding>;
  readonly grants: readonly Grant[];
  /** The konnector that is to run watches all objects, whatever names a claim gives. */
  readonly isWide: boolean;
}

/**
 * Binds all APIs of the requests, which the caller has checked. `chosen` says where the user chose them; without it the user vouches for
 * them. Running it again after a failure completes the rest.
 */
export async function bindApis(
  context: CliContext,
  consumer: Consumer,
  provider: Provider,
  requests: readonly ExportRequestResponse[],
  options: CommonOptions,
  chosen?: ChosenApis,
): Promise<APIServiceBinding[]> {
  const secretName = await findKubeconfigSecret(consumer, provider, context.signal);
  const { bindings: present = [], roles, image } = await readAnswers(consumer, context.signal);
  const standing: Standing = {
    answered: new Map(present.map((api) => [api.name, api])),
    grants: roles.grants,
    isWide: willWatchAll(image, options),
  };
  const { known, unbound } = await sortRequested(consumer, requests, secretName, standing, context.signal);
  if (chosen !== undefined) await confirmApis(context, unbound, chosen, options.claims, ask);
  const { timeoutMs } = options;
  const asked: Asked[] = [];
  const refs: ObjectRef[] = [];
  let answers = known;
  const bound = new Map(known);
  try {
    const prepared: (Decision | Undecided)[] = [];
    for (const request of requests) {
      const made = await requestExports(context, provider, withAnswers(request, known), timeoutMs);
      refs.push(made.ref);
      asked.push({ ...made, request, known });
      for (const api of made.exports) {
        prepared.push(await prepare(context, consumer, api, { secretName, standing, options }));
      }
    }
    const decisions = await decideAll(context, prepared, options.claims);
    answers = new Map(decisions.map(({ api, claims }) => [api.name, acceptedOf(claims)]));
    for (const [index, one] of asked.entries()) {
      refs[index] = (await sendAnswers(context, provider, one, answers, timeoutMs)).ref;
    }
    const onBound = ({ api, claims }: Decision): void => void bound.set(api.name, acceptedOf(claims));
    return await carryOutAll(context, consumer, provider, decisions, { secretName, options, onBound });
  } catch (error) {
    await takeBack(provider, refs);
    await restoreAnswers(context, provider, asked, answers, bound);
    throw error;
  }
}

/** Separates bound APIs, with their accepted claims, from APIs that are not bound yet. Throws for an API that may not be bound here. */
async function sortRequested(
  consumer: Consumer,
  requests: readonly ExportRequestResponse[],
  secretName: string | undefined,
  { answered }: Standing,
  signal: AbortSignal,
): Promise<{ readonly known: AcceptedClaims; readonly unbound: readonly string[] }> {
  const unbound: string[] = [];
  const known = new Map<string, readonly PermissionClaim[]>();
  for (const resource of requests.flatMap(({ spec }) => spec.resources)) {
    const name = crdNameOf(resource);
    const existing = await existingBinding(consumer, name, secretName, signal);
    await refuseAggregated(consumer, resource, signal);
    if (existing === undefined) unbound.push(name);
    else known.set(name, acceptedOf(answered.get(name)?.claims));
  }
  return { known, unbound };
}

interface CarryOut {
  readonly secretName: string | undefined;
  readonly options: CommonOptions;
  /** Called for each API once it is bound. */
  readonly onBound: (decision: Decision) => void;
}

/** Writes in the app cluster. What a failure leaves half-made is taken away again; APIs that are bound by then stay. */
async function carryOutAll(
  context: CliContext,
  consumer: Consumer,
  provider: Provider,
  decisions: readonly Decision[],
  { secretName, options, onBound }: CarryOut,
): Promise<APIServiceBinding[]> {
  await ensureNamespace(context, consumer);
  const plan = planKonnector(await konnectorImage(consumer, context.signal), options);
  await installKonnector(context, consumer, plan, options);
  await waitForBindingKind(context, consumer, options);
  const confine = plan.kind === "apply" ? confineKonnector : refreshConfinement;
  const coming = decisions.map(({ api, claims }) => ({ name: api.name, claims }));
  await confine(context, consumer, coming);
  const writtenName = await writeKubeconfigSecret(context, consumer, provider, secretName);
  const bindings: APIServiceBinding[] = [];
  for (const decision of decisions) {
    try {
      bindings.push(await carryOut(context, consumer, decision, writtenName));
      onBound(decision);
    } catch (error) {
      // Also after Ctrl-C, so not with the signal of the command.
      const cleaning = { ...context, signal: AbortSignal.timeout(cleanupMs) };
      if (decision.existing === undefined) await removeRole(cleaning, consumer, decision.api.name);
      if (secretName === undefined) await removeUnusedSecret(cleaning, consumer, writtenName);
      await refreshConfinement(cleaning, consumer);
      throw error;
    }
  }
  const marked = options.marksAtAdmission ? decisions.map(({ api }) => api.name) : [];
  await writeClaimMarks(context, consumer, marked);
  await writeApiLimits(
    context,
    consumer,
    decisions.map(({ api }) => api.name),
  );
  return bindings;
}

const cleanupMs = 10_000;

/** A new API whose claims no one has answered. */
interface Undecided extends Pick<Decision, "api" | "isWide"> {
  readonly honourable: readonly PermissionClaim[];
  readonly refused: readonly AnsweredPermissionClaim[];
  readonly rightsOf: (claim: PermissionClaim) => string[];
}

/** Decides about an existing binding, and shows the rights of a new one. */
async function prepare(
  context: CliContext,
  consumer: Consumer,
  api: OfferedApi,
  given: {
    readonly secretName: string | undefined;
    readonly standing: Standing;
    readonly options: CommonOptions;
  },
): Promise<Decision | Undecided> {
  const { name } = api;
  const { secretName, standing, options } = given;
  const existing = await existingBinding(consumer, name, secretName, context.signal);
  const own = bindingRules(api, []);
  const { isWide = standing.isWide } = standing.answered.get(name) ?? {};
  const rightsOf = (claim: PermissionClaim): string[] =>
    bindingRules(api, [claim], { isWide }).slice(own.length).map(describeRule);
  if (existing !== undefined) {
    context.terminal.say(`APIServiceBinding ${name} exists. Its permission claims keep their answers.`);
    const { claims = [], unanswered = [] } = standing.answered.get(name) ?? {};
    const lack = lackOfApi({ name, claims, isWide }, standing.grants);
    const keepsRoles = lack.length > 0 && !(await confirmRights(context, name, lack, options.claims));
    const answered = await answerUnrecorded(context, { ...api, unanswered }, options.claims, rightsOf);
    return { api, claims: [...claims, ...answered], existing, isWide, keepsRoles };
  }
  context.terminal.say(
    `Binding ${name} gives the konnector in this cluster these rights, in all namespaces:`,
  );
  for (const rule of own) context.terminal.say(`  ${describeRule(rule)}`);
  const { honourable, refused } = await sortClaims(context, consumer, api);
  return { api, honourable, refused, rightsOf, isWide };
}

/** Asks about the claims of the new APIs: of several in one list. */
async function decideAll(
  context: CliContext,
  prepared: readonly (Decision | Undecided)[],
  answer: ClaimAnswer,
): Promise<readonly Decision[]> {
  const open = prepared.filter((one) => "honourable" in one);
  const asked = open.map(({ api, honourable, rightsOf }) => ({ api, claims: honourable, rightsOf }));
  const [only] = asked;
  const answers =
    only !== undefined && asked.length === 1
      ? [await answerClaims(context, only.api, only.claims, answer, only.rightsOf)]
      : asked.length === 0
        ? []
        : await answerTogether(context, asked, answer);
  const claimsOf = new Map(open.map((one, index) => [one, [...(answers[index] ?? []), ...one.refused]]));
  return prepared.map((one): Decision => {
    if (!("honourable" in one)) return one;
    const claims = claimsOf.get(one) ?? [];
    requireRecordable(one.api.name, claims);
    return { api: one.api, claims, existing: undefined, isWide: one.isWide };
  });
}

/** Throws before anything is written if the answers do not fit into their record. */
function requireRecordable(name: string, claims: readonly AnsweredPermissionClaim[]): void {
  try {
    acceptedClaimsText(claims);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new CliError("PermissionRejected", `${name} cannot be bound: ${cause.message}. ${nothingChanged}`, {
      cause,
    });
  }
}

/** Claims that this cluster can honour, and the others as rejected. Throws when one of those is required. */
async function sortClaims(
  context: CliContext,
  consumer: Consumer,
  api: OfferedApi,
): Promise<{
  readonly honourable: readonly PermissionClaim[];
  readonly refused: readonly AnsweredPermissionClaim[];
}> {
  const honourable: PermissionClaim[] = [];
  const refused: AnsweredPermissionClaim[] = [];
  for (const claim of api.permissionClaims) {
    // A claim that no one may accept never reaches the API server.
    if (judgeClaim(claim, api).kind === "refused") {
      honourable.push(claim);
      continue;
    }
    const query = { group: claim.group ?? "", version: claim.version, plural: claim.resource };
    const served = await discoverResource(consumer.client, query, { signal: context.signal });
    const faults =
      served === undefined
        ? [
            `permission claim on ${claim.resource}: this cluster does not serve ${claim.resource} ${claim.version}`,
          ]
        : claimFaults(claim, { namespaced: served.namespaced, clusterWide: api.informerScope === "Cluster" });
    if (faults.length === 0) {
      honourable.push(claim);
      continue;
    }
    const reason = printable(faults.join("; "));
    if (claim.required === true) {
      throw new CliError(
        "PermissionRejected",
        `${api.name} cannot be bound, because a permission that it requires cannot be given: ${reason}. ${nothingChanged}`,
      );
    }
    context.terminal.say(`Rejected, because this cluster cannot grant it: ${reason}.`);
    refused.push({ ...claim, state: "Rejected" });
  }
  return { honourable, refused };
}

async function carryOut(
  context: CliContext,
  consumer: Consumer,
  { api, claims, existing, isWide, keepsRoles }: Decision,
  secretName: string,
): Promise<APIServiceBinding> {
  if (keepsRoles !== true)
    await applyManifests(consumer, boundApiRoleManifests(api, claims, { isWide }), context.signal);
  if (existing !== undefined) return existing;
  const created = await createBinding(context, consumer, bindingOf(api.name, secretName, claims));
  context.terminal.say(`Created APIServiceBinding ${created.metadata.namespace}/${api.name}.`);
  return created;
}
