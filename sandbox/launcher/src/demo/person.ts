/** Plays a person at a terminal and a browser: runs commands, also those of pages of docs/ word for word, and takes at the binding page what they selected. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { inheritedEnvironment } from "@klutch/engines";
import type { AppCluster, CliFiles } from "../context.ts";
import { repository } from "../machine.ts";
import { sandboxUser } from "../services/dex.ts";
import { ScriptedBrowser } from "./scripted-browser.ts";

/** A command at a terminal. */
interface Typing {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly print?: (line: string) => void;
  /** E-mail address of the person who logs in. Default: the sandbox's user. */
  readonly person?: string;
}

const loginUrl = /https?:\/\/\S+\/authorize\?\S+/;

/** Runs a command, logs in at each address that it prints, and returns its output. Throws with that when it fails. */
async function runAsPerson({
  command,
  args,
  env,
  cwd,
  print,
  person = sandboxUser.email,
}: Typing): Promise<string> {
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  const logins = new Map<string, Promise<void>>();
  const onLine = (line: string): void => {
    printed += `${line}\n`;
    // The parameters of a login fill the screen, and only this one can use them.
    if (line.trim() !== "") print?.(loginUrl.test(line) ? line.replace(/\?\S+/, "?…") : line);
    const [url] = loginUrl.exec(line) ?? [];
    if (url === undefined || logins.has(url)) return;
    const login = playPerson(url, person).catch((cause: unknown) => {
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
  return runAsPerson({ command: "/bin/sh", args: ["-e", "-c", text], cwd, env });
}

/** A block of code in a page. */
export interface PageBlock {
  /** The heading that it stands under, without its marks. */
  readonly heading: string;
  /** Language after the opening fence. */
  readonly language: string;
  readonly text: string;
}

/** Returns the fenced code of a page, named by its path from the root of the repository, in the order of the text. Indented code is only shown. */
export async function blocksIn(page: string): Promise<readonly PageBlock[]> {
  const text = await readFile(join(repository, page), "utf8");
  const blocks: PageBlock[] = [];
  let heading = "";
  for (const [, title, language = "", code = ""] of text.matchAll(/^#+ (.*)$|^```(\w+)\n([^]*?)^```$/gm)) {
    if (title === undefined) blocks.push({ heading, language, text: code });
    else heading = title;
  }
  return blocks;
}

/** Returns the name of an API such as `backups.m.anynines.com`; a bare `backups` is that of anynines.com. */
export function boundApiName(api: string): string {
  return api.includes(".") ? api : `${api}.anynines.com`;
}

/**
 * Runs `kubectl bind <url>` for an app cluster and APIs as `boundApiName` takes them, with `env` besides our own, as `person`. Throws with
 * everything the plugin printed when it fails.
 */
export async function bindApis(
  { bin, kubeconfigs }: CliFiles,
  cluster: AppCluster,
  backendUrl: string,
  apis: readonly string[],
  print: (line: string) => void = () => undefined,
  env: Readonly<Record<string, string>> = {},
  person: string = sandboxUser.email,
): Promise<void> {
  await runAsPerson({
    person,
    command: "kubectl",
    args: [
      "bind",
      `${backendUrl}/export`,
      `--api=${apis.map(boundApiName).join(",")}`,
      "--no-browser",
      "--accept-permissions",
      "--login-as",
      person,
    ],
    env: {
      ...inheritedEnvironment,
      ...env,
      PATH: `${bin}${delimiter}${inheritedEnvironment["PATH"] ?? ""}`,
      KUBECONFIG: kubeconfigs[cluster],
    },
    print,
  });
}

/** Logs in at the address that `kubectl bind` printed, and binds what the page has selected. */
async function playPerson(url: string, person: string): Promise<void> {
  const browser = new ScriptedBrowser();
  let page = await browser.open(url);
  // Dex and Keycloak name the field differently.
  const login = { login: person, username: person, password: sandboxUser.password };
  if (page.html.includes('name="password"')) page = await browser.submit(page, ['name="password"'], login);
  await browser.submit(page, ['name="api"']);
}
