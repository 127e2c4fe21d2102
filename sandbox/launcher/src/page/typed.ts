/** Lines of a page, typed by a person at a shell. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { playPerson } from "../demo/bind.ts";

/**
 * Runs a block of a page as a person at a shell, who also does at the binding page what the page says. Gives back what was printed. Throws
 * with that when a line fails.
 */
export async function typed(text: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn("/bin/sh", ["-e", "-c", text], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  const logins = new Map<string, Promise<void>>();
  const onText = (chunk: Buffer): void => {
    printed += chunk.toString();
    const api = [...printed.matchAll(/^Choose (\w+)\./gm)].at(-1)?.[1] ?? "";
    const url = [...printed.matchAll(/^ *(https?:\/\/\S+\/authorize\?\S+)$/gm)].at(-1)?.[1];
    if (url === undefined || logins.has(url)) return;
    const login = playPerson(url, api).catch((cause: unknown) => {
      // Nothing else ends the plugin, which waits for the login.
      child.kill();
      throw new Error(`the login failed: ${String(cause)}`, { cause });
    });
    login.catch(() => undefined);
    logins.set(url, login);
  };
  child.stdout.on("data", onText);
  child.stderr.on("data", onText);
  await once(child, "close");
  await Promise.all(logins.values());
  if (child.exitCode !== 0) throw new Error(`exit code ${child.exitCode} of\n${text}\n${printed}`);
  return printed;
}
