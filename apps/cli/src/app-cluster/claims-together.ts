/** The questions about the permission claims of several APIs: one list, and one answer for all that need no decision of their own. */
import { type AnsweredPermissionClaim, crdNameOf, type PermissionClaim, printable } from "@klutch/api";
import type { CliContext } from "../context.ts";
import { counted } from "../findings.ts";
import type { ClaimAnswer } from "../options.ts";
import { ask, type ClaimingApi, decideClaim, refuseIfRequired, showClaim } from "./permission-claims.ts";

/** An API with the claims that this cluster can honour. */
export interface ClaimingApis {
  readonly api: ClaimingApi;
  readonly claims: readonly PermissionClaim[];
  /** Rights of the konnector that a claim needs. */
  readonly rightsOf: (claim: PermissionClaim) => readonly string[];
}

/** A claim that someone has to answer. */
interface OpenClaim {
  readonly api: ClaimingApi;
  readonly claim: PermissionClaim;
  readonly isGrave: boolean;
}

/**
 * Shows all claims, then asks. A no to all of them leads to a question for each. Claims with a warning get their own question, which no flag
 * answers with yes. Returns the answered claims of each API, in order. Throws `CliError` when a required claim is rejected.
 */
export async function answerTogether(
  context: CliContext,
  apis: readonly ClaimingApis[],
  answer: ClaimAnswer,
): Promise<readonly (readonly AnsweredPermissionClaim[])[]> {
  const open = showAll(context, apis);
  const plain = open.flat().filter(({ isGrave }) => !isGrave);
  const all = await answerAll(context, plain.length, answer);
  const answered: AnsweredPermissionClaim[][] = [];
  for (const claims of open) {
    const own: AnsweredPermissionClaim[] = [];
    for (const one of claims) {
      const yes = one.isGrave || all === undefined ? await answerOne(context, one, answer) : all;
      if (!yes) refuseIfRequired(one.api, one.claim);
      own.push({ ...one.claim, state: yes ? "Accepted" : "Rejected" });
    }
    answered.push(own);
  }
  return answered;
}

/** Returns, for each API, the claims that need an answer. */
function showAll(context: CliContext, apis: readonly ClaimingApis[]): readonly (readonly OpenClaim[])[] {
  const total = apis.reduce((sum, { claims }) => sum + claims.length, 0);
  context.terminal.say(
    total === 0
      ? "The APIs ask for no permission on other objects of this cluster."
      : `The APIs ask for ${counted(total, "permission")}:`,
  );
  return apis.map(({ api, claims, rightsOf }) => {
    if (claims.length > 0) context.terminal.say(`For ${api.name}:`);
    return claims.flatMap((claim) => {
      const verdict = showClaim(context, api, claim, rightsOf);
      if (verdict.kind !== "refused") return [{ api, claim, isGrave: verdict.kind === "grave" }];
      refuseIfRequired(api, claim, ` It is refused: ${verdict.reason}.`);
      return [];
    });
  });
}

/** Returns the answer to all plain claims; undefined if each needs its own. */
async function answerAll(
  context: CliContext,
  count: number,
  answer: ClaimAnswer,
): Promise<boolean | undefined> {
  if (count === 0) return undefined;
  if (answer !== "ask") return decideClaim(context, answer, false);
  const question =
    count === 1 ? "Do you accept this Permission?" : `Do you accept these ${count} Permissions?`;
  const yes = await ask(context, question);
  return yes || count === 1 ? yes : undefined;
}

async function answerOne(
  context: CliContext,
  { api, claim, isGrave }: OpenClaim,
  answer: ClaimAnswer,
): Promise<boolean> {
  const { group = "", resource } = claim;
  const name = group === "" ? resource : crdNameOf({ group, resource });
  const need = claim.required === true ? ", which is required" : "";
  const warned = isGrave ? ", with the warning above" : "";
  context.terminal.say(`${api.name} asks for ${printable(name)}${warned}${need}.`);
  return decideClaim(context, answer, isGrave);
}
