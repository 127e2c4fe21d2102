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

/** As the annotation of an export says it. */
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
      `The provider's backend does not take answers: in its own cluster it gives this one rights also for ${printable(rejected)} of ${api.name}. The konnector does not use them.`,
    );
  }
}
