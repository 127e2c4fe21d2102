/** The APIs that a command is about: named by a manifest or by a provider's answer, which is foreign input either way. */
import {
  checkApiName,
  crdNameOf,
  type ExportRequestResponse,
  type LoginWish,
  mostApisOfLogin,
  printable,
} from "@klutch/api";
import { isDnsSubdomain } from "@klutch/kube-core";
import type { CliContext } from "../context.ts";
import { CliError, nothingChanged } from "../errors.ts";
import type { ClaimAnswer } from "../options.ts";

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
      if (seen.size > mostApisOfLogin) refuse(`it names more than ${mostApisOfLogin} APIs.`);
    }
  }
}

/** Says which APIs a login was to bind, and who says that the person chose others. */
export interface ChosenApis {
  /** Provider or URL that names the APIs. */
  readonly at: string;
  /** APIs of the command line. Default: the person chose on the page alone. */
  readonly wish?: LoginWish | undefined;
}

/** Returns the APIs of the wish that are not among the names, and the names that the wish does not mean. */
export function comparedTo(
  wish: LoginWish | undefined,
  names: readonly string[],
): { readonly missing: readonly string[]; readonly unasked: readonly string[] } {
  // Only the provider knows the APIs of a service; the person sees and confirms each name.
  if (wish?.kind !== "apis") return { missing: [], unasked: [] };
  const means = (asked: string, name: string): boolean => asked === name || asked === name.split(".")[0];
  return {
    missing: wish.names.filter((asked) => !names.some((name) => means(asked, name))),
    unasked: names.filter((name) => !wish.names.some((asked) => means(asked, name))),
  };
}

/**
 * Asks whether the APIs are those that the person wants. Flags that answer permission claims answer this too: by its name alone an API can do no
 * harm, for it is never one that this cluster has from elsewhere. No flag answers for an API beside those of the command line.
 */
export async function confirmApis(
  context: CliContext,
  names: readonly string[],
  { at, wish }: ChosenApis,
  answer: ClaimAnswer,
  ask: (context: CliContext, question: string, atEnd?: boolean) => Promise<boolean>,
): Promise<void> {
  const { unasked } = comparedTo(wish, names);
  const expected = names.filter((name) => !unasked.includes(name));
  const { terminal } = context;
  if (expected.length > 0) {
    for (const line of linesOf(expected, at)) terminal.say(line);
    const [only, second] = expected;
    const question = second === undefined ? only : `these ${expected.length} APIs`;
    if (answer !== "ask") terminal.say("Accepted by flag.");
    else if (!(await ask(context, `Do you want to bind ${question}?`))) {
      const verb = second === undefined ? "was" : "were";
      throw new CliError(
        "PermissionRejected",
        `${expected.join(", ")} ${verb} not accepted. ${nothingChanged}`,
      );
    }
  }
  for (const name of unasked) {
    terminal.say(`${at} says that you chose ${name}, too, and --api does not name it.`);
    if (await ask(context, `Do you want to bind ${name}, which --api does not name?`, false)) continue;
    throw new CliError(
      "PermissionRejected",
      `${at} answered with ${name}, which --api does not name, and a person must accept it. Select only the named APIs on the page, or name it, too. ${nothingChanged}`,
    );
  }
}

/** Returns the APIs by name, and what binding them means. */
function linesOf(names: readonly string[], at: string): readonly string[] {
  const [only, second] = names;
  const [them, their, these] =
    second === undefined ? ["it", "its kind", "this kind"] : ["them", "their kinds", "these kinds"];
  const chosen =
    second === undefined
      ? [`${at} says that you chose ${only}.`]
      : [`${at} says that you chose these ${names.length} APIs:`, ...names.map((name) => `  ${name}`)];
  return [
    ...chosen,
    `Binding ${them} installs ${their} in this cluster. The konnector may then read, create, change and delete all objects of ${these}, in all namespaces, and keeps a copy of each at the provider.`,
  ];
}

/** Throws `CliError` if APIs of the command line are not bound now: says which, why, and how to go on. The bound ones stay bound. */
export function requireAll(
  wish: LoginWish,
  names: readonly string[],
  { url, who, severalApis }: { readonly url: string; readonly who: string; readonly severalApis: boolean },
): void {
  const { missing } = comparedTo(wish, names);
  if (missing.length === 0) return;
  const why = severalApis
    ? "they were not selected on the page of the login"
    : `the backend of ${who} is of an earlier release and binds one API of a login`;
  throw new CliError(
    "Incomplete",
    `Bound: ${names.join(", ")}. Not bound: ${missing.join(", ")}, because ${why}. Go on with kubectl bind ${printable(url)} --api ${missing.join(",")}`,
  );
}
