/** The APIs that a command is about: named by a manifest or by a provider's answer, which is foreign input either way. */
import { checkApiName, crdNameOf, type ExportRequestResponse, printable } from "@klutch/api";
import { isDnsSubdomain } from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import type { ClaimAnswer } from "../options.ts";

/** Maximum number of APIs in one command; no one can judge more at once. */
const maxApis = 20;

/** Throws `CliError` unless every request is for APIs that a provider may offer. `origin` is where they came from. */
export function checkRequests(requests: readonly ExportRequestResponse[], origin: string): void {
  const refuse = (problem: string): never => {
    throw new CliError("Manifest", `${origin} cannot be used: ${problem} ${nothingChanged}`);
  };
  const seen = new Set<string>();
  for (const { metadata, spec } of requests) {
    if (metadata.name !== "" && !isDnsSubdomain(metadata.name)) {
      refuse(`its request is named "${printable(metadata.name)}", which is no name of an object.`);
    }
    for (const { group = "", resource } of spec.resources) {
      const problem = checkApiName(group, resource);
      if (problem !== undefined) refuse(`${problem}.`);
      const name = crdNameOf({ group, resource });
      if (seen.has(name)) refuse(`it names ${name} twice.`);
      seen.add(name);
      if (seen.size > maxApis) refuse(`it names more than ${maxApis} APIs.`);
    }
  }
}

/**
 * Asks whether the APIs are those that the person wants; `chosenAt` is who says so. Flags that answer permission claims answer this
 * too: by its name alone an API can do no harm, for it is never one that this cluster has from elsewhere.
 */
export async function confirmApis(
  context: CliContext,
  names: readonly string[],
  chosenAt: string,
  answer: ClaimAnswer,
  ask: (context: CliContext, question: string) => Promise<boolean>,
): Promise<void> {
  for (const name of names) {
    context.terminal.say(`${chosenAt} says that you chose ${name}.`);
    context.terminal.say(
      "Binding it installs its kind in this cluster. The konnector may then read, create, change and delete all objects of this kind, in all namespaces, and keeps a copy of each at the provider.",
    );
    if (answer !== "ask") {
      context.terminal.say("Accepted by flag.");
      continue;
    }
    if (await ask(context, `Do you want to bind ${name}?`)) continue;
    throw new CliError("PermissionRejected", `${name} was not accepted. ${nothingChanged}`);
  }
}
