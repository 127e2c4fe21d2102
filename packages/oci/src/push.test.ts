import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { OciError } from "./errors.ts";
import { buildIndex, buildReferrer, digestOf, type Image, jsonBlob, mediaTypes } from "./image.ts";
import { pushImage, pushIndex, pushReferrers } from "./push.ts";
import { buildXpkg } from "./xpkg.ts";

/** A registry in memory. Only a fake refuses at the step that a test wants; the real one is in push.real.test.ts. */
class Registry {
  /** Stored content, by path. */
  readonly stored = new Map<string, Buffer>();
  readonly requests: string[] = [];
  /** Upload location in the answer to POST. */
  location: string | null = "/uploads/1?state=abc";
  /** Answers instead of the registry; true when it did. */
  fault: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  url = "";

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    this.requests.push(`${method} ${url}`);
    if (this.fault(request, response)) return;
    const { pathname, searchParams } = new URL(url, this.url);
    if (method === "HEAD") response.writeHead(this.stored.has(pathname) ? 200 : 404).end();
    else if (method === "POST")
      response.writeHead(202, this.location === null ? {} : { location: this.location }).end();
    else {
      const bytes = await buffer(request);
      const digest = searchParams.get("digest");
      const wrong = digest !== null && digest !== digestOf(bytes);
      const key = digest === null ? pathname : `/v2/klutch/x/blobs/${digest}`;
      if (!wrong) this.stored.set(key, bytes);
      response.writeHead(wrong ? 400 : 201).end();
    }
  }
}

async function serve(t: TestContext): Promise<Registry> {
  const registry = new Registry();
  const server = createServer((request, response) => void registry.handle(request, response));
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  registry.url = `http://127.0.0.1:${address.port}`;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return registry;
}

const image = buildXpkg("kind: Function\n");
const push = (
  registry: Registry,
  changes: { readonly signal?: AbortSignal; readonly image?: Image } = {},
): Promise<void> =>
  pushImage(changes.image ?? image, {
    registry: registry.url,
    repository: "klutch/x",
    tag: "v1",
    signal: changes.signal,
  });

/** Pushes, and gives back the words of the refusal. */
async function refusal(registry: Registry): Promise<string> {
  try {
    await push(registry);
  } catch (error) {
    assert.ok(error instanceof OciError);
    return error.message;
  }
  return assert.fail("it was taken");
}

test("every blob is there, byte by byte, before the manifest that names it", async (t) => {
  const registry = await serve(t);
  await push(registry);
  for (const { digest, bytes } of image.blobs) {
    assert.deepEqual(registry.stored.get(`/v2/klutch/x/blobs/${digest}`), Buffer.from(bytes));
  }
  assert.equal(registry.requests.at(-1), "PUT /v2/klutch/x/manifests/v1");
  assert.deepEqual(registry.stored.get("/v2/klutch/x/manifests/v1"), Buffer.from(image.manifest.bytes));
});

test("existing blobs are not sent again, the tag is", async (t) => {
  const registry = await serve(t);
  await push(registry);
  registry.requests.length = 0;
  await push(registry);
  assert.deepEqual(
    registry.requests.map((request) => request.split(" ")[0]),
    ["HEAD", "HEAD", "PUT"],
  );
});

test("an upload goes where the registry says, relative or absolute, and keeps what stands in the query", async (t) => {
  const registry = await serve(t);
  for (const location of ["/uploads/2?state=a%2Fb", `${registry.url}/uploads/3?state=c`, "/uploads/4"]) {
    registry.location = location;
    registry.stored.clear();
    registry.requests.length = 0;
    await push(registry);
    const upload = new URL(
      registry.requests.find((request) => request.startsWith("PUT"))?.slice(4) ?? "",
      registry.url,
    );
    const asked = new URL(location, registry.url);
    assert.equal(upload.pathname, asked.pathname);
    assert.equal(upload.searchParams.get("state"), asked.searchParams.get("state"));
    assert.match(upload.searchParams.get("digest") ?? "", /^sha256:[0-9a-f]{64}$/);
  }
});

