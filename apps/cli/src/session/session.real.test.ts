/**
 * A script's day from the command line: `klutch login` at a real Dex, then `templates` and `kubectl bind` without a browser, then `logout`. Two real
 * API servers, and the shipped backend as a process.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  type APIServiceBinding,
  apiServiceBindings,
  consumerNamespace,
  type ClusterBinding,
  clusterBindings,
  loginWayAnnotation,
  newClusterKey,
} from "@klutch/api";
import { type DynamicObject, secrets } from "@klutch/kube-core";
import { prepareConsumer, prepareProvider } from "../testing/provider-side.ts";
import { honestSession, startLyingSessions } from "../testing/lying-sessions.ts";
import { loginAt, startRealBackend } from "../testing/real-backend.ts";
import { type Finished, type Outside, startRun } from "../testing/run.ts";
import { startTwoClusters } from "../testing/two-clusters.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { consumer, provider, path, write } = stack.use(await startTwoClusters());
await prepareProvider(provider);
await prepareConsumer(consumer);
const KUBECONFIG = await write("config", consumer.kubeconfig);
const real = await startRealBackend(stack, provider, ["PostgresqlInstance", "MariadbInstance"]);
const env = { KUBECONFIG, HOME: path("home"), XDG_CONFIG_HOME: path("xdg") };
const file = join(path("xdg"), "klutch", "logins.yaml");
const runs: Finished[] = [];
const secretParts: string[] = [];
const visited: string[] = [];

async function run(
  program: "klutch" | "kubectl-bind",
  args: readonly string[],
  outside: Outside = {},
): Promise<Finished> {
  const finished = await startRun(program, args, { env, ...outside }).done;
  runs.push(finished);
  return finished;
}

async function logIn(): Promise<Finished> {
  const browser = loginAt(real, visited);
  const finished = await run("klutch", ["login", real.url, "--login-as", real.person, "--timeout=60s"], {
    browser,
  });
  assert.equal(finished.code, 0, finished.stderr());
  secretParts.push(sessionIn(await readFile(file, "utf8")));
  return finished;
}

function sessionIn(text: string): string {
  const [, session = ""] = [...text.matchAll(/session: (klutch-session\.[^\s"']+)/g)].at(-1) ?? [];
  assert.ok(session.length > 100, text.length.toString());
  return session;
}

const bind = (...args: readonly string[]): Promise<Finished> =>
  run("kubectl-bind", [real.url, "--skip-konnector", "--accept-permissions", "--timeout=60s", ...args]);
const bound = async (): Promise<readonly APIServiceBinding[]> =>
  (await consumer.client.list<APIServiceBinding>(apiServiceBindings, { namespace: consumerNamespace })).items;

test("login, templates and a bind without a browser: the tenant and the app cluster know the way", async () => {
  await logIn();
  const listed = await run("klutch", ["templates"]);
  assert.match(listed.stdout(), /^postgresqlinstances\.anynines\.com +postgresql +Available$/m);
  const finished = await bind("--service=postgresql");
  assert.equal(finished.code, 0, finished.stderr());
  assert.match(
    finished.stderr(),
    /Logged in as ann@example\.com until .* UTC by klutch login; --login logs in again\./,
  );
  assert.doesNotMatch(finished.stderr(), /open this address in a browser/);
  const [binding] = await bound();
  assert.equal(binding?.metadata.name, "postgresqlinstances.anynines.com");
  const ref = { namespace: consumerNamespace, name: binding?.spec.kubeconfigSecretRef.name ?? "" };
  const { metadata } = await consumer.client.get<DynamicObject>(secrets, ref);
  assert.equal(metadata.annotations?.[loginWayAnnotation], "session");
  const [tenant] = (await provider.client.list<ClusterBinding>(clusterBindings)).items;
  assert.equal(tenant?.metadata.annotations?.[loginWayAnnotation], "session");
});

test("a further API comes with the same session to the same tenant, and an unknown one is refused by name", async () => {
  const finished = await bind("--api=mariadbinstances");
  assert.equal(finished.code, 0, finished.stderr());
  const names = new Set((await bound()).map(({ spec }) => spec.kubeconfigSecretRef.name));
  assert.equal(names.size, 1, "one tenant");
  const unknown = await bind("--api=fridges");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr(), /HTTP 403: fridges is not among the APIs that you may bind/);
});

test("with another key of the app cluster the session opens its tenant no more, and the words say how to go on", async () => {
  const { items } = await consumer.client.list<DynamicObject>(secrets, { namespace: consumerNamespace });
  const key = items.find(({ metadata }) => metadata.name?.includes("cluster-key") === true);
  assert.ok(key !== undefined, items.map(({ metadata }) => metadata.name).join());
  const ref = { namespace: consumerNamespace, name: key.metadata.name ?? "" };
  const data = key["data"] as Readonly<Record<string, string>>;
  const [field = ""] = Object.keys(data);
  const write = (value: string): Promise<unknown> =>
    consumer.client.mergePatch(secrets, ref, { data: { [field]: value } });
  await write(Buffer.from(newClusterKey()).toString("base64"));
  const refused = await bind("--api=mariadbinstances");
  assert.equal(refused.code, 1);
  assert.match(refused.stderr(), /opens tenant \S+ only with the key of its app cluster\. Use kubectl bind/);
  await write(data[field] ?? "");
});

test("without a session, for another person, or with --login, the person logs in as before", async () => {
  for (const more of [["--login"], ["--login-as=somebody@example.com"]]) {
    const finished = await run("kubectl-bind", [real.url, "--api=mariadbinstances", "--timeout=1s", ...more]);
    assert.match(finished.stderr(), /open this address in a browser[^]*was not completed within 1 s/);
  }
  assert.match(
    runs.at(-1)?.stderr() ?? "",
    /is of ann@example\.com, and --login-as asks for somebody@example\.com: you log in again/,
  );
  // The person chooses on the page if no API is named.
  const chosen = await run("kubectl-bind", [real.url, "--timeout=1s"]);
  assert.match(chosen.stderr(), /open this address in a browser/);
});

test("after the logout the copy that a thief kept is refused, and kubectl bind asks for a login again", async () => {
  const copy = await readFile(file, "utf8");
  const out = await run("klutch", ["logout"]);
  assert.equal(out.code, 0, out.stderr());
  assert.match(out.stderr(), /Logged out ann@example\.com at /);
  const again = await run("kubectl-bind", [real.url, "--api=mariadbinstances", "--timeout=1s"]);
  assert.match(again.stderr(), /open this address in a browser/);
  await writeFile(file, copy);
  const stolen = await bind("--api=mariadbinstances");
  assert.equal(stolen.code, 1);
  assert.match(
    stolen.stderr(),
    /HTTP 401: Your session was ended by a logout\. Log in again with klutch login/,
  );
  assert.ok(!(await readFile(file, "utf8")).includes("klutch-session."), "it is forgotten");
});

test("a provider that names another address for sessions than at the login gets no session", async () => {
  await using backend = await startLyingSessions();
  const { browser } = backend;
  assert.equal((await run("klutch", ["login", backend.url, "--login-as=ann"], { browser })).code, 0);
  backend.lie({ description: { sessionUrl: new URL("/elsewhere/session", backend.url).href } });
  const args = [backend.url, "--api=mariadbinstances.anynines.com", "--timeout=1s", "--accept-permissions"];
  const finished = await run("kubectl-bind", args);
  assert.match(finished.stderr(), /is another one than at klutch login, so the session is not sent/);
  assert.ok(!JSON.stringify(backend.asked).includes(honestSession));
});

test("a provider that answers with another person's or another session's credential binds nothing", async () => {
  await using backend = await startLyingSessions();
  const { browser } = backend;
  assert.equal((await run("klutch", ["login", backend.url, "--login-as=ann"], { browser })).code, 0);
  const before = (await bound()).length;
  const answer = (sid: string, id: string): object => ({
    kind: "BindingResponse",
    apiVersion: "klutch.anynines.com/v1alpha1",
    authentication: { oauth2CodeGrant: { sid, id } },
    kubeconfig: Buffer.from(consumer.kubeconfig).toString("base64"),
    requests: [
      {
        kind: "APIServiceExportRequest",
        apiVersion: "klutch.anynines.com/v1alpha1",
        metadata: { name: "x" },
        spec: { resources: [{ group: "anynines.com", resource: "mariadbinstances", permissionClaims: [] }] },
      },
    ],
  });
  for (const [body, words] of [
    [answer("session-2", "https://idp.example.org/ann"), /sid: is that of another session/],
    [answer("session-1", "https://idp.example.org/mallory"), /id: is that of another person/],
    [{}, /kind: is undefined/],
  ] as const) {
    backend.lie({ bind: [200, body] });
    const finished = await run("kubectl-bind", [
      backend.url,
      "--api=mariadbinstances",
      "--accept-permissions",
      "--timeout=5s",
    ]);
    assert.equal(finished.code, 1);
    assert.match(finished.stderr(), words);
  }
  assert.equal((await bound()).length, before);
});

test("no output and no URL of a browser holds a session", async () => {
  await logIn();
  assert.ok(secretParts.length >= 2 && visited.length >= 4);
  for (const secret of [...secretParts, honestSession]) {
    for (const finished of runs) assert.ok(!`${finished.stdout()}${finished.stderr()}`.includes(secret));
    assert.ok(!visited.join("\n").includes(secret.slice("klutch-session.".length)));
  }
});
