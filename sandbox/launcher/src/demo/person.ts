/** Plays a person at a terminal and a browser: runs commands and does at the binding page what they ask for. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter } from "node:path";
import { createInterface } from "node:readline";
import type { CliFiles } from "../cli-files.ts";
import { inheritedEnvironment } from "../environment.ts";
import { sandboxUser } from "../services/dex.ts";
import { ScriptedBrowser } from "./browser.ts";

/** A command at a terminal. */
interface Typing {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Returns the API to choose at the binding page, after this output. */
  readonly choose: (printed: string) => string;
  readonly print?: (line: string) => void;
}

const loginUrl = /https?:\/\/\S+\/authorize\?\S+/;

/** Runs a command, logs in at each address that it prints, and returns its output. Throws with that when it fails. */
async function runAsPerson({ command, args, env, cwd, choose, print }: Typing): Promise<string> {
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  const logins = new Map<string, Promise<void>>();
  const onLine = (line: string): void => {
    printed += `${line}\n`;
    // The parameters of a login fill the screen, and only this one can use them.
    if (line.trim() !== "") print?.(loginUrl.test(line) ? line.replace(/\?\S+/, "?…") : line);
    const [url] = loginUrl.exec(line) ?? [];
    if (url === undefined || logins.has(url)) return;
    const login = playPerson(url, choose(printed)).catch((cause: unknown) => {
      // Nothing else ends the plugin, which waits for the login.
      child.kill();
      throw new Error(`the login failed: ${String(cause)}`, { cause });
    });
    login.catch(() => undefined);
    logins.set(url, login);
  };
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on("line", onLine);
  await once(child, "close");
  await Promise.all(logins.values());
  if (child.exitCode !== 0)
    throw new Error(`exit code ${child.exitCode} of\n${[command, ...args].join(" ")}\n${printed}`);
  return printed;
}

/** Runs a block of a page, such as its `sh` code, in a shell. Throws with what was printed when a line fails. */
export function typed(text: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  // The page's own words say what to choose.
  const choose = (printed: string): string => [...printed.matchAll(/^Choose (\w+)\./gm)].at(-1)?.[1] ?? "";
  return runAsPerson({ command: "/bin/sh", args: ["-e", "-c", text], cwd, env, choose });
}

/** Runs `kubectl bind <url>` for app cluster A, with `env` besides our own. Throws with everything the plugin printed when it fails. */
export async function bindApi(
  cli: CliFiles,
  backendUrl: string,
  resource: string,
  print: (line: string) => void,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  await runAsPerson({
    command: "kubectl",
    args: ["bind", `${backendUrl}/export`, "--no-browser", "--accept-permissions"],
    env: {
      ...inheritedEnvironment,
      ...env,
      PATH: `${cli.bin}${delimiter}${inheritedEnvironment["PATH"] ?? ""}`,
      KUBECONFIG: cli.kubeconfigs.appA,
    },
    choose: () => resource,
    print,
  });
}

/** Logs in at the address that `kubectl bind` printed, and chooses an API such as `backups`, or `backups.m.anynines.com`. */
async function playPerson(url: string, resource: string): Promise<void> {
  const browser = new ScriptedBrowser();
  let page = await browser.open(url);
  if (page.html.includes('name="password"'))
    page = await browser.submit(page, ['name="password"'], {
      login: sandboxUser.email,
      password: sandboxUser.password,
    });
  const [plural = "", ...group] = resource.split(".");
  const markers = [plural, ...(group.length === 0 ? [] : [group.join(".")])];
  await browser.submit(
    page,
    markers.map((value) => `value="${value}"`),
  );
}
