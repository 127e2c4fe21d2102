/**
 * The person's answers at the provider: its backend gives this cluster's account rights for accepted claims only. The claims are known
 * only once an export is there, so the first request accepts none, and another one follows when the person has answered.
 */
import {
  type AnsweredPermissionClaim,
  type ExportRequestResponse,
  type OfferedApi,
  type PermissionClaim,
  printable,
  rejectedClaims,
} from "@klutch/api";
import type { Provider } from "../clusters.ts";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import {
  type AcceptedClaims,
  type Requested,
  requestExports,
  takeBack,
  withAnswers,
} from "./export-request.ts";

/** The claims that were accepted, as a request names them. */
export function acceptedOf(claims: readonly AnsweredPermissionClaim[] = []): PermissionClaim[] {
  return claims.filter(({ state }) => state === "Accepted").map(({ state: _accepted, ...claim }) => claim);
}

/** A request that was sent with the answers that were known then. */
export interface Asked extends Requested {
  readonly request: ExportRequestResponse;
  readonly known: AcceptedClaims;
}

/**
 * Replaces a request by one with the answers where they differ from those that it was sent with, and gives back what there is now. A
 * backend that shows no answers to the first one knows of none, as existing ones: it is not asked again.
 */
export async function sendAnswers(
  context: CliContext,
  provider: Provider,
  asked: Asked,
  answers: AcceptedClaims,
  timeoutMs: number,
): Promise<Requested> {
  const { request, known, exports, ref } = asked;
  const changed = exports.filter((api) => rejectedOf(api, answers) !== rejectedOf(api, known));
  if (!changed.some((api) => shows(api, known))) {
    warnOfRights(context, exports, answers);
    return asked;
  }
  await takeBack(provider, [ref]);
  const answered = await requestExports(context, provider, withAnswers(request, answers), timeoutMs);
  const untold = answered.exports.find((api) => !shows(api, answers));
  if (untold === undefined) return answered;
  await takeBack(provider, [answered.ref]);
  throw new CliError(
    "ExportFailed",
    `The provider's export of ${untold.name} does not show your answers to its permission claims. ${nothingChanged} Try again, or ask the provider's operator whether its backend runs.`,
  );
}

/**
 * Undoes answers after a failure: replaces the answers that were sent by those of the existing bindings, so that only these give rights.
 * Runs also after Ctrl-C, for at most ten seconds per request. Never throws: a failure is reported, and the next command corrects it.
 */
export async function restoreAnswers(
  context: CliContext,
  provider: Provider,
  asked: readonly Asked[],
  sent: AcceptedClaims,
  bound: AcceptedClaims,
): Promise<void> {
  for (const { request, known, exports } of asked) {
    const changed = exports.filter((api) => rejectedOf(api, sent) !== rejectedOf(api, bound));
    if (!changed.some((api) => shows(api, known))) continue;
    const problem = await askAgain(context, provider, withAnswers(request, bound), bound);
    if (problem === undefined) continue;
    const names = changed.map(({ name }) => name).join(", ");
    context.terminal.say(
      `At the provider this app cluster may keep rights for permission claims of ${names} that it does not use: ${printable(problem)}. Run the command again to correct this.`,
    );
  }
}

const restoreMs = 10_000;

/** Waits for the provider to show the answers. Returns the reason if it does not, undefined if it does. */
async function askAgain(
  context: CliContext,
  provider: Provider,
  request: ExportRequestResponse,
  answers: AcceptedClaims,
): Promise<string | undefined> {
  try {
    const late = { ...context, signal: AbortSignal.timeout(restoreMs) };
    const { ref, exports } = await requestExports(late, provider, request, restoreMs);
    await takeBack(provider, [ref]);
    return exports.every((api) => shows(api, answers)) ? undefined : "its export shows other answers";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Returns the rejected claims in the form of the export's annotation. */
function rejectedOf({ name, permissionClaims }: OfferedApi, accepted: AcceptedClaims): string | undefined {
  return rejectedClaims(permissionClaims, accepted.get(name) ?? []);
}

function shows(api: OfferedApi, accepted: AcceptedClaims): boolean {
  return api.rejectedClaims === rejectedOf(api, accepted);
}

/** Says what the provider gives rights for although it was rejected. */
function warnOfRights(context: CliContext, exports: readonly OfferedApi[], answers: AcceptedClaims): void {
  for (const api of exports) {
    const rejected = rejectedOf(api, answers);
    if (rejected === undefined || shows(api, answers)) continue;
    context.terminal.say(
      `The provider's backend ignores answers to permission claims. In its own cluster it also gives this app cluster rights for ${printable(rejected)} of ${api.name}. The konnector does not use them.`,
    );
  }
}
