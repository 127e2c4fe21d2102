import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type TestContext, test } from "node:test";
import { Secret } from "@klutch/telemetry";
import { inClusterConfig } from "./config.ts";
import { formatKubeconfig } from "./format-kubeconfig.ts";
import { loadKubeconfig } from "./kubeconfig.ts";
import { formatYaml } from "./yaml.ts";

async function folderWith(t: TestContext, files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "klutch-kubeconfig-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

function kubeconfig(name: string, parts: { cluster?: object; user?: object; context?: object } = {}): string {
  return formatYaml({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: `https://${name}.test:6443`, ...parts.cluster } }],
    users: [{ name, user: { token: `token-of-${name}`, ...parts.user } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: "team", ...parts.context } }],
    "current-context": name,
  });
}

test("KUBECONFIG may list files: all contexts are known, the first file's current-context counts", async (t) => {
  const folder = await folderWith(t, { a: kubeconfig("a"), b: kubeconfig("b") });
  const env = { KUBECONFIG: [join(folder, "missing"), join(folder, "a"), join(folder, "b")].join(delimiter) };
  assert.equal((await loadKubeconfig({ env })).server, "https://a.test:6443");
  assert.equal((await loadKubeconfig({ env, context: "b" })).server, "https://b.test:6443");
});

test("of two entries with the same name the first file's counts", async (t) => {
  const folder = await folderWith(t, {
    a: kubeconfig("same", { cluster: { server: "https://first.test" } }),
    b: kubeconfig("same", { cluster: { server: "https://second.test" } }),
  });
  const env = { KUBECONFIG: [join(folder, "a"), join(folder, "b")].join(delimiter) };
  assert.equal((await loadKubeconfig({ env })).server, "https://first.test");
});

test("every connection override reaches the configuration", async (t) => {
  const folder = await folderWith(t, { a: kubeconfig("a") });
  const config = await loadKubeconfig({
    path: join(folder, "a"),
    namespace: "other",
    server: "https://override.test",
    token: new Secret("other-token"),
    insecureSkipTlsVerify: true,
    tlsServerName: "name.test",
    certificateAuthority: join(folder, "a"),
    impersonate: { user: "jane", groups: ["dev"] },
  });
  assert.match(config.ca ?? "", /kind: Config/);
  assert.equal(config.impersonate?.user, "jane");
  assert.equal(config.namespace, "other");
  assert.equal(config.server, "https://override.test");
  assert.equal(config.insecureSkipTlsVerify, true);
  assert.equal(config.tlsServerName, "name.test");
  assert.ok(config.auth.kind === "token" && config.auth.token.reveal() === "other-token");
});

test("relative paths start at the folder of the file that names them", async (t) => {
  const folder = await folderWith(t, {
    config: kubeconfig("a", {
      cluster: { "certificate-authority": "ca.pem" },
      user: { token: undefined, tokenFile: "token" },
    }),
    "ca.pem": "the CA",
  });
  const config = await loadKubeconfig({ path: join(folder, "config") });
  assert.equal(config.ca, "the CA");
  assert.deepEqual(config.auth, { kind: "tokenFile", path: join(folder, "token") });
});

test("a credential plugin, a client certificate and a password are understood", async (t) => {
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "get-token", args: ["x"] };
  const data = (text: string): string => Buffer.from(text).toString("base64");
  const folder = await folderWith(t, {
    exec: kubeconfig("a", {
      user: { token: undefined, exec: { ...exec, env: [{ name: "A", value: "1" }] } },
    }),
    cert: kubeconfig("a", {
      user: { token: undefined, "client-certificate-data": data("cert"), "client-key-data": data("key") },
    }),
    basic: kubeconfig("a", { user: { token: undefined, username: "u", password: "p" } }),
  });
  const load = (name: string) => loadKubeconfig({ path: join(folder, name), env: { PATH: "/bin" } });
  const { auth } = await load("exec");
  assert.deepEqual(auth, { kind: "exec", ...exec, env: { PATH: "/bin", A: "1" } });
  assert.equal((await load("cert")).auth.kind, "clientCertificate");
  assert.equal((await load("basic")).auth.kind, "basic");
});

test("a missing part is named", async (t) => {
  const folder = await folderWith(t, {
    "no-context": kubeconfig("a").replace(/current-context.*/, ""),
    broken: "token: 'unclosed secret",
    list: "- a",
  });
  const load = (name: string, context?: string) => loadKubeconfig({ path: join(folder, name), context });
  await assert.rejects(load("absent"), { code: "NotFound", message: /absent cannot be read/ });
  await assert.rejects(load("no-context"), { code: "Invalid", field: "current-context" });
  await assert.rejects(load("no-context", "zz"), { message: /no context named "zz"/ });
  await assert.rejects(load("list"), { message: /not a YAML mapping/ });
  await assert.rejects(
    load("broken"),
    (error: Error) => !`${error.message}${error.stack}`.includes("unclosed"),
  );
});

test("a printed kubeconfig is read back the same", async (t) => {
  const folder = await folderWith(t, { a: kubeconfig("default", { cluster: { "tls-server-name": "n" } }) });
  const config = { ...(await loadKubeconfig({ path: join(folder, "a") })), ca: "PEM" };
  await writeFile(join(folder, "b"), formatKubeconfig(config));
  const again = await loadKubeconfig({ path: join(folder, "b") });
  assert.equal(formatKubeconfig(again), formatKubeconfig(config));
  assert.ok(again.auth.kind === "token" && again.auth.token.reveal() === "token-of-default");
  assert.equal(again.ca, "PEM");
});

test("in a pod the mounted service account is used, with its token file", async (t) => {
  const folder = await folderWith(t, { "ca.crt": "CA", namespace: "klutch-bind\n", token: "t" });
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  assert.deepEqual(await inClusterConfig(env, folder), {
    name: "in-cluster",
    server: "https://[fd00::1]:443",
    ca: "CA",
    namespace: "klutch-bind",
    auth: { kind: "tokenFile", path: join(folder, "token") },
  });
  await assert.rejects(inClusterConfig({}, folder), { code: "NotInCluster" });
});
