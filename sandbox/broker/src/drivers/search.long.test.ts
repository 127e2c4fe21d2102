/** OpenSearch as applications see it, by its HTTP API with the Secret's keys alone. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { after, test } from "node:test";
import { makeServerFolder } from "@klutch/data-servers";
import { isPortFree } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { damaged, dump, restore } from "../testing/dumps.ts";
import { bindingOf, instanceOf, memoryMiBOf, openFolder, pidIn, serversOf } from "../testing/servers.ts";
import { pack, unpack } from "./archive.ts";
import type { Credentials } from "./driver.ts";

await using stack = new AsyncDisposableStack();
const folder = stack.use(await openFolder());
const search = stack.use(await serversOf(folder.path, "search"));
const kept = stack.move();
after(() => kept.disposeAsync());
const plan = "search-single-nano-ssl";

/** Sends a request as an application does; `as` replaces parts of the Secret. */
async function ask(
  credentials: Credentials,
  method: string,
  path: string,
  body?: object,
  as: Credentials = {},
) {
  const { host, username, password, cacrt } = { ...credentials, ...as };
  const [url] = host as readonly string[];
  const sent = request(`${url}/`, {
    path,
    method,
    auth: `${String(username)}:${String(password)}`,
    ca: String(cacrt),
    headers: { "content-type": "application/json" },
    agent: false,
  }).end(body === undefined ? undefined : JSON.stringify(body));
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const text = (await answer.toArray()).join("");
  return { status: answer.statusCode, text };
}

async function found(credentials: Credentials, path: string): Promise<readonly string[]> {
  const { status, text } = await ask(credentials, "GET", path);
  assert.equal(status, 200, text);
  const { hits } = JSON.parse(text) as { hits: { hits: readonly { _source: { title: string } }[] } };
  return hits.hits.map(({ _source }) => _source.title);
}

async function put(credentials: Credentials, index: string, title: string): Promise<void> {
  const { status, text } = await ask(credentials, "PUT", `/${index}/_doc/1?refresh=true`, { title });
  assert.equal(status, 201, text);
}

const started = performance.now();
const [mine, theirs] = [instanceOf("mine", plan), instanceOf("theirs", plan)];
await Promise.all([search.ensure(mine), search.ensure(theirs)]);
const readyMs = Math.round(performance.now() - started);
const [first, second, other] = await Promise.all([
  search.bind(bindingOf(mine, "mine-1"), mine),
  search.bind(bindingOf(mine, "mine-2"), mine),
  search.bind(bindingOf(theirs, "theirs-1"), theirs),
]);

test("a binding has the documented keys, and what it indexed is found by the other one, also after a crash of the server", async (t) => {
  t.diagnostic(`two instances were usable after ${readyMs} ms`);
  const keys = ["cacrt", "host", "hosts", "password", "port", "scheme", "username"];
  assert.deepEqual(Object.keys(first).toSorted(), keys);
  assert.deepEqual(first["host"], [`https://127.0.0.1:${String(first["port"])}`]);
  assert.deepEqual(await search.credentials(bindingOf(mine, "mine-1")), first);
  assert.notEqual(first["username"], second["username"]);
  await put(first, "books", "grüße");
  assert.equal((await ask(first, "PUT", "/spare")).status, 200);
  assert.deepEqual(await found(second, "/books/_search?q=title:gr%C3%BC%C3%9Fe"), ["grüße"]);
  const pid = await pidIn(search.homeOf("mine"));
  t.diagnostic(`takes ${await memoryMiBOf(pid)} MiB`);
  process.kill(pid, "SIGKILL");
  const again = async (): Promise<boolean> =>
    (await ask(second, "GET", "/books/_count").catch(() => undefined))?.status === 200;
  await waitFor("the server", again, { timeoutMs: 240_000 });
  assert.deepEqual(await found(second, "/books/_search"), ["grüße"]);
});

