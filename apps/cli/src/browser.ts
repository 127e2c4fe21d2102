/** Opening an address in the person's browser. */
import { spawn } from "node:child_process";

/** Starts the platform's opener without waiting for it. Failing is no error: the address is printed as well. */
export function openBrowser(url: string, platform: string = process.platform): void {
  const [command, ...args] = openerOf(platform);
  if (command === undefined) return;
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}

/** The opener never goes through a shell, so no character of the address is special. */
function openerOf(platform: string): readonly string[] {
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return ["xdg-open"];
}
