// Runs a TypeScript entry of this repository on the pinned Node, installing the pinned dependencies first when they are
// missing or out of date. Plain JavaScript without dependencies, because it must run on whatever Node came with npm.
//
//   node tools/bootstrap.mjs <entry.ts> [arguments…]

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [entry, ...entryArguments] = process.argv.slice(2);
if (entry === undefined) fail("usage: node tools/bootstrap.mjs <entry.ts> [arguments…]");

// A lock file that is to be brought up to date is refused by npm ci.
if (entry !== "tools/lock/main.ts") installDependencies();
runEntry(findNode());

/**
 * Installs exactly what the lock file pins, unless the stamp of the last install names the same lock file. Install scripts of
 * packages never run.
 */
function installDependencies() {
  const stamp = join(root, "node_modules", ".klutch-lock-sha256");
  const wanted = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  console.error("Installing the pinned npm dependencies (about 700 MB, once) …");
  const started = performance.now();
  const result = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (result.error !== undefined)
    fail(`npm could not be started: ${result.error.message}. Install npm 10 or newer.`);
  if (result.status !== 0) {
    fail(
      `npm ci failed (exit code ${result.status}). Check the messages above and that the npm registry is reachable.`,
    );
  }
  writeFileSync(stamp, wanted);
  console.error(`Dependencies installed in ${((performance.now() - started) / 1000).toFixed(0)} s.`);
}

/** The Node that the platform package brought; it is what everything is tested with. */
function findNode() {
  const pinned = join(root, "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");
  if (existsSync(pinned)) return pinned;
  const major = Number(process.versions.node.split(".")[0]);
  if (major >= 24) return process.execPath;
  return fail(
    `No pinned Node for ${process.platform}-${process.arch} in node_modules, and Node ${process.versions.node} is too old: ` +
      "install Node 26 and run the command again.",
  );
}

/** Replaces this process as far as Node 20 can: same streams, signals and exit code. */
function runEntry(node) {
  const path = [join(root, "node_modules", ".bin"), process.env["PATH"] ?? ""].join(delimiter);
  // Node keeps what it compiled there. A test run starts hundreds of Node processes, each of which else strips and compiles the same files.
  const compileCache = join(root, "node_modules", ".cache", "node");
  const child = spawn(node, [join(root, entry), ...entryArguments], {
    stdio: "inherit",
    env: { NODE_COMPILE_CACHE: compileCache, ...process.env, PATH: path },
  });
  // A terminal sends Ctrl-C to the whole process group, the child included; a plain kill reaches only this process.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.on("error", (error) => fail(`${node} could not be started: ${error.message}`));
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? (signal === "SIGINT" ? 130 : 143);
  });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