test("a binding reaches no other instance, whichever path it asks for", async () => {
  await put(other, "theirs-books", "secret");
  const pit = await ask(other, "POST", "/theirs-books/_search/point_in_time?keep_alive=5m");
  assert.equal(pit.status, 200, pit.text);
  const { pit_id: id } = JSON.parse(pit.text) as { pit_id: string };
  const scrolled = await ask(other, "GET", "/theirs-books/_search?scroll=5m&size=1");
  const { _scroll_id: scroll } = JSON.parse(scrolled.text) as { _scroll_id: string };
  // At the other server, the login does not exist.
  const intrude = { host: other["host"] };
  for (const path of [
    "/",
    "/_all/_search",
    "/*/_search",
    "/theirs-books/_search",
    "/_alias",
    "/_cat/indices",
  ])
    assert.equal((await ask(first, "GET", path, undefined, intrude)).status, 401, path);
  const liar = await ask(other, "GET", "/_all/_search", undefined, { password: first["password"] });
  assert.equal(liar.status, 401);
  // At its own server, the other one's data do not exist.
  for (const path of [
    "/_all/_search",
    "/*/_search",
    "/*,.*/_search?expand_wildcards=all",
    "/books,*/_search",
  ])
    assert.deepEqual(await found(first, path), ["grüße"], path);
  for (const path of ["/..%2Ftheirs-books/_search", "/../theirs/_search", "/books/../../_search"])
    assert.ok(!(await ask(first, "GET", path)).text.includes("secret"), path);
  const { status, text } = await ask(first, "POST", "/_search", { pit: { id, keep_alive: "1m" } });
  assert.notEqual(status, 200, text);
  const stolen = await ask(first, "POST", "/_search/scroll", { scroll: "1m", scroll_id: scroll });
  assert.ok(!stolen.text.includes("secret"), stolen.text);
  assert.deepEqual(await found(other, "/theirs-books/_search"), ["secret"]);
});

test("a binding changes no accounts, and reads none", async () => {
  const api = "/_plugins/_security/api";
  const rights = { password: "Long-enough-42-and-strange", opendistro_security_roles: ["all_access"] };
  for (const [method, path, body] of [
    ["GET", `${api}/internalusers`, undefined],
    ["PUT", `${api}/internalusers/mallory`, rights],
    ["PUT", `${api}/internalusers/${String(second["username"])}`, rights],
    ["DELETE", `${api}/internalusers/${String(second["username"])}`, undefined],
    ["PUT", `${api}/rolesmapping/all_access`, { users: [first["username"]] }],
    ["PUT", "/_cluster/settings", { transient: { "plugins.security.disabled": true } }],
    ["PUT", "/_snapshot/leak", { type: "fs", settings: { location: "/tmp" } }],
    ["PUT", "/.opendistro_security/_doc/internalusers", {}],
    ["DELETE", "/.opendistro_security", undefined],
  ] as const) {
    const { status, text } = await ask(first, method, path, body);
    assert.equal(status, 403, `${method} ${path}: ${status} ${text}`);
  }
  const hidden = await ask(first, "GET", "/.opendistro_security/_search");
  assert.ok(!hidden.text.includes("hash") && !hidden.text.includes("internalusers"), hidden.text);
  // A password that a login gave itself is undone by binding again.
  const own = { current_password: first["password"], password: rights.password };
  const changed = await ask(first, "PUT", `${api}/account`, own);
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual(await search.bind(bindingOf(mine, "mine-1"), mine), first);
  assert.deepEqual(await found(first, "/books/_search"), ["grüße"]);
});

test("a login that is gone is refused at once, and the other one stays", async () => {
  await search.unbind(bindingOf(mine, "mine-1"));
  assert.equal((await ask(first, "GET", "/books/_search")).status, 401);
  assert.deepEqual(await found(second, "/books/_search"), ["grüße"]);
  await search.unbind(bindingOf(mine, "mine-1"));
});

