/** The questions about a provider's permission claims. */
import {
  type AnsweredPermissionClaim,
  claimDetails,
  claimedObjects,
  type ClaimVerdict,
  judgeClaim,
  type PermissionClaim,
  printable,
  watchedNames,
} from "@klutch/api";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import { counted } from "../findings.ts";
import type { ClaimAnswer } from "../options.ts";

/** Describes a claim in plain words. */
export function describeClaim(claim: PermissionClaim): string {
  const { group = "", version } = claim;
  const resource = printable(claim.resource);
  const apiVersion = printable(group === "" ? version : `${group}/${version}`);
  const lines = [
    `The provider wants to ${verbOf(claim)} ${resource} objects (apiVersion: "${apiVersion}") on your cluster${referencesOf(claim)}`,
    ...claimDetails(claim),
    claim.required === true
      ? "Accepting this Permission is required in order to proceed."
      : "Accepting this Permission is optional.",
  ];
  return lines.join("\n");
}

function verbOf(claim: PermissionClaim): string {
  if (claim.autoDonate === true) return "create user owned";
  if (claim.autoAdopt === true) return "have ownership of";
  switch (claim.selector?.owner) {
    case "Provider":
      return "write";
    case "Consumer":
      return "read";
    case undefined:
      return "read and write";
  }
}

function referencesOf({ selector }: PermissionClaim): string {
  const { names, namespaces, labels, fields } = claimedObjects(selector);
  const quoted = (texts: readonly string[]): string => texts.map((text) => `"${text}"`).join(" or ");
  const references = [
    // No name has a blank, so this is how many there are besides.
    ...names.map((name) => (name.includes(" ") ? `${name} names` : `name: "${name}"`)),
    ...namespaces.map((namespace) => `namespace: "${namespace}"`),
    ...(labels.length === 0 ? [] : [`labels: ${quoted(labels)}`]),
    ...(fields.length === 0 ? [] : [`fields: ${quoted(fields)}`]),
  ];
  return references.length === 0
    ? "."
    : `, which are referenced with:${references.map((one) => `\n\t- ${one}`).join("")}`;
}

/** RBAC can name Secrets, but not choose them by label or namespace, and most names are not known in advance. */
const allSecrets =
  "RBAC cannot narrow this right to the Secrets of Klutch: the konnector can read every Secret of this cluster.";

/** An API that is being bound. */
export interface ClaimingApi {
  /** `<resource>.<group>`. */
  readonly name: string;
  readonly group: string;
}

/**
 * Asks about each claim, or answers as the flags say, and shows the konnector rights that a claim needs (`rightsOf`). Claims that no one
 * may accept are left out of the result, and `--accept-permissions` does not accept claims that require a person's decision.
 * Rejecting a required claim ends the command before the app cluster is changed.
 */
export async function answerClaims(
  context: CliContext,
  api: ClaimingApi,
  claims: readonly PermissionClaim[],
  answer: ClaimAnswer,
  rightsOf: (claim: PermissionClaim) => readonly string[],
): Promise<AnsweredPermissionClaim[]> {
  const answered: AnsweredPermissionClaim[] = [];
  for (const claim of claims) {
    const verdict = showClaim(context, api, claim, rightsOf);
    if (verdict.kind === "refused") {
      refuseIfRequired(api, claim, ` It is refused: ${verdict.reason}.`);
      continue;
    }
    const accepted = await decideClaim(context, answer, verdict.kind === "grave");
    if (!accepted) refuseIfRequired(api, claim);
    answered.push({ ...claim, state: accepted ? "Accepted" : "Rejected" });
  }
  return answered;
}

/** Shows a claim, its dangers and the konnector rights that it needs (`rightsOf`). Returns the verdict on it. */
export function showClaim(
  { terminal }: CliContext,
  api: ClaimingApi,
  claim: PermissionClaim,
  rightsOf: (claim: PermissionClaim) => readonly string[],
): ClaimVerdict {
  terminal.say(describeClaim(claim));
  const verdict = judgeClaim(claim, api);
  if (verdict.kind === "refused") {
    terminal.say(`Refused: ${verdict.reason}.`);
    return verdict;
  }
  if (verdict.kind === "grave") terminal.say(`Warning: ${verdict.reason}.`);
  for (const right of rightsOf(claim)) terminal.say(`  Right of the konnector: ${right}`);
  if (claim.resource === "secrets" && watchedNames(claim.selector ?? {}) === undefined)
    terminal.say(`  ${allSecrets}`);
  return verdict;
}

