/** `klutch service from-catalog` against an HTTP server that plays a broker, a lying one included. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type Finished, type Outside, startRun } from "../testing/run.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-catalog-"));
after(() => rm(folder, { recursive: true, force: true }));
const root = join(import.meta.dirname, "..", "..", "..", "..");
const password = "s3cret-of-the-broker";
const seen: { readonly method: string; readonly url: string }[] = [];
let answer = "";

/** Answers every path with the same text to whom the password is known. */
const server = createServer((request: IncomingMessage, response) => {
  seen.push({ method: request.method ?? "", url: request.url ?? "" });
  const expected = `Basic ${Buffer.from(`reader:${password}`).toString("base64")}`;
  const isKnown = request.headers.authorization === expected;
  const { authorization = "" } = request.headers;
  response.writeHead(isKnown ? 200 : 401, { "content-type": "application/json" });
  response.end(isKnown ? answer : JSON.stringify({ description: `who is ${authorization}?` }));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
after(() => server.close());
const address = server.address();
assert.ok(typeof address === "object" && address !== null);
const url = `http://127.0.0.1:${address.port}`;

const schemas = (parameters: unknown): object => ({ service_instance: { create: { parameters } } });
function catalog(parameters: unknown, names: readonly string[] = ["queues"]): string {
  const plan = { name: "small", description: "A small one.", schemas: schemas(parameters) };
  return JSON.stringify({
    services: names.map((name) => ({
      id: name,
      name,
      description: "Queues.",
      bindable: true,
      plans: [{ ...plan, id: `${name}-p` }],
    })),
  });
}
const depth = { type: "object", properties: { max_depth: { type: "integer", minimum: 1 } } };

const run = (args: readonly string[], outside: Outside = {}): Promise<Finished> =>
  startRun("klutch", ["service", "from-catalog", ...args], outside).done;
const known: Outside = { env: { KLUTCH_BROKER_PASSWORD: password } };
const asReader = ["--url", url, "--username", "reader"];

test("a broker's catalog becomes a table that check and render take as it is", async () => {
  answer = catalog(depth);
  const to = join(folder, "queues.yaml");
  seen.length = 0;
  const written = await run([...asReader, "--to", to], known);
  assert.equal(written.code, 0, written.stderr());
  assert.equal(written.stdout(), "");
  assert.match(
    written.stderr(),
    /Edit the lines with Decide\. Then run: klutch service check .*queues\.yaml/,
  );
  const text = await readFile(to, "utf8");
  assert.match(text, /- name: maxDepth\n/);
  assert.ok(!text.includes(password) && !text.includes("reader"));
  assert.deepEqual(seen, [{ method: "GET", url: "/v2/catalog" }]);
  for (const args of [
    ["check", to],
    ["render", to, "--to", join(folder, "manifests")],
  ]) {
    const next = await startRun("klutch", ["service", ...args], {}).done;
    assert.equal(next.code, 0, next.stderr());
  }
  const definition = await readFile(
    join(folder, "manifests", "apis", "xqueuesinstances.anynines.com.yaml"),
    "utf8",
  );
  assert.match(definition, /maxDepth:/);
});

test("the commands of the page run word for word", async () => {
  answer = catalog(depth);
  const page = await readFile(join(root, "docs", "add-a-service.md"), "utf8");
  const [, section = ""] = page.split("## A table from a broker's catalog\n");
  const [, block = ""] = /\n\n((?: {4}klutch .*\n)+)/.exec(section) ?? [];
  const lines = block.trim().split(/\n */);
  assert.equal(lines.length, 2, section);
  for (const line of lines) {
    const words = line
      .split(" ")
      .map((word) => word.replace('"$BROKER_URL"', url).replace("queues.yaml", join(folder, "page.yaml")));
    const typed = await startRun("klutch", words.slice(1), known).done;
    assert.equal(typed.code, 0, typed.stderr());
  }
});

test("an existing file stays without --force", async () => {
  answer = catalog(depth);
  const to = join(folder, "mine.yaml");
  await writeFile(to, "mine\n");
  const refused = await run([...asReader, "--to", to], known);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr(),
    /^error: .*mine\.yaml exists; choose another name, or replace it with --force/,
  );
  assert.equal(await readFile(to, "utf8"), "mine\n");
  assert.equal((await run([...asReader, "--to", to, "--force"], known)).code, 0);
  assert.match(await readFile(to, "utf8"), /kind: DataService/);
});

test("the password comes from a file or standard input as well, and no message shows it", async () => {
  answer = catalog(depth);
  const file = join(folder, "password");
  await writeFile(file, `${password}\n`);
  assert.equal((await run([...asReader, "--password-file", file])).code, 0);
  assert.equal((await run([...asReader, "--password-file", "-"], { stdin: `${password}\n` })).code, 0);
  const missing = await run(asReader);
  assert.match(
    missing.stderr(),
    /--username needs a password: set KLUTCH_BROKER_PASSWORD, or pass --password-file/,
  );
  const wrong = "another-secret-word";
  const refused = await run(asReader, { env: { KLUTCH_BROKER_PASSWORD: wrong } });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr(), /401.*Check --username and the password/);
  const encoded = Buffer.from(`reader:${wrong}`).toString("base64");
  for (const secret of [wrong, encoded]) assert.ok(!refused.stderr().includes(secret), refused.stderr());
});

