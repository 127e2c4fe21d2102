/** Prometheus as applications see it, by its HTTP API. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { createServer, get } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { isPortFree } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { bindingOf, instanceOf, memoryMiBOf, openFolder, pidIn, serversOf } from "../testing/servers.ts";
import type { Credentials } from "./driver.ts";

/** Keys in anynines' documentation of the service ("Service Instance Access"), without those of programs that these instances lack. */
const documented = ["password", "prometheus_urls", "username"];

await using stack = new AsyncDisposableStack();
const folder = stack.use(await openFolder());
const prometheus = stack.use(await serversOf(folder.path, "prometheus"));
const app = createServer((_, answer) => answer.end("orders_total 42\n"));
app.listen(0, "127.0.0.1");
await once(app, "listening");
stack.defer(() => void app.close());
const kept = stack.move();
after(() => kept.disposeAsync());

const { port: appPort } = app.address() as AddressInfo;
const scraped = {
  job_name: "app",
  scrape_interval: "1s",
  static_configs: [{ targets: [`127.0.0.1:${appPort}`] }],
};

const urlOf = ({ prometheus_urls: urls }: Credentials): string => {
  assert.ok(Array.isArray(urls));
  return String(urls[0]);
};

/** Asks as an application does; `null` is without a login. */
async function ask(
  credentials: Credentials,
  path: string,
  login: Credentials | null = credentials,
  method = "GET",
) {
  const basic =
    login === null ? "" : `Basic ${btoa(`${String(login["username"])}:${String(login["password"])}`)}`;
  const headers = login === null ? undefined : { authorization: basic };
  const answer = await fetch(`${urlOf(credentials)}${path}`, { method, ...(headers && { headers }) });
  return { status: answer.status, text: await answer.text() };
}

/** Returns the newest value of a series; undefined when there is none. */
async function valueOf(credentials: Credentials, series: string): Promise<string | undefined> {
  const { text } = await ask(credentials, `/api/v1/query?query=${series}`);
  return /"value":\[[\d.]+,"([^"]*)"\]/.exec(text)?.[1];
}

/** Makes an instance and one binding. */
async function made(name: string) {
  const instance = instanceOf(name, "prometheus-single-small", { scrape_configs: [scraped] });
  await prometheus.ensure(instance);
  const binding = bindingOf(instance, `${name}-1`);
  return { instance, binding, credentials: await prometheus.bind(binding, instance) };
}

test("a binding has the documented keys, reads what is scraped, and its series live through a crash", async (t) => {
  const started = performance.now();
  const { instance, binding, credentials } = await made("keys");
  t.diagnostic(`usable after ${Math.round(performance.now() - started)} ms`);
  assert.deepEqual(Object.keys(credentials).toSorted(), documented);
  assert.deepEqual(await prometheus.bind(binding, instance), credentials, "binding again");
  assert.deepEqual(await prometheus.credentials(binding), credentials);
  await waitFor("the series", async () => (await valueOf(credentials, "orders_total")) === "42");
  const pid = await pidIn(prometheus.homeOf("keys"));
  t.diagnostic(`takes ${await memoryMiBOf(pid)} MiB`);
  process.kill(pid, "SIGKILL");
  await waitFor("the server", async () => {
    const counted = await valueOf(credentials, "count_over_time(orders_total[5m])").catch(() => undefined);
    return Number(counted) >= 2;
  });
});

test("two bindings have their own logins, and one that is gone is refused at once, also after a restart", async () => {
  const { instance, binding, credentials } = await made("pair");
  const second = await prometheus.bind(bindingOf(instance, "pair-2"), instance);
  assert.notEqual(second["username"], credentials["username"]);
  assert.notEqual(second["password"], credentials["password"]);
  for (const each of [credentials, second]) assert.equal((await ask(each, "/api/v1/labels")).status, 200);
  await prometheus.unbind(binding);
  assert.equal((await ask(credentials, "/api/v1/labels")).status, 401);
  assert.equal((await ask(second, "/api/v1/labels")).status, 200);
  process.kill(await pidIn(prometheus.homeOf("pair")), "SIGKILL");
  await waitFor("the server", async () => {
    const status = await ask(second, "/api/v1/labels").then(
      (answer) => answer.status,
      () => 0,
    );
    return status === 200;
  });
  assert.equal((await ask(credentials, "/api/v1/labels")).status, 401);
  await prometheus.unbind(binding);
});

test("no login, a wrong password and the login of another instance get nothing", async () => {
  const [mine, theirs] = [(await made("mine")).credentials, (await made("theirs")).credentials];
  const liar = { username: theirs["username"], password: mine["password"] };
  const admin = { username: "klutch", password: "" };
  for (const login of [null, mine, liar, admin])
    for (const path of ["/", "/metrics", "/api/v1/labels", "/-/ready"])
      assert.equal((await ask(theirs, path, login)).status, 401, path);
});

test("a binding neither ends the server, nor changes its configuration, nor removes series", async () => {
  const { credentials } = await made("closed");
  for (const path of ["/-/quit", "/-/reload"])
    assert.equal((await ask(credentials, path, credentials, "POST")).status, 403, path);
  const remove = "/api/v1/admin/tsdb/delete_series?match[]=up";
  assert.match((await ask(credentials, remove, credentials, "POST")).text, /admin APIs disabled/);
  const { text } = await ask(credentials, "/api/v1/status/config");
  assert.ok(!text.includes("$2b$"));
});

test("a plan limits the samples of a query and the connections at once, and the next query works", async (t) => {
  const { credentials } = await made("limits");
  const query = (text: string): string => `/api/v1/query?query=${encodeURIComponent(text)}`;
  // Each second of 60 days is a sample.
  const greedy = await ask(credentials, query("count_over_time(vector(1)[60d:1s])"));
  assert.equal(greedy.status, 422, greedy.text);
  assert.match(greedy.text, /too many samples/);
  const url = urlOf(credentials);
  const headers = {
    authorization: `Basic ${btoa(`${String(credentials["username"])}:${String(credentials["password"])}`)}`,
  };
  /** Asks by a connection of its own. */
  const isServed = (): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const timeout = AbortSignal.timeout(2_000);
      const sent = get(`${url}${query("1")}`, { headers, agent: false, signal: timeout }, (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      });
      sent.on("error", (error) => (timeout.aborted ? resolve(false) : reject(error)));
    });
  const idle = Array.from({ length: 22 }, () => connect(Number(new URL(url).port), "127.0.0.1"));
  t.after(() => idle.forEach((each) => each.destroy()));
  await Promise.all(idle.map((each) => once(each, "connect")));
  assert.equal(await isServed(), false, "the plan's 20 connections and the broker's own are taken");
  for (const each of idle) each.destroy();
  await waitFor("a connection", isServed);
});

test("a deleted instance leaves no process, no port and no folder; its log had no password", async () => {
  const { instance, binding, credentials } = await made("gone");
  await ask(credentials, "/", { username: "klutch", password: "wrong" });
  const home = prometheus.homeOf("gone");
  for (const file of ["server.log", "logins.json"])
    assert.ok(!(await readFile(join(home, file), "utf8")).includes(String(credentials["password"])), file);
  const pid = await pidIn(home);
  await prometheus.drop(instance);
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  assert.ok(await isPortFree(Number(new URL(urlOf(credentials)).port), "127.0.0.1"));
  await assert.rejects(stat(home), { code: "ENOENT" });
  await prometheus.unbind(binding);
});
