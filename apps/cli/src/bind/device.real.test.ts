/** `kubectl bind --device` from its command line to a bound API: a real Dex, the real backend and two API servers. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceBinding,
  apiServiceBindings,
  apiServiceExportTemplates,
  binderName,
  binderRules,
  clusterIdOf,
  consumerNamespace,
  identityAnnotation,
} from "@klutch/api";
import { dexIssuer, reservePorts, startDex } from "@klutch/engines";
import {
  clusterRoles,
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  namespaces,
  secretText,
  secrets,
} from "@klutch/kube-core";
import { parseForeignKubeconfig } from "@klutch/kube";
import {
  anyObject,
  crdObject,
  roleObject,
  startBackendProcess,
  TcpProxy,
  waitFor,
} from "@klutch/kube-testing";
import { prepareConsumer, prepareProvider } from "../testing/provider-side.ts";
import { type Started, startRun } from "../testing/run.ts";
import { startTwoClusters } from "../testing/two-clusters.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const { consumer, provider, path, write } = stack.use(await startTwoClusters());
const { client } = provider;
const group = "test.klutch.dev";
await prepareProvider(provider);
await prepareConsumer(consumer);
const kind = { group, version: "v1", plural: "widgets", kind: "Widget", namespaced: true };
await client.create<DynamicObject>(
  customResourceDefinitions,
  crdObject(kind, { properties: { spec: anyObject, status: anyObject }, hasStatus: true }),
);
await client.create(clusterRoles, roleObject({ name: binderName }, binderRules));
await waitFor("templates to be served", () =>
  client.create<DynamicObject>(apiServiceExportTemplates, {
    apiVersion: "example-backend.klutch.anynines.com/v1alpha1",
    kind: "APIServiceExportTemplate",
    metadata: { namespace: "default", name: "widgets" },
    spec: { APIServiceSelector: { group, resource: "widgets" }, permissionClaims: [] },
  }),
);
await write("config", consumer.kubeconfig);

const address = "developer@example.com";
const service = stack.use(await TcpProxy.start("http://127.0.0.1:1"));
const [port = 0] = stack.use(await reservePorts(1)).ports;
const issuer = dexIssuer(port);
const oidc = {
  id: "klutch",
  secret: "a-client-secret-of-the-tests",
  callbackUrl: `${service.url}/callback`,
};
const developer = { email: address, username: "developer", userID: "the-id-of-developer" };
stack.use(
  await startDex(port, provider.dataDir, {
    client: oidc,
    deviceClient: "klutch-device",
    people: [developer],
  }),
);
const backend = stack.use(
  await startBackendProcess(provider, {
    servesLogin: false,
    flags: [
      "--lease-namespace=default",
      `--external-address=${new URL(provider.config.server).origin}`,
      `--oidc-issuer-url=${issuer}`,
      `--oidc-issuer-client-id=${oidc.id}`,
      `--oidc-issuer-client-secret=${oidc.secret}`,
      "--oidc-device-client-id=klutch-device",
      `--oidc-callback-url=${oidc.callbackUrl}`,
      `--cookie-signing-key=${Buffer.alloc(32, 9).toString("base64")}`,
    ],
  }),
);
service.route(backend.url);

function bind(...more: readonly string[]): Started {
  const args = [`${service.url}/export`, "--device", "--skip-konnector", "--accept-permissions", ...more];
  return startRun("kubectl-bind", args, { env: { KUBECONFIG: path("config") } });
}

/** Does what the command says, in a browser: types the code and logs in. */
async function logInWith(run: Started): Promise<void> {
  const code = await waitFor("the code", () => /^ {4}([A-Z]{4}-[A-Z]{4})$/m.exec(run.stderr())?.[1]);
  assert.match(run.stderr(), new RegExp(`^ {4}${issuer}/device`, "m"));
  const form = (values: Readonly<Record<string, string>>): RequestInit => ({
    method: "POST",
    body: new URLSearchParams(values),
  });
  const login = await fetch(`${issuer}/device/auth/verify_code`, form({ user_code: code }));
  const done = await fetch(login.url, form({ login: address, password: "password" }));
  assert.match(await done.text(), /Login Successful/i);
}

const binding = (): Promise<APIServiceBinding | undefined> =>
  consumer.client.find<APIServiceBinding>(apiServiceBindings, {
    namespace: consumerNamespace,
    name: `widgets.${group}`,
  });

test("the login of another person than --login-as binds nothing", async () => {
  const run = bind("--api=widgets", "--login-as=somebody@example.com");
  await logInWith(run);
  const { code } = await run.done;
  assert.equal(code, 1);
  assert.match(run.stderr(), /--login-as asks for somebody@example\.com/);
  assert.equal(await binding(), undefined);
});

test("an API that is not offered ends the command with its name, and binds nothing", async () => {
  const run = bind("--api=widgets,fridges", `--login-as=${address}`);
  await logInWith(run);
  assert.equal((await run.done).code, 1);
  assert.match(run.stderr(), /HTTP 403: fridges is not among the APIs that you may bind/);
  assert.equal(await binding(), undefined);
});

test("the command prints a code, waits for the login on another device, and binds the API with a credential of that tenant", async () => {
  const run = bind("--api=widgets", `--login-as=${address}`);
  await logInWith(run);
  assert.equal((await run.done).code, 0, run.stderr());
  assert.match(run.stderr(), /Accepted by --login-as/);
  const bound = await binding();
  assert.ok(bound !== undefined, run.stderr());
  const { name, key } = bound.spec.kubeconfigSecretRef;
  const secret = await consumer.client.get<DynamicObject>(secrets, { namespace: consumerNamespace, name });
  const { namespace = "", auth } = parseForeignKubeconfig(secretText(secret, key) ?? "");
  assert.equal(auth.kind, "token");
  const tenant = await client.get<KubeObject>(namespaces, { name: namespace });
  const { uid = "" } = (await consumer.client.get(namespaces, { name: consumerNamespace })).metadata;
  assert.ok(tenant.metadata.annotations?.[identityAnnotation]?.endsWith(`#${clusterIdOf(uid)}`));
});

test("a command without names of APIs ends before it asks anyone", async () => {
  const run = bind();
  assert.equal((await run.done).code, 1);
  assert.match(run.stderr(), /--device needs --service, --api or --all/);
});