for (const [what, method, path, status] of [
  ["upload", "POST", /uploads\/$/, 403],
  ["blob", "PUT", /digest=/, 413],
  ["manifest", "PUT", /manifests/, 400],
] as const) {
  test(`a refusal of the ${what} names it, the place, the status and what the registry says`, async (t) => {
    const registry = await serve(t);
    registry.fault = (request, response) => {
      if (request.method !== method || !path.test(request.url ?? "")) return false;
      response.writeHead(status).end("DENIED ".repeat(1_000));
      return true;
    };
    const message = await refusal(registry);
    assert.ok(
      message.startsWith(
        `the registry ${registry.url} refused the ${what} of klutch/x:v1: HTTP ${status} DENIED DENIED`,
      ),
      message,
    );
    assert.ok(message.length < 500, "a page of a registry is not an error text");
    assert.equal(registry.stored.has("/v2/klutch/x/manifests/v1"), false);
  });
}

test("an upload without a place to go is a refusal", async (t) => {
  const registry = await serve(t);
  registry.location = null;
  assert.match(await refusal(registry), /refused the upload .* HTTP 202/);
});

test("an upload to a place that is no URL is named", async (t) => {
  const registry = await serve(t);
  registry.location = "http://[";
  const message = await refusal(registry);
  assert.equal(
    message,
    `the registry ${registry.url} wants the upload of klutch/x at "http://[", which is no URL`,
  );
});

test("a connection that breaks is named with the registry, an abort has the caller's reason", async (t) => {
  const registry = await serve(t);
  registry.fault = (request) => {
    request.socket.destroy();
    return true;
  };
  assert.equal(await refusal(registry), `the registry at ${registry.url} cannot be reached (UND_ERR_SOCKET)`);
  const reason = new Error("the process stops");
  await assert.rejects(push(registry, { signal: AbortSignal.abort(reason) }), reason);
});

test("a blob that does not have its digest is refused by the registry, not hidden", async (t) => {
  const registry = await serve(t);
  const blob = { ...jsonBlob({}, mediaTypes.config), digest: digestOf(Buffer.from("other")) };
  await assert.rejects(push(registry, { image: { ...image, blobs: [blob] } }), /refused the blob/);
});

test("an index goes after the images of its platforms, which are pushed by digest", async (t) => {
  const registry = await serve(t);
  const index = buildIndex([{ architecture: "arm64", image }]);
  await pushIndex(index, { registry: registry.url, repository: "klutch/x", tag: "v1" });
  assert.deepEqual(
    registry.requests.filter((request) => request.includes("manifests")),
    [`PUT /v2/klutch/x/manifests/${image.manifest.digest}`, "PUT /v2/klutch/x/manifests/v1"],
  );
});

test("a registry that keeps no list of documents gets one under the tag of the image's digest; another does not", async (t) => {
  const document = buildReferrer(image.manifest, jsonBlob({ a: 1 }, "application/spdx+json"));
  for (const keepsList of [false, true]) {
    const registry = await serve(t);
    registry.fault = ({ method = "" }, response) => {
      if (keepsList && method === "PUT") response.setHeader("oci-subject", image.manifest.digest);
      return false;
    };
    await pushReferrers(image.manifest, [document], { registry: registry.url, repository: "klutch/x" });
    const list = registry.stored.get(`/v2/klutch/x/manifests/${image.manifest.digest.replace(":", "-")}`);
    assert.equal(list === undefined, keepsList);
    if (list === undefined) continue;
    const named: unknown = JSON.parse(list.toString());
    assert.partialDeepStrictEqual(named, {
      manifests: [{ digest: document.manifest.digest, artifactType: "application/spdx+json" }],
    });
  }
});
