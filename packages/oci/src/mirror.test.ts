import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { OciError } from "./errors.ts";
import { buildIndex, digestOf } from "./image.ts";
import { writeLayout } from "./layout.ts";
import { mirrorLayout } from "./mirror.ts";
import { buildXpkg } from "./xpkg.ts";

const image = buildXpkg("kind: Function\n");
const index = buildIndex([{ architecture: "amd64", image }]);
const digest = index.manifest.digest;

/** A registry that keeps what it gets and answers what a test wants: the real one, in push.real.test.ts, neither lies nor refuses. */
interface Liar {
  readonly url: string;
  readonly writes: string[];
  /** Answers requests for manifests by reference; else with the stored content. */
  answer: (reference: string) => Answer | undefined;
}

interface Answer {
  readonly status: number;
  readonly body?: string;
  /** More was promised, and the connection ends. */
  readonly cutOff?: boolean;
}

async function serve(t: TestContext): Promise<Liar> {
  const stored = new Map<string, Buffer>();
  const liar = { url: "", writes: [] as string[], answer: () => undefined } satisfies Liar as Liar;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url = "" } = request;
    const reference = /\/manifests\/(.+)$/.exec(url)?.[1];
    const body = await buffer(request);
    if (method === "GET" && reference !== undefined) {
      const kept = stored.get(reference);
      const answer = liar.answer(reference);
      if (answer?.cutOff === true) {
        response.writeHead(answer.status, { "content-length": "1000" });
        return void response.write(answer.body ?? "", () => response.destroy());
      }
      const found = answer ?? { status: kept === undefined ? 404 : 200, body: kept };
      return void response.writeHead(found.status).end(found.body);
    }
    if (method === "HEAD") return void response.writeHead(404).end();
    liar.writes.push(`${method} ${url}`);
    if (method === "POST") return void response.writeHead(202, { location: "/uploads/1" }).end();
    if (reference !== undefined) {
      stored.set(reference, body);
      stored.set(digestOf(body), body);
    }
    response.writeHead(201).end();
  };
  const server = createServer((request, response) => void handle(request, response));
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(liar, { url: `http://127.0.0.1:${address.port}` });
}

async function layout(t: TestContext, name = "function:v1"): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "klutch-mirror-"));
  t.after(() => rm(folder, { recursive: true }));
  await writeLayout(folder, [{ name, image: index }]);
  return folder;
}

const mirror = (folder: string, registry: string): ReturnType<typeof mirrorLayout> =>
  mirrorLayout({ folder, registry, path: "team", say: () => undefined });

async function refusal(folder: string, registry: string): Promise<string> {
  try {
    await mirror(folder, registry);
  } catch (error) {
    assert.ok(error instanceof OciError, String(error));
    return error.message;
  }
  return assert.fail("it was done");
}

test("an honest registry has what was sent, under tag and digest", async (t) => {
  const registry = await serve(t);
  assert.deepEqual(await mirror(await layout(t), registry.url), [{ name: "function", tag: "v1", digest }]);
  assert.equal(registry.writes.at(-1), "PUT /v2/team/function/manifests/v1");
});

test("a tag that means something else already is named with both digests, and nothing is sent", async (t) => {
  const registry = await serve(t);
  registry.answer = () => ({ status: 200, body: "{}" });
  const message = await refusal(await layout(t), registry.url);
  assert.ok(
    message.includes(`team/function:v1 is ${digestOf(Buffer.from("{}"))} there and ${digest} here`),
    message,
  );
  assert.match(message, /nothing was changed/);
  assert.deepEqual(registry.writes, []);
});

test("a registry that gives another manifest than it took, for the tag or for the digest, is found out", async (t) => {
  for (const lie of ["v1", digest]) {
    const registry = await serve(t);
    registry.answer = (reference) =>
      reference === lie && registry.writes.length > 0 ? { status: 200, body: '{"evil":true}' } : undefined;
    const message = await refusal(await layout(t), registry.url);
    assert.ok(message.includes(`for ${lie}, expected ${digest}; install nothing from it`), message);
  }
});

test("a registry that wants a login, fails, or sends a manifest without end is named", async (t) => {
  const registry = await serve(t);
  const folder = await layout(t);
  for (const [answer, expected] of [
    [{ status: 401 }, /wants a login for team\/function/],
    [{ status: 500, body: "oops" }, /HTTP 500 oops/],
    [{ status: 200, body: "x".repeat(5 * 1024 * 1024) }, /more than 4 MiB/],
  ] as const) {
    registry.answer = () => answer;
    assert.match(await refusal(folder, registry.url), expected);
  }
  assert.deepEqual(registry.writes, []);
});

test("a registry whose answer breaks off is named", async (t) => {
  const registry = await serve(t);
  registry.answer = () => ({ status: 200, body: "{", cutOff: true });
  assert.equal(
    await refusal(await layout(t), registry.url),
    `the answer of the registry at ${registry.url} broke off`,
  );
  assert.deepEqual(registry.writes, []);
});

test("a registry that does not answer is named", async (t) => {
  const closed = await serve(t);
  const { port } = new URL(closed.url);
  const message = await refusal(await layout(t), `https://127.0.0.1:${port}`);
  assert.match(
    message,
    new RegExp(`^the registry at https://127\\.0\\.0\\.1:${port} cannot be reached \\([A-Z_]+\\)$`),
  );
});

test("a blob with another content or length, a missing one and a manifest that is none are named before anything is sent", async (t) => {
  const registry = await serve(t);
  const [blob] = image.blobs.slice(-1);
  assert.ok(blob !== undefined);
  const path = (folder: string, of: string): string => join(folder, "blobs", ...of.split(":"));
  const spoilt = Buffer.from(blob.bytes);
  spoilt[0] = (spoilt[0] ?? 0) ^ 1;
  for (const [spoil, expected] of [
    [
      (folder: string) => writeFile(path(folder, blob.digest), spoilt),
      /has the digest sha256:[0-9a-f]+; it was changed/,
    ],
    [
      (folder: string) => writeFile(path(folder, blob.digest), "short"),
      /has the digest sha256:[0-9a-f]+; it was changed/,
    ],
    [(folder: string) => rm(path(folder, blob.digest)), /cannot be read; the layout is not whole/],
    [(folder: string) => rm(join(folder, "index.json")), /index\.json cannot be read/],
    [(folder: string) => writeFile(join(folder, "index.json"), "{"), /index\.json is no JSON/],
    [(folder: string) => writeFile(join(folder, "index.json"), "{}"), /manifests is missing/],
    [
      async (folder: string): Promise<void> => {
        const text = await readFile(join(folder, "index.json"), "utf8");
        await writeFile(join(folder, "index.json"), text.replace(digest, "sha256:../../../etc/passwd"));
      },
      /has the digest "sha256:\.\.\/.*expected sha256:<hex>/,
    ],
  ] as const) {
    const folder = await layout(t);
    await spoil(folder);
    assert.match(await refusal(folder, registry.url), expected);
  }
  assert.deepEqual(registry.writes, []);
});

test("a layout whose names are no names of a registry is refused", async (t) => {
  const registry = await serve(t);
  for (const name of ["function", "../function:v1", "Function:v1", "function:v1/x", "function:"])
    assert.match(await refusal(await layout(t, name), registry.url), /expected <name>:<tag>/);
});