test("while the disk is full, a login reads and deletes and writes nothing", async () => {
  const write = async (): Promise<number | undefined> =>
    (await ask(second, "PUT", "/books/_doc/2?refresh=true", { title: "more" })).status;
  await search.serverOf("mine").use((session) => session.setFull(true));
  assert.equal(await write(), 429);
  assert.deepEqual(await found(second, "/books/_search"), ["grüße"]);
  assert.equal((await ask(second, "DELETE", "/spare")).status, 200);
  await search.serverOf("mine").use((session) => session.setFull(false));
  assert.equal(await write(), 201);
  assert.equal((await ask(second, "DELETE", "/books/_doc/2?refresh=true")).status, 200);
});

type Part = Readonly<Record<string, unknown>>;

/** Returns all that a binding can see of its instance. */
async function contentOf(credentials: Credentials): Promise<Part> {
  const answered = async (path: string): Promise<Part> => {
    const { status, text } = await ask(credentials, "GET", path);
    assert.equal(status, 200, `${path}: ${text}`);
    // An index that is restored is another one with the same content.
    return JSON.parse(text, (key, value: unknown) => (key.endsWith("uuid") ? undefined : value)) as Part;
  };
  const all = Object.entries(await answered("/*?expand_wildcards=all&flat_settings=true"));
  const indices = all.filter(([name]) => name !== ".opendistro_security");
  const found = await answered(
    "/*/_search?expand_wildcards=open,hidden&version=true&seq_no_primary_term=true",
  );
  const { hits } = found["hits"] as { readonly hits: readonly Part[] };
  return {
    indices: Object.fromEntries(indices),
    documents: hits.map((hit) => JSON.stringify(hit)).toSorted(),
    streams: await answered("/_data_stream"),
    templates: [await answered("/_component_template"), await answered("/_index_template")],
    old: await answered("/_template"),
  };
}

/** Changes a backup as someone would who has its file, and can also make its checksum. */
async function changed(whole: Buffer, change: (folder: string) => Promise<void>): Promise<Buffer> {
  const forged = await mkdtemp(join(folder.path, "forged-"));
  const unpacked = join(forged, "unpacked");
  await makeServerFolder(unpacked);
  const signal = AbortSignal.timeout(60_000);
  await unpack(unpacked, { open: () => Readable.from([whole]), signal });
  await change(unpacked);
  const to = new PassThrough();
  const packed = buffer(to);
  await pack(forged, (inside) => cp(unpacked, inside, { recursive: true }), to, signal);
  return packed;
}

