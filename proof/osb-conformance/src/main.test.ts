import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { startFakeServer } from "./testing/fake-server.ts";
import { credentials } from "./testing/memory-broker.ts";

const main = fileURLToPath(new URL("main.ts", import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The command as a process; killed with the test. */
function start(
  t: TestContext,
  args: readonly string[],
  env: Readonly<Record<string, string>> = { OSB_PASSWORD: credentials.password },
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  const ended = (async (): Promise<Ended> => {
    const closed = once(child, "close");
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    await closed;
    return { code: child.exitCode, out, err };
  })();
  return { child, ended };
}

test("the command prints a table and ends well with a broker that keeps the rules", async (t) => {
  const { url, memory } = await startFakeServer(t, { asynchronous: false });
  const { code, out, err } = await start(t, ["--url", url, "--username", credentials.username]).ended;
  assert.equal(code, 0, out + err);
  assert.match(out, /^RESULT\s+LEVEL\s+SECTION\s+RULE$/m);
  assert.match(out, /^passed\s+MUST\s+Catalog Management\s+the catalog is answered with 200/m);
  assert.match(out, /0 MUST and 0 SHOULD failed/);
  assert.match(out, /^Nothing was left at the broker\.$/m);
  assert.equal(memory.things.size, 0);
});

test("a MUST that failed ends with 1, and says what was sent and what came", async (t) => {
  const { url } = await startFakeServer(t, {
    asynchronous: false,
    alter: (answer) => (answer.status === 409 ? { ...answer, status: 200 } : answer),
  });
  const args = ["--url", url, "--username", credentials.username];
  const { code, out } = await start(t, args).ended;
  assert.equal(code, 1);
  assert.match(
    out,
    /^FAILED\s+MUST\s+Provisioning\s+.*\(provision-conflict\)\n\s+sent {2}PUT .*\n\s+came {2}HTTP 200/m,
  );
  const { out: json } = await start(t, [...args, "--json"]).ended;
  const report: unknown = JSON.parse(json);
  assert.ok(typeof report === "object" && report !== null && "findings" in report);
});

test("Ctrl-C deletes what was made", async (t) => {
  for (const at of [20, 30, 40]) {
    let stop = (): void => undefined;
    const { url, memory } = await startFakeServer(t, {
      asynchronous: false,
      seize: (_response, count) => {
        if (count === at) stop();
        return false;
      },
    });
    const { child, ended } = start(t, ["--url", url, "--username", credentials.username]);
    stop = () => child.kill("SIGINT");
    const { code, out, err } = await ended;
    assert.equal(memory.things.size, 0);
    assert.equal(code, 130, `${code}: ${out}${err}`);
    assert.match(out, /Not everything was tested: interrupted\nNothing was left at the broker/);
    assert.match(err, /SIGINT: deleting what was made/);
  }
});

test("faults are told at once, with 2", async (t) => {
  const { code, err } = await start(t, ["--username", "u"], {}).ended;
  assert.equal(code, 2);
  assert.match(
    err,
    /--url is required: URL of the broker, without \/v2\n--username needs the environment variable OSB_PASSWORD\n/,
  );
  const tls = await start(t, ["--url", "http://127.0.0.1:1"], { OSB_TOKEN: "two words" }).ended;
  assert.equal(tls.code, 2);
  assert.match(tls.err, /^the bearer token is empty or has characters/);
  assert.doesNotMatch(tls.err, /two words/);
});

test("help tells what there is", async (t) => {
  const { code, out } = await start(t, ["--help"], {}).ended;
  assert.equal(code, 0);
  assert.match(out, /OSB_PASSWORD/);
});
