/** `kubectl bind --token-file` against two real API servers; the backend between them says what the test wants, lies included. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  type APIServiceBinding,
  apiServiceBindings,
  clusterIdOf,
  consumerNamespace,
  loginWayAnnotation,
} from "@klutch/api";
import { type DynamicObject, namespaces, secrets } from "@klutch/kube-core";
import { systemClock } from "@klutch/kube";
import { boundAnswer, type ProgramAnswer, startProgramBackend } from "../testing/program-backend.ts";
import {
  answerRequests,
  createTenant,
  prepareConsumer,
  prepareProvider,
  requestFor,
} from "../testing/provider-side.ts";
import { type Finished, startRun } from "../testing/run.ts";
import { scriptedRun } from "../testing/script.ts";
import { startTwoClusters } from "../testing/two-clusters.ts";
import { bindWithToken } from "./token-bind.ts";

const clusters = await startTwoClusters();
after(() => clusters[Symbol.asyncDispose]());
const { consumer, provider, path, write } = clusters;
await prepareProvider(provider);
await prepareConsumer(consumer);
const tenantKubeconfig = await createTenant(provider, "cluster-a");
await write("config", consumer.kubeconfig);
const token = "header.claims.the-signature-of-the-token";
await write("token", `${token}\n`);
const api = "widgets.test.klutch.dev";

async function kubectlBind(args: readonly string[], stdin?: string): Promise<Finished> {
  const outside = { env: { KUBECONFIG: path("config") }, stdin };
  const run = await startRun("kubectl-bind", ["--timeout=20s", ...args], outside).done;
  assert.ok(!`${run.stdout()}${run.stderr()}`.includes("the-signature"), "a token was shown");
  return run;
}
const withToken = (url: string, ...more: string[]): readonly string[] => [
  url,
  "--api",
  api,
  "--token-file",
  path("token"),
  ...more,
];
const isBound = async (): Promise<boolean> =>
  (await consumer.client.list<APIServiceBinding>(apiServiceBindings)).items.length > 0;

test("an answer that is not for the named APIs, or none at all, binds nothing", async () => {
  const good = boundAnswer(tenantKubeconfig, [requestFor("widgets")]);
  const lies: readonly (readonly [ProgramAnswer, RegExp])[] = [
    [
      boundAnswer(tenantKubeconfig, [requestFor("gadgets")]),
      /was asked for widgets\.test\.klutch\.dev and answered with gadgets\.test\.klutch\.dev/,
    ],
    [
      boundAnswer(tenantKubeconfig, [requestFor("widgets"), requestFor("gadgets")]),
      /answered with widgets\.test\.klutch\.dev, gadgets/,
    ],
    [boundAnswer(tenantKubeconfig, []), /requests: is empty/],
    [[200, { ...(good[1] as object), kubeconfig: "" }], /kubeconfig: is missing/],
    [[200, "<h1>Welcome</h1>"], /cannot be used: response: is not an object/],
    [[302, "http://127.0.0.1:1/"], /answered HTTP 302/],
    [[404, "<h1>This page does not exist.</h1>"], /takes no binds with a token: it answered HTTP 404/],
    [
      [401, { error: "The access token is not accepted: it has expired.", advice: "Request a new one." }],
      /it has expired\. Request a new one\. Nothing was changed/,
    ],
    [
      [403, { error: "oidc:client:ci may not bind \u001b[31mwidgets", advice: "Ask." }],
      /may not bind \P{Cc}+widgets/u,
    ],
  ];
  for (const [answer, words] of lies) {
    await using backend = await startProgramBackend([answer]);
    const run = await kubectlBind(withToken(backend.url, "--accept-permissions"));
    assert.equal(run.code, 1, run.stdout());
    assert.match(run.stderr(), words);
    assert.equal(backend.asked.length, 1);
  }
  assert.equal(await isBound(), false);
});

test("a token file that is missing, empty or holds something else is named, and nothing is sent", async () => {
  await using backend = await startProgramBackend([[500, ""]]);
  await write("json", `{"access_token": "${token}"}`);
  for (const [file, stdin, words] of [
    [path("missing"), undefined, /missing cannot be read/],
    ["-", "\n", /Standard input holds nothing/],
    [path("json"), undefined, /json holds no access token\. It must hold the token and nothing else/],
  ] as const) {
    const run = await kubectlBind([backend.url, "--api", api, "--token-file", file], stdin);
    assert.equal(run.code, 1);
    assert.match(run.stderr(), words);
  }
  assert.deepEqual(backend.asked, []);
});

test("flags that do not go with a token are refused before anything is asked", async () => {
  const url = "http://127.0.0.1:1/export";
  for (const [args, words] of [
    [["--token-file", path("token")], /--token-file needs --api/],
    [["--token-file", path("token"), "--service", "postgresql"], /--token-file needs --api/],
    [["--token-file", path("token"), "--api", "widgets"], /--api widgets has no group/],
    [withToken(url, "--login-as", "ann").slice(1), /--login-as and --token-file exclude each other/],
  ] as const) {
    const run = await kubectlBind([url, ...args]);
    assert.equal(run.code, 1);
    assert.match(run.stderr(), words);
  }
});

test("a backend that is not able yet is asked again, five times at most", async () => {
  const slept: number[] = [];
  const { context } = scriptedRun({ stdin: token });
  const clock = { ...systemClock, sleep: async (ms: number) => void slept.push(ms) };
  const wish = { tokenFile: "-", clusterId: "abc123", clusterName: undefined, apis: [api] };
  const bind = async (answers: readonly ProgramAnswer[]): Promise<number> => {
    await using backend = await startProgramBackend(answers);
    const { url } = backend;
    const description = {
      url,
      prettyName: "",
      version: "",
      loginUrl: new URL(url),
      controlPlaneId: undefined,
    };
    try {
      await bindWithToken({ ...context, clock }, description, wish);
    } finally {
      tries = backend.asked.length;
    }
    return tries;
  };
  let tries = 0;
  const later: ProgramAnswer = [503, { error: "Not now.", advice: "Try again in a minute." }];
  assert.equal(await bind([later, later, boundAnswer(tenantKubeconfig, [requestFor("widgets")])]), 3);
  await assert.rejects(bind([later]), /Not now\. Try again in a minute\./);
  assert.equal(tries, 5);
  assert.deepEqual(new Set(slept), new Set([10_000]));
});

test("a token from standard input binds the named API, without a question about the API, and no login", async () => {
  await using _answers = answerRequests(provider, "cluster-a");
  await using backend = await startProgramBackend([boundAnswer(tenantKubeconfig, [requestFor("widgets")])]);
  const args = [backend.url, "--api", api, "--token-file=-", "--accept-permissions", "--cluster-name=CI 7"];
  const run = await kubectlBind([...args, "--konnector-image", "example.test/konnector:v1"], `${token}\n`);
  assert.equal(run.code, 0, run.stderr());
  assert.doesNotMatch(run.stderr(), /in a browser/);
  const { uid = "" } = (await consumer.client.get(namespaces, { name: consumerNamespace })).metadata;
  assert.deepEqual(backend.asked, [
    {
      path: "/bind-noninteractive",
      authorization: `Bearer ${token}`,
      body: {
        clusterID: clusterIdOf(uid),
        clusterName: "CI 7",
        apis: [{ group: "test.klutch.dev", resource: "widgets" }],
      },
    },
  ]);
  const bound = await consumer.client.get<APIServiceBinding>(apiServiceBindings, {
    namespace: consumerNamespace,
    name: api,
  });
  const ref = { namespace: consumerNamespace, name: bound.spec.kubeconfigSecretRef.name };
  const { metadata } = await consumer.client.get<DynamicObject>(secrets, ref);
  assert.equal(metadata.annotations?.[loginWayAnnotation], "ci");
});
