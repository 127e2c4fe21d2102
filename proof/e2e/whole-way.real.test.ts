import assert from "node:assert/strict";
import { connect } from "node:http2";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { apiServiceBindings } from "@klutch/api";
import { createKubeClient, isForbidden, isInvalid, type KubeClient, loadKubeconfig } from "@klutch/kube";
import { conditionsOf, configMaps, type DynamicObject, isTrue, secrets, secretText } from "@klutch/kube-core";
import { cacheFolder, run } from "@klutch/engines";
import { waitFor } from "@klutch/kube-testing";
import { clusterNamespaceOf, dataHomes } from "@klutch/launcher";
import { bindings, instances, nano } from "./claim-kinds.ts";
import { Claims } from "./claims.ts";
import { assertKindsAreSeen, bindKinds } from "./kinds-seen.ts";
import { allowManyDeletions, backendUrlIn, removeDataOf, startAt, startSandbox } from "./own-sandbox.ts";
import { describeEnds, explainFailures } from "./sandbox-ends.ts";
import { bothGenerations } from "./scenarios/both-generations.scenario.ts";
import { peopleAndLimits } from "./scenarios/people.scenario.ts";
import { twoAppClusters } from "./scenarios/two-clusters.scenario.ts";
import { searchSandbox } from "./security/sandbox-canaries.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const root = await mkdtemp(join(tmpdir(), "klutch-e2e-"));
/** The home folder, closed to all other users as root's often is, also to the user that root's PostgreSQL runs as. */
const home = join(root, "home");
await mkdir(home, { mode: 0o700 });
const folder = join(home, ".local", "state", "klutch", "sandbox");
stack.defer(() => rm(root, { recursive: true, force: true }));
stack.defer(() => removeDataOf(folder));

const environment = {
  ...process.env,
  // Its servers, which are written in Go, live for minutes: collecting their garbage less often saves a quarter of their computing time.
  GOGC: "400",
  HOME: home,
  XDG_STATE_HOME: "",
  KLUTCH_STATE_DIR: "",
  KLUTCH_CACHE_DIR: cacheFolder,
};

/** Process ids whose command line names the sandbox's folder, or where data of its servers was moved. */
async function leftovers(): Promise<readonly string[]> {
  const places = [root, ...(await Promise.all(dataHomes(folder).map((home) => realpath(home))))];
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    ids.map(async (id) => [id, await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "")] as const),
  );
  return lines
    .filter(([, line]) => places.some((place) => line.includes(place)))
    .map(([id, line]) => `${id} ${line.replaceAll("\0", " ")}`);
}

const demo = startSandbox({ env: environment, args: ["--exit"] });
await demo.exited;
const text = demo.printed();
assert.equal(demo.child.exitCode, 0, text + (await describeEnds(demo.ends, folder)));
const leftByDemo = await leftovers();
// The second start; all of it stands before the first test, because a file counts as ended when its tests so far have ended.
const running = stack.use(new AsyncDisposableStack());
const sandbox = running.use(await startAt({ root, folder, env: environment }, "--namespaced"));
explainFailures(sandbox);
await allowManyDeletions(await sandbox.client("app-a"));

test("from nothing to rows that a restore brought back, for each service, and back to nothing", async () => {
  for (const line of [
    /Function klutch-function-klutch is Installed and Healthy/,
    /Provider klutch-provider-anynines is Installed and Healthy/,
    /Configuration klutch-configuration-dataservices is Installed and Healthy/,
    /Created APIServiceBinding klutch-bind\/servicebindings\.anynines\.com/,
    /^ +PostgreSQL .*has the keys host, hosts, name, password, port, uri, username$/m,
    /^ +MariaDB .*has the keys cacrt, host, hosts, name, password, port, uri, username$/m,
    /^ +KeyValue .*has the keys cacrt, host, hosts, load_balanced_host, valkey\.password, valkey\.port, valkey\.username$/m,
    /^ +cluster B .*took from u[0-9a-f]{32}: Hello from app cluster B$/m,
    /the credentials of app clusters A and B do not open each other's database/,
    /claims, managed resources, Secrets, databases and servers of instances are gone/,
    /is kept in .*; npm run sandbox goes on from there/,
  ]) {
    assert.match(text, line);
  }
  for (const title of ["PostgreSQL", "MariaDB", "KeyValue"]) assertChain(text, title);
  assert.deepEqual(leftByDemo, []);
  await assertNoSecretInLogs();
});

