/** Several APIs of one login: two real API servers, the shipped backend as a process, and a real Dex. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  apiServiceBindings,
  apiServiceExports,
  artefact,
  consumerNamespace,
  type APIServiceBinding,
  klutchVersion,
  konnectorName,
  konnectorPolicyName,
  parseUpdateScope,
  updateRole,
  updatesAnnotation,
} from "@klutch/api";
import {
  deployments,
  type DynamicObject,
  type KubeObject,
  type Role,
  roles,
  validatingAdmissionPolicies,
} from "@klutch/kube-core";
import { startBackend } from "../testing/backend.ts";
import {
  answerRequests,
  createTenant,
  prepareConsumer,
  prepareProvider,
  requestFor,
} from "../testing/provider-side.ts";
import { type BindPage, personAt, startRealBackend } from "../testing/real-backend.ts";
import { type Finished, type Outside, startRun } from "../testing/run.ts";
import { startTwoClusters } from "../testing/two-clusters.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { consumer, provider, write } = stack.use(await startTwoClusters());
await prepareProvider(provider);
await prepareConsumer(consumer);
const KUBECONFIG = await write("config", consumer.kubeconfig);
const real = await startRealBackend(stack, provider, [
  "PostgresqlInstance",
  "MariadbInstance",
  "ServiceBinding",
  "Backup",
  "Restore",
]);
const four = ["backups", "postgresqlinstances", "restores", "servicebindings"].map(
  (name) => `${name}.anynines.com`,
);

async function kubectlBind(args: readonly string[], outside: Outside): Promise<Finished> {
  const given = ["--timeout=60s", "--login-as", real.person, ...args];
  return startRun("kubectl-bind", given, { env: { KUBECONFIG }, ...outside }).done;
}

const bound = async (): Promise<readonly string[]> => {
  const { items } = await consumer.client.list<APIServiceBinding>(apiServiceBindings, {
    namespace: consumerNamespace,
  });
  return items.map(({ metadata }) => metadata.name ?? "").toSorted();
};
/** Reads the updates that the app cluster follows: by the role, by the konnector's flags, and by the admission policy. */
async function followed(): Promise<readonly [object | undefined, boolean, boolean]> {
  const ref = { namespace: consumerNamespace, name: updateRole };
  const role = await consumer.client.find<Role>(roles, ref);
  const deployment = await consumer.client.get<DynamicObject>(deployments, { ...ref, name: konnectorName });
  const policy = await consumer.client.get<DynamicObject>(validatingAdmissionPolicies, {
    name: konnectorPolicyName,
  });
  const image = artefact("konnector").replace(`:${klutchVersion}`, "");
  return [
    parseUpdateScope(role?.metadata.annotations?.[updatesAnnotation]),
    JSON.stringify(deployment).includes(`"--update-repository=${image}"`),
    JSON.stringify(policy).includes(
      `{'repository': '${image}', 'line': 'patch', 'floor': '${klutchVersion}'}`,
    ),
  ];
}
const asSelected = ({ selected }: BindPage): readonly (readonly [string, string])[] =>
  selected.map((name) => ["api", name] as const);
test("an unknown service binds nothing by itself: the page names the nearest one, and the answer is what the person selects", async () => {
  const seen: BindPage[] = [];
  const browser = personAt(real, seen, () => [["api", "backups.anynines.com"]]);
  const run = await kubectlBind([real.url, "--service", "postgres"], { browser, answers: ["no"] });
  assert.equal(run.code, 1);
  assert.match(
    seen[0]?.html ?? "",
    /Service postgres is not among those that you may bind\. Nearest: postgresql\./,
  );
  assert.deepEqual(seen[0]?.selected, []);
  assert.match(
    run.stderr(),
    /says that you chose backups\.anynines\.com\.[^]*backups\.anynines\.com was not accepted\. Nothing was changed/,
  );
  assert.deepEqual(await bound(), []);
});

test("--service postgresql binds instance, binding, backup and restore with one login, one selection and one list of permissions", async () => {
  const seen: BindPage[] = [];
  const browser = personAt(real, seen, asSelected);
  const run = await kubectlBind([real.url, "--service", "postgresql"], { browser, answers: ["yes", "yes"] });
  assert.equal(run.code, 0, run.stderr());
  assert.equal(seen.length, 1, "one login");
  assert.deepEqual(seen[0]?.selected.toSorted(), four);
  assert.match(seen[0]?.html ?? "", /All of PostgreSQL: /);
  assert.match(run.stderr(), /says that you chose these 4 APIs:\n/);
  assert.match(run.stderr(), /The APIs ask for 1 permission:\nFor servicebindings\.anynines\.com:\n/);
  assert.deepEqual(await bound(), four);
  const { items } = await provider.client.list<KubeObject>(apiServiceExports);
  assert.deepEqual(items.map(({ metadata }) => metadata.name ?? "").toSorted(), four);
  for (const name of four) assert.match(run.stdout(), new RegExp(`^${name.replaceAll(".", "\\.")} `, "m"));
  assert.equal(new Set(items.map(({ metadata }) => metadata.namespace)).size, 1, "one tenant");
});

