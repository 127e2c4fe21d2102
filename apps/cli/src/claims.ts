/** The questions about a provider's permission claims. */
import type { AnsweredPermissionClaim, PermissionClaim } from "@klutch/api";
import type { CliContext } from "./context.ts";
import { CliError } from "./errors.ts";
import type { ClaimAnswer } from "./options.ts";

/** What the claim asks for, in plain words. */
export function describeClaim(claim: PermissionClaim): string {
  const { group = "", version, resource } = claim;
  const apiVersion = group === "" ? version : `${group}/${version}`;
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
  const named = (list: readonly string[] | undefined, what: string): string[] =>
    list === undefined || list.includes("*") ? [] : list.map((one) => `\n\t- ${what}: "${one}"`);
  const references = [...named(selector?.names, "name"), ...named(selector?.namespaces, "namespace")];
  return references.length === 0 ? "." : `, which are referenced with:${references.join("")}`;
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
    lines.push(`Only these fields are changed: ${update?.fields?.join(", ")}.`);
  if ((update?.preserving?.length ?? 0) > 0) {
    lines.push(`These fields keep your values: ${update?.preserving?.join(", ")}.`);
  }
  if (update?.alwaysRecreate === true) {
    lines.push("Objects are deleted and created again instead of being changed.");
  }
  if (selector?.owner !== "Provider" && claim.resource === "secrets" && claim.autoDonate !== true) {
    lines.push("The contents of these secrets leave your cluster.");
  }
  return lines;
}

/**
 * Asks for each claim, or answers as the flags say. `rightsOf` tells which rights of the konnector a claim needs; they are
 * shown with it. Rejecting a required claim ends the command: nothing has been changed in the app cluster by then.
 */
export async function answerClaims(
  context: CliContext,
  api: string,
  claims: readonly PermissionClaim[],
  answer: ClaimAnswer,
  rightsOf: (claim: PermissionClaim) => readonly string[],
): Promise<AnsweredPermissionClaim[]> {
  const answered: AnsweredPermissionClaim[] = [];
  for (const claim of claims) {
    context.terminal.say(describeClaim(claim));
    for (const right of rightsOf(claim)) context.terminal.say(`  Right of the konnector: ${right}`);
    const accepted = answer === "ask" ? await ask(context) : answer === "accept";
    if (answer !== "ask") context.terminal.say(accepted ? "Accepted by flag." : "Rejected by flag.");
    if (!accepted && claim.required === true) {
      throw new CliError(
        "PermissionRejected",
        `${api} cannot be bound without the required permission for ${claim.resource}. Nothing was changed in this cluster.`,
      );
    }
    answered.push({ ...claim, state: accepted ? "Accepted" : "Rejected" });
  }
  return answered;
}

const question = "Do you accept this Permission?";

async function ask({ terminal }: CliContext): Promise<boolean> {
  if (terminal.interactive) {
    const answer = await terminal.confirm(question);
    if (answer === undefined)
      throw new CliError("Cancelled", "Cancelled. Nothing was changed in this cluster.");
    return answer;
  }
  for (;;) {
    terminal.say(`${question} [No,Yes]`);
    const line = await terminal.readLine();
    if (line === undefined) {
      throw new CliError(
        "PermissionRejected",
        "There was no answer on standard input. Pass --accept-permissions or --reject-permissions when nobody can answer.",
      );
    }
    const word = line.trim().toLowerCase();
    if (word === "y" || word === "yes") return true;
    if (word === "n" || word === "no") return false;
  }
}
