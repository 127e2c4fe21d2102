/** Finds the browser that tests start, and installs Debian's when there is none and this user may. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** Installs Debian's chromium if there is no browser. A test that finds none says what to do. */
export function ensureChromium(): void {
  if (found() !== undefined) return;
  console.log("Installing Debian's chromium for the browser tests …");
  const options = ["-y", "-qq", "--no-install-recommends"];
  for (const args of [
    ["update", "-qq"],
    ["install", ...options, "chromium"],
  ]) {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const { status } = spawnSync("apt-get", args, { stdio: ["ignore", "ignore", "inherit"], env });
    if (status !== 0) return;
  }
}

/** Returns the browser's path: `KLUTCH_CHROMIUM`, or the first on `PATH`. Throws with what to do when there is none. */
export function chromiumPath(): string {
  const path = found();
  if (path !== undefined) return path;
  throw new Error("no browser is on PATH; install Debian's chromium or set KLUTCH_CHROMIUM to its path");
}

function found(): string | undefined {
  const { KLUTCH_CHROMIUM: override, PATH: searched = "" } = process.env;
  if (override !== undefined) return override;
  const paths = names.flatMap((name) => searched.split(delimiter).map((folder) => join(folder, name)));
  return paths.find((path) => existsSync(path));
}
