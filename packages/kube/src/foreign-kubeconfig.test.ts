import assert from "node:assert/strict";
import { test } from "node:test";
import { parseForeignKubeconfig } from "./foreign-kubeconfig.ts";
import { formatYaml } from "./yaml.ts";

function foreign(
  parts: { cluster?: object; user?: object; context?: object; current?: string } = {},
): string {
  return formatYaml({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "c",
        cluster: {
          server: "https://provider.test:6443/",
          "certificate-authority-data": Buffer.from("CA").toString("base64"),
          ...parts.cluster,
        },
      },
    ],
    users: [{ name: "u", user: { token: "abc", ...parts.user } }],
    contexts: [
      { name: "x", context: { cluster: "c", user: "u", namespace: "cluster-abc", ...parts.context } },
    ],
    "current-context": parts.current ?? "x",
  });
}

test("only server, CA, token and namespace are taken over", () => {
  const config = parseForeignKubeconfig(foreign({ cluster: { "tls-server-name": "n" } }));
  const { auth, ...rest } = config;
  assert.deepEqual(rest, {
    name: "x",
    server: "https://provider.test:6443",
    ca: "CA",
    tlsServerName: "n",
    namespace: "cluster-abc",
  });
  assert.ok(auth.kind === "token" && auth.token.reveal() === "abc");
});

const refused: readonly (readonly [field: string, parts: Parameters<typeof foreign>[0], reason: RegExp])[] = [
  ["users[0].user.exec", { user: { exec: { command: "sh" } } }, /run a program/],
  ["users[0].user.tokenFile", { user: { tokenFile: "/etc/passwd" } }, /local file/],
  ["users[0].user.auth-provider", { user: { "auth-provider": { name: "gcp" } } }, /plugin/],
  ["users[0].user.client-key", { user: { "client-key": "/k" } }, /local file/],
  ["users[0].user.as", { user: { as: "admin" } }, /not allowed/],
  ["users[0].user.password", { user: { username: undefined, password: "x" } }, /not allowed/],
  ["clusters[0].cluster.certificate-authority", { cluster: { "certificate-authority": "/c" } }, /local file/],
  ["clusters[0].cluster.proxy-url", { cluster: { "proxy-url": "http://evil" } }, /proxy/],
  [
    "clusters[0].cluster.insecure-skip-tls-verify",
    { cluster: { "insecure-skip-tls-verify": true } },
    /verif/,
  ],
  ["clusters[0].cluster.server", { cluster: { server: "http://plain.test" } }, /https/],
];

for (const [field, parts, reason] of refused) {
  test(`a foreign kubeconfig with ${field} is refused, saying why`, () => {
    assert.throws(() => parseForeignKubeconfig(foreign(parts)), { code: "Refused", field, message: reason });
  });
}

test("a server's address whose end a foreign kubeconfig would choose is refused; a gateway's path is taken", () => {
  const withServer = (server: string) => () =>
    parseForeignKubeconfig(foreign({ cluster: { server } })).server;
  for (const [server, message] of [
    ["https://vault.test/v1/secret?list=true#", /query or a fragment/],
    ["https://vault.test/v1/secret#", /query or a fragment/],
    ["https://vault.test/?", /query or a fragment/],
    ["https://me:secret@vault.test", /a user and a password/],
  ] as const)
    assert.throws(withServer(server), { code: "Refused", field: "clusters[0].cluster.server", message });
  assert.equal(
    withServer("https://gateway.test/k8s/clusters/c-1")(),
    "https://gateway.test/k8s/clusters/c-1",
  );
});

test("current context, its namespace and a credential are required", () => {
  const field = (parts: Parameters<typeof foreign>[0], expected: string): void => {
    assert.throws(() => parseForeignKubeconfig(foreign(parts)), { code: "Invalid", field: expected });
  };
  field({ current: "" }, "current-context");
  field({ current: "zz" }, "context");
  field({ context: { namespace: undefined } }, "contexts[0].context.namespace");
  field({ context: { user: "nobody" } }, "user");
  field({ user: { token: undefined } }, "users[0].user");
  field({ cluster: { server: "not a url" } }, "clusters[0].cluster.server");
});

test("an entry that the current context does not use is neither used nor a reason to refuse", () => {
  const text = `${foreign()}`.replace("users:", "users:\n  - name: other\n    user: {exec: {command: sh}}");
  assert.equal(parseForeignKubeconfig(text).namespace, "cluster-abc");
});

test("no error of a foreign kubeconfig repeats its credential", () => {
  for (const text of [foreign({ user: { token: "hunter2", exec: {} } }), "token: 'hunter2", "hunter2"]) {
    assert.throws(
      () => parseForeignKubeconfig(text),
      (error: Error) => !`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`.includes("hunter2"),
    );
  }
});
