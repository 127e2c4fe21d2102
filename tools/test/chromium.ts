/** Makes sure that the browser tests find a Chromium, installing Debian's when this user may. */
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromiumOverride, searchPath } from "./environment.ts";

const browserNames = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** Installs Debian's chromium if there is no browser. The tests themselves say so clearly when it is still missing. */
export async function ensureChromium(): Promise<void> {
  if (chromiumOverride !== undefined || browserNames.some(isOnPath)) return;
  console.log("Installing Debian's chromium for the browser tests …");
  for (const args of [
    ["update", "-qq"],
    ["install", "-y", "-qq", "--no-install-recommends", "chromium"],
  ]) {
    const result = spawnSync("apt-get", args, {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
    if (result.status !== 0) {
      console.error(
        `apt-get ${args[0]} did not succeed; install Chromium by hand or set KLUTCH_CHROMIUM to its path.`,
      );
      return;
    }
  }
}

/** The browser that tests start. Throws with what to do when there is none. */
export function chromiumPath(): string {
  if (chromiumOverride !== undefined) return chromiumOverride;
  const path = browserNames.map(onPath).find((one) => one !== undefined);
  if (path !== undefined) return path;
  throw new Error("no browser is on PATH; install Debian's chromium or set KLUTCH_CHROMIUM to its path");
}

function isOnPath(name: string): boolean {
  return onPath(name) !== undefined;
}

function onPath(name: string): string | undefined {
  const candidates = searchPath.split(delimiter).map((folder) => join(folder, name));
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
