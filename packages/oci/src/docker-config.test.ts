import assert from "node:assert/strict";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { dockerAccount } from "./docker-config.ts";
import { OciError } from "./errors.ts";
import type { Account } from "./login.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-docker-config-"));
after(() => rm(folder, { recursive: true, force: true }));
const secret = "hunter2-hunter2";
const auth = (user: string): object => ({ auth: Buffer.from(`${user}:${secret}`).toString("base64") });

/** Returns the account that is found, with secrets in the clear. */
async function found(config: unknown, registry = "r.example.org:5000/team"): Promise<unknown> {
  const own = await mkdtemp(join(folder, "config-"));
  await writeFile(join(own, "config.json"), typeof config === "string" ? config : JSON.stringify(config));
  const env = { DOCKER_CONFIG: own, PATH: `${folder}:/usr/bin:/bin` };
  return revealed(await dockerAccount({ registry, env }));
}

function revealed(account: Account | undefined): unknown {
  if (account === undefined) return undefined;
  return account.kind === "password" ? [account.username, account.password.reveal()] : account.token.reveal();
}

/** A credential helper that runs these lines of shell. */
async function helper(name: string, lines: string): Promise<void> {
  const path = join(folder, `docker-credential-${name}`);
  await writeFile(path, `#!/bin/sh\nread host\n${lines}\n`);
  await chmod(path, 0o755);
}

test("an entry is found by host, by the longest path, or as a URL, and never for another host", async () => {
  const auths = {
    "r.example.org:5000": auth("host"),
    "r.example.org:5000/team/klutch": auth("path"),
    "https://old.example.org/v1/": auth("url"),
  };
  assert.deepEqual(await found({ auths }), ["host", secret]);
  assert.deepEqual(await found({ auths }, "r.example.org:5000/team/klutch"), ["path", secret]);
  assert.deepEqual(await found({ auths }, "old.example.org"), ["url", secret]);
  for (const other of ["r.example.org", "r.example.org:5001", "example.org", "xr.example.org:5000"])
    assert.equal(await found({ auths }, other), undefined, other);
});

test("an entry may be an identity token, or a user and a password as they are; passwords may have colons", async () => {
  const host = "r.example.org:5000";
  const read = (entry: object): Promise<unknown> => found({ auths: { [host]: entry } });
  assert.equal(await read({ ...auth("00000000-0000"), identitytoken: "token" }), "token");
  assert.deepEqual(await read({ username: "a", password: "b:c" }), ["a", "b:c"]);
  assert.deepEqual(await read({ auth: Buffer.from("a:b:c").toString("base64") }), ["a", "b:c"]);
});

test("a folder without a file, and no folder at all, give no account", async () => {
  for (const env of [{ DOCKER_CONFIG: join(folder, "none") }, { HOME: folder }, {}])
    assert.equal(await dockerAccount({ registry: "r.example.org", env }), undefined);
});

test("a credential helper is asked for the host; what it does not know is looked up in the file", async () => {
  await helper("good", `echo "{\\"Username\\":\\"$1 $host\\",\\"Secret\\":\\"${secret}\\"}"`);
  await helper("token", `echo '{"Username":"<token>","Secret":"refresh"}'`);
  await helper("empty", "echo credentials not found in native keychain; exit 1");
  const auths = { "r.example.org:5000": auth("file") };
  assert.deepEqual(await found({ auths, credsStore: "good" }), ["get r.example.org:5000", secret]);
  const credHelpers = { "r.example.org:5000": "token", "other.example.org": "good" };
  assert.equal(await found({ auths, credsStore: "good", credHelpers }), "refresh");
  assert.deepEqual(await found({ auths, credsStore: "empty" }), ["file", secret]);
  assert.equal(await found({ credsStore: "empty" }), undefined);
});

test("a fault is reported with its file, entry or helper, and without any secret", async () => {
  await helper("failing", `echo ${secret}; echo ${secret} >&2; exit 3`);
  await helper("babbling", `echo ${secret}`);
  const host = "r.example.org:5000";
  for (const [config, words] of [
    [`{"auths": ${secret}`, /config\.json is no JSON$/],
    [
      { auths: { [host]: { auth: secret } } },
      /config\.json: auths\["r\.example\.org:5000"\] has neither auth/,
    ],
    [{ credsStore: "failing" }, /^docker-credential-failing failed with code 3 for r\.example\.org:5000/],
    [{ credsStore: "babbling" }, /^docker-credential-babbling did not answer with JSON/],
    [{ credsStore: "absent" }, /^the credential helper docker-credential-absent cannot be run/],
    [{ credsStore: "../../bin/sh" }, /is no name of a credential helper/],
  ] as const)
    await assert.rejects(found(config), (error) => {
      assert.ok(error instanceof OciError);
      assert.match(error.message, words);
      assert.ok(!`${error.stack} ${String(error.cause)}`.includes(secret));
      return true;
    });
});