/** The demo did with this service, in this order, what a developer does. */
function assertChain(text: string, title: string): void {
  const lines = text.split("\n").flatMap((line) => {
    const [, whose, words = ""] = /^ +(\w+) +(.*)$/.exec(line) ?? [];
    return whose === title ? [words] : [];
  });
  const steps = [
    /^servicebinding\.anynines\.com\/\S+ created$/,
    /took from u[0-9a-f]{32}: Hello from app cluster A$/,
    /^the Backup is Ready/,
    /^(?:the table is dropped|all keys are flushed)$/,
    /^the Restore is Ready/,
    /^restored: Hello from app cluster A$/,
    /^servicebinding\.anynines\.com .* deleted/,
    /^\w+instance\.anynines\.com .* deleted/,
  ];
  const places = steps.map((step) => lines.findIndex((line) => step.test(line)));
  assert.ok(!places.includes(-1), `${title} did ${JSON.stringify(lines)}`);
  assert.deepEqual(
    places.toSorted((left, right) => left - right),
    places,
  );
}

suite("a second start takes up the kept state, and side by side", { concurrency: 8 }, () => {
  bothGenerations(sandbox);
  twoAppClusters(sandbox);
  peopleAndLimits(sandbox);

  test("an ordinary developer uses bound APIs in namespace demo, and nothing else, by the kubeconfig of the report", async () => {
    const path = / developer .* (\/\S+)$/m.exec(sandbox.printed())?.[1];
    await using client = createKubeClient(await loadKubeconfig({ path }));
    const mine = new Claims(client, "demo");
    await mine.create(instances, "developers-own", nano);
    await mine.become(instances, "developers-own", "ready", ({ status }) =>
      isTrue(conditionsOf({ status }), "Ready"),
    );
    const klutch = { namespace: "klutch-bind" };
    await assert.rejects(client.list(instances), isForbidden);
    await assert.rejects(
      new Claims(client, "default").create(instances, "developers-own", nano),
      isForbidden,
    );
    await assert.rejects(client.list(secrets, klutch), isForbidden);
    await assert.rejects(client.list(apiServiceBindings, klutch), isForbidden);
    await mine.delete(instances, "developers-own");
  });

  test("the report names the metrics of backend, provider and every konnector", async () => {
    const found = [...sandbox.printed().matchAll(/^ {2}metrics +(\S+) +(\S.*)$/gm)];
    assert.deepEqual(
      found.map(([, , name]) => name),
      [
        "provider",
        "backend",
        ...["a", "b"].flatMap((app) => [0, 1].map((index) => `app-${app} konnector-${index}`)),
      ],
    );
    for (const [, url = "", name] of found)
      await waitFor(`metrics of ${name}`, async () => /^process_/m.test(await (await fetch(url)).text()));
  });

  test("the function answers only Crossplane, bindings of the first start work, and no secret is anywhere but in its Secret", async () => {
    assert.match(sandbox.printed(), /continuing with the state/);
    await assertFunctionWantsCertificate();
    await assertClaimsWork(await sandbox.client("app-a"), sandbox.printed);
  });
});

test("each kind is shown as it is, and doctor and verify find nothing wrong", async () => {
  await bindKinds({ folder, backendUrl: backendUrlIn(sandbox.printed()) });
  await assertChecksPass(await sandbox.client("app-a"));
  await assertKindsAreSeen(folder, process.env["KLUTCH_CAPTURE"]);
});

test("Ctrl-C ends every process", async () => {
  await running.disposeAsync();
  assert.deepEqual(await leftovers(), []);
});

/** A bad claim is refused, and a good one works; while it has credentials they are nowhere but in their Secret. */
async function assertClaimsWork(appA: KubeClient, printed: () => string): Promise<void> {
  const demo = new Claims(appA, "demo");
  await assert.rejects(demo.create(instances, "too-big", { ...nano, plan: "postgresql-huge" }), (error) => {
    assert.ok(isInvalid(error), String(error));
    assert.match(error.message, /Unsupported plan used for postgresql/);
    return true;
  });
  await demo.create(instances, "second", nano);
  await demo.become(instances, "second", "provisioned", ({ status }) =>
    JSON.stringify(status ?? {}).includes('"state":"provisioned"'),
  );
  await demo.create(bindings, "canary", { instanceRef: "second", serviceInstanceType: "postgresql" });
  const secret = { namespace: "demo", name: "canary-creds" };
  await waitFor("the credentials", () => appA.find(secrets, secret), { timeoutMs: 90_000 });
  await plant(appA, secret);
  await assertNoSecretAnywhere(printed());
  await appA.delete(configMaps, planted);
  await demo.delete(bindings, "canary");
  await demo.delete(instances, "second");
}