test("several services are listed; a chosen one is written", async () => {
  answer = catalog(depth, ["queues", "topics"]);
  const refused = await run(asReader, known);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr(), /has 2 services: choose one with --service: "queues", "topics"/);
  assert.equal(refused.stdout(), "");
  const written = await run([...asReader, "--service", "topics"], known);
  assert.match(written.stdout(), /claim: \{ kind: TopicsInstance \}/);
});

test("a broker that lies is answered in words: a page, half of JSON, too much, an escape sequence, a reference to another host", async () => {
  const cases: readonly (readonly [answer: string, message: RegExp])[] = [
    ["<html>login</html>", /a page \(HTML\) instead of JSON/],
    ['{"services": [', /JSON that is broken/],
    ["[]", /is not an object/],
    ['{"services": {}}', /services: is an object, expected the list of services/],
    [catalog({ ...depth, title: "x".repeat(10_000_000) }), /answered GET \/v2\/catalog with too much/],
    [catalog(depth, ["\u001b[31mred"]), /services\[0\]\.name: is "\[31mred", expected 1 to 64 letters/],
  ];
  for (const [text, message] of cases) {
    answer = text;
    const refused = await run(asReader, known);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr(), message);
    assert.ok(!refused.stderr().includes("\u001b"));
    assert.equal(refused.stdout(), "");
  }
  answer = catalog({
    type: "object",
    properties: { away: { $ref: `${url}/elsewhere` }, near: { type: "string" } },
  });
  seen.length = 0;
  const written = await run(asReader, known);
  assert.match(
    written.stderr(),
    /warning: services\[0\].*properties\.away\.\$ref is ".*elsewhere": it refers outside/,
  );
  assert.deepEqual(seen, [{ method: "GET", url: "/v2/catalog" }]);
});

test("a file takes the place of a broker; a name that a shipped service has is to be filled in, with its line", async () => {
  const file = join(folder, "catalog.json");
  await writeFile(file, catalog(depth, ["postgresql"]));
  const written = await run(["--file", file]);
  assert.equal(written.code, 0, written.stderr());
  assert.match(
    written.stderr(),
    /to fill in: table:\d+: metadata\.name: is "postgresql", expected another name/,
  );
  await writeFile(file, "{");
  assert.match((await run(["--file", file])).stderr(), /--file: .*catalog\.json is not JSON/);
  await writeFile(file, " ".repeat(9_000_000));
  assert.match(
    (await run(["--file", file])).stderr(),
    /has 9000000 bytes, expected a catalog of at most 8388608/,
  );
  assert.match((await run(["--file", join(folder, "none")])).stderr(), /none cannot be read/);
});

test("addresses that would give the password away, and flags that contradict, are refused", async () => {
  for (const [args, message] of [
    [[], /Pass --url .*or --file/],
    [["--url", url, "--file", "x"], /Pass --url .*or --file/],
    [["--url", "http://broker.example.org"], /credentials travel only over https/],
    [["--url", "https://me:hidden-word@broker.example.org"], /must not hold a user name or password/],
  ] as const) {
    const refused = await run(args, known);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr(), message);
    assert.ok(!refused.stderr().includes("hidden-word"));
  }
});
