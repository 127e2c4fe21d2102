/** The questions about a provider's permission claims. */
import {
  type AnsweredPermissionClaim,
  claimedObjects,
  judgeClaim,
  type PermissionClaim,
  printable,
} from "@klutch/api";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import type { ClaimAnswer } from "../options.ts";

/** Describes a claim in plain words. */
export function describeClaim(claim: PermissionClaim): string {
  const { group = "", version } = claim;
  const resource = printable(claim.resource);
  const apiVersion = printable(group === "" ? version : `${group}/${version}`);
  const lines = [
    `The provider wants to ${verbOf(claim)} ${resource} objects (apiVersion: "${apiVersion}") on your cluster${referencesOf(claim)}`,
    ...detailsOf(claim),
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
    ...names.map((name) => `name: "${name}"`),
    ...namespaces.map((namespace) => `namespace: "${namespace}"`),
    ...(labels.length === 0 ? [] : [`labels: ${quoted(labels)}`]),
    ...(fields.length === 0 ? [] : [`fields: ${quoted(fields)}`]),
  ];
  return references.length === 0
    ? "."
    : `, which are referenced with:${references.map((one) => `\n\t- ${one}`).join("")}`;
}

function detailsOf(claim: PermissionClaim): string[] {
  const { create, update, onConflict, selector } = claim;
  const lines: string[] = [];
  if (create?.replaceExisting === true)
    lines.push("Objects of the same name that exist already are replaced.");
  if (onConflict?.recreateWhenConsumerSideDeleted === true && selector?.owner !== "Consumer") {
    lines.push("An object that you delete is created again.");
  }
  if ((update?.fields?.length ?? 0) > 0)
    lines.push(`Only these fields are changed: ${listed(update?.fields)}.`);
  if ((update?.preserving?.length ?? 0) > 0) {
    lines.push(`These fields keep your values: ${listed(update?.preserving)}.`);
  }
  if (update?.alwaysRecreate === true) {
    lines.push("Objects are deleted and created again instead of being changed.");
  }
  if (selector?.owner !== "Provider" && claim.resource === "secrets" && claim.autoDonate !== true) {
    lines.push("The contents of these secrets leave your cluster.");
  }
  return lines;
}

/** RBAC can name Secrets, but not choose them by label, and their names are not known in advance. */
const allSecrets =
  "RBAC cannot narrow this right to the Secrets of Klutch: the konnector can read every Secret of this cluster.";

const listed = (texts: readonly string[] = []): string => texts.map((one) => printable(one)).join(", ");

/** An API that is being bound. */
interface ClaimingApi {
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
    context.terminal.say(describeClaim(claim));
    const verdict = judgeClaim(claim, api);
    if (verdict.kind === "refused") {
      context.terminal.say(`Refused: ${verdict.reason}.`);
      refuseIfRequired(api, claim, ` It is refused: ${verdict.reason}.`);
      continue;
    }
    if (verdict.kind === "grave") context.terminal.say(`Warning: ${verdict.reason}.`);
    for (const right of rightsOf(claim)) context.terminal.say(`  Right of the konnector: ${right}`);
    if (claim.resource === "secrets") context.terminal.say(`  ${allSecrets}`);
    const accepted = await decide(context, answer, verdict.kind === "grave");
    if (!accepted) refuseIfRequired(api, claim);
    answered.push({ ...claim, state: accepted ? "Accepted" : "Rejected" });
  }
  return answered;
}

function refuseIfRequired(api: ClaimingApi, claim: PermissionClaim, why = ""): void {
  if (claim.required !== true) return;
  throw new CliError(
    "PermissionRejected",
    `${api.name} cannot be bound without the required permission for ${printable(claim.resource)}.${why} ${nothingChanged}`,
  );
}

const question = "Do you accept this Permission?";

async function decide(context: CliContext, answer: ClaimAnswer, isGrave: boolean): Promise<boolean> {
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