const planted = { namespace: "demo", name: "planted" };

/** Writes the password into a ConfigMap, where a search must find it: this proves that the search works. */
async function plant(client: KubeClient, secret: typeof planted): Promise<void> {
  const password = secretText(await client.get<DynamicObject>(secrets, secret), "password");
  await client.create<DynamicObject>(configMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...planted, annotations: { note: `the password is ${password}` } },
  });
}

/** Searches for every secret of the sandbox in everything that is not a Secret. */
async function assertNoSecretAnywhere(printed: string): Promise<void> {
  const { hits, canaries, places } = await searchSandbox(folder, printed);
  for (const name of [
    /^postgresPassword$/,
    /^oidcClientSecret$/,
    /^cookieKey$/,
    /^password of Secret demo\/canary-creds in app-a$/,
    /^private-key of Secret klutch-bind\/klutch-cluster-key in app-a, a private key$/,
    /^kubeconfig of Secret klutch-bind\//,
    /\.token$/,
  ]) {
    assert.ok(
      canaries.some((one) => name.test(one)),
      `nothing was searched as ${name.source}: ${canaries.join(", ")}`,
    );
  }
  assert.ok(places.logs > 10 && places.objects > 300 && places.processes > 10, JSON.stringify(places));
  const isPlanted = (hit: string): boolean =>
    hit.startsWith("configmaps demo/planted in app-a shows password");
  assert.ok(hits.some(isPlanted), "the planted one was not found");
  assert.deepEqual(
    hits.filter((hit) => !isPlanted(hit)),
    [],
  );
}

/** A person with the commands of the sandbox's folder reads that all is well, and what was compared. */
async function assertChecksPass(appA: KubeClient): Promise<void> {
  const namespace = (await clusterNamespaceOf(appA)) ?? "";
  const paths = ["app-a", "control-plane"].map((name) => join(folder, `${name}.kubeconfig`));
  const options = { env: { ...process.env, KUBECONFIG: paths[0] } };
  const klutch = async (...args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await run(join(folder, "bin", "klutch"), args, options);
    return stdout + stderr;
  };
  assert.match(await klutch("doctor"), /konnector-\d does the work[^]*No problems\./);
  const compared = await klutch("verify", ...paths, "--namespace", namespace);
  assert.match(compared, /postgresqlinstances\.anynines\.com +bound[^]*\nAll 8 invariants hold\.\n$/);
}

/** The composition function answers a client with the authority's certificate, and none without. */
async function assertFunctionWantsCertificate(): Promise<void> {
  const { ports } = JSON.parse(await readFile(join(folder, "sandbox.json"), "utf8")) as {
    ports: { function: number };
  };
  const read = (name: string): Promise<string> =>
    readFile(join(folder, "certificates", "crossplane-client", name), "utf8");
  const [ca, cert, key] = await Promise.all([read("ca.crt"), read("tls.crt"), read("tls.key")]);
  const answer = async (credentials: object): Promise<string> => {
    const session = connect(`https://localhost:${ports.function}`, { ca, ...credentials });
    const { promise, resolve } = Promise.withResolvers<string>();
    session.on("error", (error) => resolve(`refused: ${error.message}`));
    session.on("close", () => resolve("refused: the connection was closed"));
    const stream = session.request({ ":path": "/" });
    stream.on("error", (error) => resolve(`refused: ${error.message}`));
    stream.on("response", (headers) => resolve(`answered ${headers[":status"]}`));
    const result = await promise;
    session.destroy();
    return result;
  };
  assert.match(await answer({ cert, key }), /^answered \d+$/);
  assert.match(await answer({}), /^refused: /);
  const log = await readFile(join(folder, "function.log"), "utf8");
  assert.match(
    log,
    /a client was refused.*it sent no certificate|it sent no certificate.*a client was refused/,
  );
}

/** No log of any process holds a password or token of the sandbox. */
async function assertNoSecretInLogs(): Promise<void> {
  const state = JSON.parse(await readFile(join(folder, "sandbox.json"), "utf8")) as {
    secrets: Record<string, string>;
  };
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".log"));
  assert.ok(files.length > 10, `only ${files.length} logs found`);
  for (const file of files) {
    const text = await readFile(join(folder, file), "utf8");
    for (const [name, secret] of Object.entries(state.secrets))
      assert.ok(!text.includes(secret), `${file} shows ${name}`);
    assert.doesNotMatch(text, /Bearer ey|eyJhbGciOi/, `${file} shows a token`);
  }
}