test("a restore brings back exactly what was backed up, once; a backup that is damaged or lies is refused and changes nothing", async (t) => {
  const use = async (method: string, path: string, body?: object): Promise<void> => {
    const { status, text } = await ask(second, method, path, body);
    assert.ok(status === 200 || status === 201, `${method} ${path}: ${status} ${text}`);
  };
  const mappings = { properties: { title: { type: "keyword" }, at: { type: "date" } } };
  await use("PUT", "/_component_template/base", { template: { settings: { number_of_replicas: 0 } } });
  await use("PUT", "/_index_template/streams", {
    index_patterns: ["stream-*"],
    data_stream: {},
    composed_of: ["base"],
  });
  await use("PUT", "/_template/old%2Bone", { index_patterns: ["old-*"], settings: { number_of_shards: 2 } });
  await use("PUT", "/shelf", {
    mappings,
    settings: { number_of_replicas: 0, refresh_interval: "7s" },
    aliases: { named: { filter: { term: { title: "a" } } } },
  });
  for (const title of ["a", "b"])
    await use("PUT", `/shelf/_doc/${title}?refresh=true`, { title, at: "2026-11-29" });
  await use("PUT", "/shelf/_doc/a?refresh=true", { title: "a", at: "2026-11-30" });
  await use("PUT", "/.hidden", { settings: { "index.hidden": true } });
  await use("PUT", "/closed");
  await use("POST", "/closed/_close");
  await use("POST", "/stream-one/_doc?refresh=true", { "@timestamp": "2026-11-29", title: "streamed" });
  const before = await contentOf(second);
  const beside = await contentOf(other);
  const whole = await dump(search, mine);
  t.diagnostic(`a backup has ${whole.length} bytes`);
  assert.deepEqual(await contentOf(second), before, "a backup leaves nothing");
  await use("DELETE", "/books");
  await use("PUT", "/shelf/_doc/a?refresh=true", { title: "changed" });
  await use("DELETE", "/shelf/_alias/named");
  await use("PUT", "/newer");
  await use("DELETE", "/_data_stream/stream-one");
  await use("DELETE", "/_index_template/streams");
  await use("PUT", "/_template/newer", { index_patterns: ["newer"] });
  const later = await contentOf(second);
  const binding = bindingOf(mine, "mine-2");

  for (const [token, lie] of damaged(whole))
    await assert.rejects(restore(search, mine, lie, { token }), /the backup cannot be unpacked: .*tar/);
  const greedy = [["/_plugins/_security/api/internalusers/mallory", { password: "m" }]];
  const intruding = await changed(whole, (inside) =>
    writeFile(join(inside, "templates.json"), JSON.stringify(greedy)),
  );
  await assert.rejects(
    restore(search, mine, intruding, { token: "lie" }),
    /something else among its templates/,
  );
  const lacking = await changed(whole, async (inside) => {
    const names = await readdir(inside, { recursive: true });
    const blobs = names.filter((name) => /\/__[^/]+$/.test(name));
    assert.ok(blobs.length > 0, names.join(" "));
    for (const name of blobs) await rm(join(inside, name));
  });
  await assert.rejects(restore(search, mine, lacking, { token: "lacking" }), /shards are damaged/);
  assert.deepEqual(await contentOf(second), later);

  const began = performance.now();
  await restore(search, mine, whole, { token: "token-1", bindings: [binding] });
  t.diagnostic(`restored after ${Math.round(performance.now() - began)} ms`);
  assert.deepEqual(await search.credentials(binding), second);
  assert.deepEqual(await contentOf(second), before);
  assert.equal((await ask(first, "GET", "/")).status, 401, "a login that was removed stays away");
  assert.deepEqual(await contentOf(other), beside);
  await use("PUT", "/after");
  await restore(search, mine, whole, { token: "token-1", bindings: [binding] });
  await use("GET", "/after");
  await use("DELETE", "/after");
  const names = (await readdir(search.homeOf("mine"))).filter((name) =>
    /^(?:data-|dump|fill|snap)/.test(name),
  );
  assert.deepEqual(names, ["data-token-1"]);
});

test("a heap that the plan has no memory for is refused with what would be right, and the parameter can be taken back", async () => {
  const greedy = { ...mine, operation: "update", parameters: { java_heapspace: 300 } } as const;
  await assert.rejects(
    search.ensure(greedy),
    /the OpenSearch of instance mine does not run: .*a heap of 300 MiB needs 556 MiB, but the plan has 512 MiB; set java_heapspace \(javaHeapspace of a claim\) to at most 256, or choose a larger plan/,
  );
  await search.ensure({ ...mine, operation: "update", parameters: { "tls-protocols": ["TLSv1.3"] } });
  assert.deepEqual(await found(second, "/books/_search"), ["grüße"]);
});

test("an instance that is dropped leaves no process, no port and no folder, and no log or command line has a password", async () => {
  const home = search.homeOf("theirs");
  const pid = await pidIn(home);
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8");
  const log = await readFile(join(home, "server.log"), "utf8");
  for (const password of [other["password"], first["password"]])
    assert.ok(!command.includes(String(password)) && !log.includes(String(password)));
  await search.drop(theirs);
  await assert.rejects(stat(home), { code: "ENOENT" });
  await assert.rejects(readFile(`/proc/${pid}/cmdline`, "utf8"), { code: "ENOENT" });
  assert.ok(await isPortFree(Number(other["port"]), "127.0.0.1"));
  await assert.rejects(ask(other, "GET", "/"), { code: "ECONNREFUSED" });
});
