/** `npm run lock`: brings package-lock.json up to date with the manifests, with a checksum of every package for every platform. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";
import { type LockEntries, lockFaults, withoutFaults } from "./platforms.ts";

const path = join(repositoryRoot, "package-lock.json");
const args = ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"];
const read = (): { readonly packages: LockEntries } =>
  JSON.parse(readFileSync(path, "utf8")) as { readonly packages: LockEntries };
const before = read();
writeFileSync(
  path,
  `${JSON.stringify({ ...before, packages: withoutFaults(before.packages) }, undefined, 2)}\n`,
);
const { status } = spawnSync("npm", args, { cwd: repositoryRoot, stdio: "inherit" });
const faults = lockFaults(read().packages);
for (const fault of faults) console.error(`package-lock.json: ${fault}; the registry may serve it later.`);
if (status === 0 && faults.length === 0) console.log("package-lock.json is up to date and complete.");
else process.exitCode = 1;
