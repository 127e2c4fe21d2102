/** Finds the stored login that a command is about. */
import { printable } from "@klutch/api";
import { isAlive, loginKey, readLogins, type StoredLogin } from "../bind/stored-logins.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";

/** Returns the login of the URL; without one, the only login there is. Throws `CliError` if there is none, or a choice. */
export async function chosenLogin(context: CliContext, url: string | undefined): Promise<StoredLogin> {
  const alive = (await readLogins(context)).filter((one) => isAlive(context, one));
  const key = url === undefined ? undefined : loginKey(url);
  const [only, second] = key === undefined ? alive : alive.filter((one) => one.url === key);
  if (only === undefined) {
    const where = key === undefined ? "anywhere" : `at ${printable(key)}`;
    const command = `klutch login ${key === undefined ? "<url>" : printable(key)}`;
    throw new CliError(
      "Login",
      `You are not logged in ${where}, or the session is over. Log in with ${command}`,
    );
  }
  if (second === undefined) return only;
  const urls = alive.map((one) => printable(one.url)).join(", ");
  throw new CliError("Usage", `You are logged in at several providers: ${urls}. Name one of them.`);
}
