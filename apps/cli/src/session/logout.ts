/**
 * `klutch logout`: ends sessions at the provider, for every one who has them, and forgets them here. A provider that does not answer keeps the local
 * entry, so that the command can be repeated.
 */
import { printable, sessionUrls } from "@klutch/api";
import { isRecord } from "@klutch/kube-core";
import { refused } from "../bind/login.ts";
import { whoText } from "../bind/session-bind.ts";
import { forgetLogins, isAlive, readLogins, type StoredLogin } from "../bind/stored-logins.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { addressProblem, postJson } from "../http.ts";
import { chosenLogin } from "./chosen-login.ts";

/** Runs the command for the login of a URL, for the only one, or for all. */
export async function logout(
  context: CliContext,
  url: string | undefined,
  { all }: { readonly all: boolean },
): Promise<void> {
  if (all && url !== undefined)
    throw new CliError("Usage", "Name one URL, or pass --all to end every session: not both.");
  if (!all) return end(context, await chosenLogin(context, url));
  const logins = await readLogins(context);
  await forgetLogins(
    context,
    logins.filter((one) => !isAlive(context, one)),
  );
  const failures: string[] = [];
  for (const login of logins.filter((one) => isAlive(context, one))) {
    try {
      await end(context, login);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      failures.push(error.message);
    }
  }
  if (failures.length > 0) throw new CliError("Login", failures.join(" "));
  if (logins.length === 0) context.terminal.say("You are not logged in anywhere.");
}

async function end(context: CliContext, login: StoredLogin): Promise<void> {
  const { terminal } = context;
  const headers = { authorization: `Bearer ${login.session.reveal()}` };
  const answer = await postJson(context, sessionUrls(login.sessionUrl).logout, {}, headers);
  // Another run, the operator or time has ended it.
  const isOver = answer.status === 401;
  if (answer.status !== 200 && !isOver)
    throw refused(
      `at ${printable(login.url)} did not end the session`,
      answer,
      "The session is still there: run the command again.",
    );
  await forgetLogins(context, [login]);
  terminal.say(
    isOver
      ? `The session of ${whoText(login)} at ${printable(login.url)} was over already.`
      : `Logged out ${whoText(login)} at ${printable(login.url)}.`,
  );
  const url = isRecord(answer.body) ? answer.body["endSessionUrl"] : undefined;
  // Text for the person: no program opens it, because the other side chose it.
  if (
    !isOver &&
    typeof url === "string" &&
    /^[\x21-\x7e]{1,2048}$/.test(url) &&
    addressProblem(url) === undefined
  )
    terminal.say(
      `Your browser may still be logged in at the identity provider. To end that, too, open ${url}`,
    );
}
