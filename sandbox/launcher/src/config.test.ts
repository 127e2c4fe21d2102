import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readConfig, usage } from "./config.ts";

test("the folder is the flag's, else the environment's, else the user's state folder", () => {
  const env = { KLUTCH_STATE_DIR: "/env", XDG_STATE_HOME: "/xdg" };
  assert.equal(readConfig(["--dir", "/flag"], env).folder, "/flag");
  assert.equal(readConfig([], env).folder, "/env");
  assert.equal(readConfig([], { XDG_STATE_HOME: "/xdg" }).folder, "/xdg/klutch/sandbox");
  const home = join(homedir(), ".local", "state", "klutch", "sandbox");
  assert.equal(readConfig([], { KLUTCH_STATE_DIR: "", XDG_STATE_HOME: "" }).folder, home);
});

test("the demo runs and the sandbox stays up unless a flag says otherwise", () => {
  const { demo, exit, reset } = readConfig([], {});
  assert.deepEqual({ demo, exit, reset }, { demo: true, exit: false, reset: false });
  const flags = readConfig(["--no-demo", "--exit", "--reset"], {});
  assert.deepEqual([flags.demo, flags.exit, flags.reset], [false, true, true]);
});

test("legacy claims are always offered, and those of the other generation when a flag says so", () => {
  const offered = (args: readonly string[]): readonly string[] =>
    readConfig(args, {}).generations.map(({ name }) => name);
  assert.deepEqual(offered([]), ["legacy"]);
  assert.deepEqual(offered(["--namespaced"]), ["legacy", "v2"]);
});

test("services that cost more are offered when they are named, and others are refused by name", () => {
  assert.deepEqual(readConfig([], {}).services, []);
  assert.deepEqual(readConfig(["--services", "mongodb,prometheus"], {}).services, ["prometheus", "mongodb"]);
  assert.throws(
    () => readConfig(["--services", "oracle"], {}),
    /^Error: --services has "oracle", but each must be one of prometheus, mongodb, messaging, search, logme2$/,
  );
});

test("another identity provider needs its client's secret, and does not go with Pods", () => {
  const url = "https://login.example.org";
  const clientSecret = "of-the-client";
  assert.equal(readConfig([], {}).issuer, undefined);
  assert.deepEqual(readConfig(["--issuer", url], { OIDC_CLIENT_SECRET: clientSecret }).issuer, {
    url,
    clientSecret,
  });
  assert.throws(
    () => readConfig(["--issuer", url], {}),
    /needs the secret of its client .* in OIDC_CLIENT_SECRET/,
  );
  assert.throws(() => readConfig(["--issuer", url, "--nodes"], {}), /--issuer does not go with --nodes/);
});

test("an unknown flag is refused, because it might have meant --no-demo", () => {
  assert.throws(() => readConfig(["--nodemo"], {}), /--nodemo/);
});

test("every flag is in the text of --help", () => {
  assert.equal(readConfig(["--help"], {}).help, true);
  for (const flag of [
    "--no-demo",
    "--reset",
    "--nodes",
    "--namespaced",
    "--services",
    "--exit",
    "--issuer",
    "--dir",
    "--help",
  ])
    assert.ok(usage.includes(flag), flag);
});

test("--reset never empties a folder that is no sandbox's", () => {
  for (const folder of ["/", homedir()]) {
    assert.throws(() => readConfig(["--dir", folder, "--reset"], {}), /is no folder for a sandbox/);
  }
});

test("real nodes keep nothing, so a flag about the kept state is refused with them", () => {
  assert.equal(readConfig([], {}).nodes, false);
  assert.equal(readConfig(["--nodes", "--exit", "--no-demo"], {}).nodes, true);
  for (const more of [["--dir", "/x"], ["--reset"], ["--namespaced"], ["--services", "mongodb"]])
    assert.throws(
      () => readConfig(["--nodes", ...more], {}),
      /^Error: --(dir|reset|namespaced|services) does not go with --nodes/,
    );
});
