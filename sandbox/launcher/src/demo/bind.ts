/** Binds an API to app cluster A with the real plugin, playing the person at the browser. */
import { spawn } from "node:child_process";
import { delimiter } from "node:path";
import { createInterface } from "node:readline";
import { inheritedEnvironment } from "../environment.ts";
import { sandboxUser } from "../services/dex.ts";
import type { CliFiles } from "../cli-files.ts";
import { ScriptedBrowser } from "./browser.ts";

/** Runs `kubectl bind <url>`, with `env` besides our own, and does what it asks for. Throws with everything the plugin printed when it fails. */
export async function bindApi(
  cli: CliFiles,
  backendUrl: string,
  resource: string,
  print: (line: string) => void,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const child = spawn("kubectl", ["bind", `${backendUrl}/export`, "--no-browser", "--accept-permissions"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...inheritedEnvironment,
      ...env,
      PATH: `${cli.bin}${delimiter}${inheritedEnvironment["PATH"] ?? ""}`,
      KUBECONFIG: cli.kubeconfigs.appA,
    },
  });
  let printed = "";
  const { promise: loginUrl, resolve: foundUrl, reject } = Promise.withResolvers<string>();
  const onLine = (line: string): void => {
    printed += `${line}\n`;
    const url = /https?:\/\/\S+\/authorize\?\S+/.exec(line)?.[0];
    if (url !== undefined) foundUrl(url);
    // Its parameters fill the screen, and only this login can use them.
    if (line.trim() !== "") print(url === undefined ? line : line.replace(/\?\S+/, "?…"));
  };
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on("line", onLine);
  const exited = new Promise<number>((resolve) => child.on("close", (code) => resolve(code ?? 1)));
  void exited.then((code) =>
    reject(new Error(`kubectl bind ended with code ${code} before the login:\n${printed}`)),
  );
  await playPerson(await loginUrl, resource);
  const code = await exited;
  if (code !== 0) throw new Error(`kubectl bind ended with code ${code}:\n${printed}`);
}

/** Logs in at the address that `kubectl bind` printed, and chooses an API such as `backups`, or `backups.m.anynines.com`. */
export async function playPerson(url: string, resource: string): Promise<void> {
  const browser = new ScriptedBrowser();
  let page = await browser.open(url);
  if (page.html.includes('name="password"')) {
    page = await browser.submit(page, ['name="password"'], {
      login: sandboxUser.email,
      password: sandboxUser.password,
    });
  }
  const [plural = "", ...group] = resource.split(".");
  const markers = [plural, ...(group.length === 0 ? [] : [group.join(".")])];
  await browser.submit(
    page,
    markers.map((value) => `value="${value}"`),
    {},
  );
}