/**
 * Asks about claims that a binding calls accepted, although no one accepted them in this cluster, and returns the accepted ones. The
 * rejected ones need nothing more, because without rights they are without effect.
 */
export async function answerUnrecorded(
  context: CliContext,
  api: ClaimingApi & { readonly unanswered: readonly PermissionClaim[] },
  answer: ClaimAnswer,
  rightsOf: (claim: PermissionClaim) => readonly string[],
): Promise<readonly AnsweredPermissionClaim[]> {
  if (api.unanswered.length === 0) return [];
  context.terminal.say(
    `APIServiceBinding ${api.name} calls ${counted(api.unanswered.length, "permission claim")} accepted that no one accepted in this cluster. If you do not know why, reject.`,
  );
  const accepted: AnsweredPermissionClaim[] = [];
  for (const claim of api.unanswered) {
    context.terminal.say(describeClaim({ ...claim, required: false }));
    const verdict = judgeClaim(claim, api);
    if (verdict.kind !== "plain")
      context.terminal.say(`${verdict.kind === "grave" ? "Warning" : "Refused"}: ${verdict.reason}.`);
    if (verdict.kind === "refused") continue;
    for (const right of rightsOf(claim)) context.terminal.say(`  Right of the konnector: ${right}`);
    // No flag covers it: a program that runs again and again would accept whatever a binding says by then.
    if (answer !== "reject" && (await ask(context, question, false)))
      accepted.push({ ...claim, state: "Accepted" });
    else context.terminal.say("Rejected.");
  }
  return accepted;
}

/** Shows rights that the konnector lacks for an API and asks for them, or answers as the flags say. */
export async function confirmRights(
  context: CliContext,
  name: string,
  rights: readonly string[],
  answer: ClaimAnswer,
): Promise<boolean> {
  context.terminal.say(`The konnector lacks rights for ${name}:`);
  for (const right of rights) context.terminal.say(`  ${right}`);
  const given =
    answer === "ask" ? await ask(context, "Do you give it these rights?", false) : answer === "accept";
  context.terminal.say(given ? "Given." : "Not given.");
  return given;
}

/** Throws `CliError` for a required claim: the API cannot be bound without it. */
export function refuseIfRequired(api: ClaimingApi, claim: PermissionClaim, why = ""): void {
  if (claim.required !== true) return;
  throw new CliError(
    "PermissionRejected",
    `${api.name} cannot be bound without the required permission for ${printable(claim.resource)}.${why} ${nothingChanged}`,
  );
}

const question = "Do you accept this Permission?";

/** Answers a claim as the flags say, or asks. No flag accepts a grave one. */
export async function decideClaim(
  context: CliContext,
  answer: ClaimAnswer,
  isGrave: boolean,
): Promise<boolean> {
  const { terminal } = context;
  if (answer === "ask") return ask(context, question);
  if (answer === "reject" || !isGrave) {
    terminal.say(answer === "accept" ? "Accepted by flag." : "Rejected by flag.");
    return answer === "accept";
  }
  terminal.say("--accept-permissions does not cover this claim. A person must accept it.");
  const accepted = await ask(context, question, false);
  if (!accepted) terminal.say("Rejected.");
  return accepted;
}

/** A yes-or-no question. `atEnd` is the answer when standard input has ended; without it that ends the command. */
export async function ask({ terminal }: CliContext, text: string, atEnd?: boolean): Promise<boolean> {
  if (terminal.interactive) {
    const answer = await terminal.confirm(text);
    if (answer === undefined) throw new CliError("Cancelled", `Cancelled. ${nothingChanged}`);
    return answer;
  }
  for (;;) {
    terminal.say(`${text} [No,Yes]`);
    const line = await terminal.readLine();
    if (line === undefined) {
      if (atEnd !== undefined) return atEnd;
      throw new CliError(
        "PermissionRejected",
        `No answer on standard input. Pass --accept-permissions or --reject-permissions to run without questions. ${nothingChanged}`,
      );
    }
    const word = line.trim().toLowerCase();
    if (word === "y" || word === "yes") return true;
    if (word === "n" || word === "no") return false;
  }
}