test("a person who unticks an API that --api names gets the others, and the next command", async () => {
  const seen: BindPage[] = [];
  const browser = personAt(real, seen, () => [["api", "mariadbinstances.anynines.com"]]);
  const args = [real.url, "--api", "mariadbinstances,backups.anynines.com", "--accept-permissions"];
  assert.deepEqual(await followed(), [undefined, false, false]);
  const run = await kubectlBind([...args, "--follow-updates=patch"], { browser });
  const repository = artefact("konnector").replace(`:${klutchVersion}`, "");
  assert.deepEqual(await followed(), [{ line: "patch", floor: klutchVersion, repository }, true, true]);
  assert.match(run.stderr(), /It follows updates that the control plane wants: patch versions from v/);
  assert.deepEqual(seen[0]?.selected.toSorted(), ["backups.anynines.com", "mariadbinstances.anynines.com"]);
  assert.equal(run.code, 1);
  assert.match(
    run.stderr(),
    /Not bound: backups\.anynines\.com, because they were not selected on the page of the login\. Go on with kubectl bind \S+ --api backups\.anynines\.com/,
  );
  assert.ok((await bound()).includes("mariadbinstances.anynines.com"));
});

test("a plugin without the parameter, as of the release before, binds one API at this backend", async () => {
  const seen: BindPage[] = [];
  const person = personAt(real, seen, () => [
    ["resource", "backups"],
    ["group", "anynines.com"],
  ]);
  const browser = (url: string): void => {
    const old = new URL(url);
    assert.equal(old.searchParams.get("m"), "1");
    old.searchParams.delete("m");
    person(old.href);
  };
  const run = await kubectlBind([real.url, "--accept-permissions"], { browser });
  assert.equal(run.code, 0, run.stderr());
  assert.match(seen[0]?.html ?? "", /Bind Backup<\/button>/);
  assert.doesNotMatch(seen[0]?.html ?? "", /checkbox/);
  const [scope, ...others] = await followed();
  assert.deepEqual(
    [scope === undefined, ...others],
    [false, true, true],
    "the opt-in stays without the flag",
  );
});

test("at a backend of the release before --api binds what its page gave, says why, and names the rest", async () => {
  const kubeconfig = await createTenant(provider, "old-tenant");
  await using earlier = await startBackend(kubeconfig, [requestFor("gadgets")]);
  stack.use(answerRequests(provider, "old-tenant"));
  const opened: string[] = [];
  const browser = (url: string): void => {
    opened.push(url);
    void fetch(url);
  };
  const args = [
    earlier.url,
    "--api",
    "gadgets,widgets.test.klutch.dev",
    "--accept-permissions",
    "--follow-updates=none",
  ];
  const run = await kubectlBind(args, { browser });
  assert.equal(new URL(opened[0] ?? "").searchParams.get("m"), null);
  assert.equal(run.code, 1);
  assert.match(
    run.stderr(),
    /Example binds one API of a login, because its backend is of an earlier release\. Choose one on the page/,
  );
  assert.match(
    run.stderr(),
    /Bound: gadgets\.test\.klutch\.dev\. Not bound: widgets\.test\.klutch\.dev, because the backend of Example is of an earlier release/,
  );
  assert.ok((await bound()).includes("gadgets.test.klutch.dev"));
  assert.deepEqual(await followed(), [undefined, false, false]);
});

test("a provider that answers with another API than --api names is refused, also with --accept-permissions", async () => {
  const kubeconfig = await createTenant(provider, "liar");
  await using liar = await startBackend(kubeconfig, [requestFor("gizmos")], { severalApis: true });
  const before = await bound();
  const browser = (url: string): void => void fetch(url);
  const run = await kubectlBind([liar.url, "--api", "widgets.test.klutch.dev", "--accept-permissions"], {
    browser,
    answers: ["no"],
  });
  assert.equal(run.code, 1);
  assert.match(
    run.stderr(),
    /error: Example answered with gizmos\.test\.klutch\.dev, which --api does not name/,
  );
  assert.deepEqual(await bound(), before);
});
