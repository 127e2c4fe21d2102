/** `npm run lock`: brings package-lock.json up to date with the manifests, complete for every platform, so that `npm ci` accepts it. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";
import { completeLock, type LockEntries } from "./platforms.ts";

const path = join(repositoryRoot, "package-lock.json");
const args = ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"];
const { status } = spawnSync("npm", args, { cwd: repositoryRoot, stdio: "inherit" });
if (status === 0) {
  const lock = JSON.parse(readFileSync(path, "utf8")) as { packages: LockEntries };
  const packages = completeLock(lock.packages);
  const added = Object.keys(packages).length - Object.keys(lock.packages).length;
  writeFileSync(path, `${JSON.stringify({ ...lock, packages }, undefined, 2)}\n`);
  console.log(`package-lock.json is up to date; added ${added} entries for other platforms.`);
} else process.exitCode = 1;
