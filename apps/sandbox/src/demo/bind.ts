/** Binds an API to app cluster A with the real plugin, playing the person at the browser. */
import { spawn } from "node:child_process";
import { delimiter } from "node:path";
import { inheritedEnvironment } from "../environment.ts";
import { sandboxUser } from "../services/dex.ts";
import type { CliFiles } from "../cli-files.ts";
import { ScriptedBrowser } from "./browser.ts";

/** Runs `kubectl bind <url>` and does what it asks for. Throws with everything the plugin printed when it fails. */
export async function bindApi(
  cli: CliFiles,
  backendUrl: string,
  resource: string,
  print: (line: string) => void,
): Promise<void> {
  const child = spawn("kubectl", ["bind", `${backendUrl}/export`, "--no-browser", "--accept-permissions"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...inheritedEnvironment,
      PATH: `${cli.bin}${delimiter}${inheritedEnvironment["PATH"] ?? ""}`,
      KUBECONFIG: cli.kubeconfigs.appA,
    },
  });
  let printed = "";
  const { promise: loginUrl, resolve: foundUrl, reject } = Promise.withResolvers<string>();
  const onText = (chunk: Buffer): void => {
    printed += chunk.toString();
    for (const line of chunk.toString().split("\n")) if (line.trim() !== "") print(line);
    const url = /https?:\/\/\S+\/authorize\?\S+/.exec(printed);
    if (url !== null) foundUrl(url[0]);
  };
  child.stdout.on("data", onText);
  child.stderr.on("data", onText);
  const exited = new Promise<number>((resolve) => child.on("exit", (code) => resolve(code ?? 1)));
  void exited.then((code) =>
    reject(new Error(`kubectl bind ended with code ${code} before the login:\n${printed}`)),
  );
  await playPerson(await loginUrl, resource);
  const code = await exited;
  if (code !== 0) throw new Error(`kubectl bind ended with code ${code}:\n${printed}`);
}

/** Logs in at the address that `kubectl bind` printed, and chooses an API such as `backups`. */
export async function playPerson(url: string, resource: string): Promise<void> {
  const browser = new ScriptedBrowser();
  let page = await browser.open(url);
  if (page.html.includes('name="password"')) {
    page = await browser.submit(page, 'name="password"', {
      login: sandboxUser.email,
      password: sandboxUser.password,
    });
  }
  await browser.submit(page, `value="${resource}"`, {});
}
