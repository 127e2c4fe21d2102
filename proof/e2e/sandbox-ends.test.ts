import assert from "node:assert/strict";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { describeEnds, ServerEnds } from "./sandbox-ends.ts";

const secret = "0123456789abcdef-of-postgres";
const token = "a-token-in-a-kubeconfig";

async function sandboxFolder() {
  const folder = await mkdtempDisposable(join(tmpdir(), "klutch-ends-"));
  await writeFile(
    join(folder.path, "sandbox.json"),
    JSON.stringify({ secrets: { postgresPassword: secret } }),
  );
  await writeFile(join(folder.path, "app-a.kubeconfig"), `users:\n- user:\n    token: ${token}\n`);
  const log = join(folder.path, "app-a", "apiserver.log");
  await mkdir(join(folder.path, "app-a"));
  return { ...folder, log, [Symbol.asyncDispose]: () => folder.remove() };
}

const endOf = (log: string, code = 137): string =>
  `           the API server of app-a ended with code ${code}, its log is ${log}; stop the sandbox and start it again\n`;

test("a server that ended is shown with its last 40 lines as they were then, however its line arrives", async () => {
  await using folder = await sandboxFolder();
  const lines = Array.from({ length: 60 }, (_, index) => `line ${index + 1}`);
  await writeFile(folder.log, `${lines.join("\n")}\n`);
  const ends = new ServerEnds();
  assert.equal(await describeEnds(ends, folder.path), "");
  const text = `Klutch is up.\n${endOf(folder.log)}`;
  for (const chunk of [text.slice(0, 40), text.slice(40)]) ends.take(chunk);
  await writeFile(folder.log, "the next start\n");
  const described = await describeEnds(ends, folder.path);
  assert.match(described, /^the API server of app-a ended with code 137, its log is /);
  assert.match(described, /\n {2}\| line 21\n[^]*\n {2}\| line 60\n$/);
  assert.doesNotMatch(described, /line 20\n|next start/);
});

test("the same server may end again, and the first ten ends are shown", async () => {
  await using folder = await sandboxFolder();
  await writeFile(folder.log, "its only line\n");
  const ends = new ServerEnds();
  for (let code = 1; code <= 12; code++) ends.take(endOf(folder.log, code));
  const described = await describeEnds(ends, folder.path);
  assert.equal(described.match(/its only line/g)?.length, 10);
  assert.match(described, /code 10,/);
  assert.match(described, /… and 2 more ends of servers\n$/);
});

test("no secret of the sandbox is shown, nor a password that the sandbox has not made", async () => {
  await using folder = await sandboxFolder();
  const part = Buffer.from('{"alg":"RS256","kid":"one"}').toString("base64url");
  const jwt = `${part}.${part}.${"s".repeat(30)}`;
  const hidden = [
    `connecting as postgres with ${secret}`,
    `authorization: Basic ${Buffer.from(secret).toString("base64")}`,
    `Bearer ${token}`,
    `Bearer ${jwt}`,
    "postgres://u1:unknown1@127.0.0.1:5432/db was refused",
    "STATEMENT: ALTER ROLE u1 PASSWORD 'unknown2'",
    `{"msg":"a login","body":"{\\"password\\":\\"unknown3\\"}"}`,
    "--admin-password=unknown4 --port=5432",
  ];
  await writeFile(folder.log, [...hidden, "panic: http://127.0.0.1:8080/x: secret not found"].join("\n"));
  const ends = new ServerEnds();
  ends.take(endOf(folder.log));
  const described = await describeEnds(ends, folder.path);
  for (const value of [secret, Buffer.from(secret).toString("base64").slice(0, -4), token, jwt, "unknown"])
    assert.ok(!described.includes(value), `${value} is in\n${described}`);
  for (const shown of [
    "with [postgresPassword]",
    "Bearer [app-a.kubeconfig]",
    "Bearer [a token]",
    "postgres://u1:[a password]@127.0.0.1:5432/db was refused",
    "ALTER ROLE u1 PASSWORD '[a password]'",
    "--admin-password=[a password] --port=5432",
    "panic: http://127.0.0.1:8080/x: secret not found",
  ])
    assert.ok(described.includes(shown), `${shown} is not in\n${described}`);
});

test("without the list of secrets no log is shown", async () => {
  await using folder = await sandboxFolder();
  await writeFile(folder.log, `with ${secret}\n`);
  const ends = new ServerEnds();
  ends.take(endOf(folder.log));
  assert.match(await describeEnds(ends, join(folder.path, "app-a")), /^its servers' ends cannot be shown/);
});
