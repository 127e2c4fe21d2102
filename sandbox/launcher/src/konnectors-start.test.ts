import { accountKubeconfig, type AdminCluster } from "./context.ts";
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { KubeClient, WatchEvent, WatchOptions } from "@klutch/kube";
import type { DynamicObject } from "@klutch/kube-core";
import { fakeClient, waitFor } from "@klutch/kube-testing";
import { type KonnectorContext, superviseKonnectors } from "./konnectors.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-konnectors-"));
after(() => rm(folder, { recursive: true, force: true }));

const deployment: DynamicObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: "konnector",
    namespace: "klutch-bind",
    uid: "d",
    resourceVersion: "1",
    generation: 1,
  },
  spec: { replicas: 0 },
};

/** A cluster whose answers to requests for a token are up to the test, and so are changes of the Deployment after the first state. */
function clusterWith(
  token: KubeClient["request"],
  later: () => Promise<DynamicObject | undefined> = async () => undefined,
): AdminCluster {
  async function* watch(options: WatchOptions = {}): AsyncIterable<WatchEvent<DynamicObject>> {
    assert.deepEqual([options.namespace, options.fieldSelector], ["klutch-bind", "metadata.name=konnector"]);
    const changed = await later();
    if (changed !== undefined) yield { type: "MODIFIED", object: changed };
    await new Promise((resolve) => options.signal?.addEventListener("abort", resolve));
  }
  const list = async () => ({ items: [deployment], resourceVersion: "2", length: 1 });
  const client = { ...fakeClient({ list, watch }), request: token };
  return { client, config: { name: "app-a", server: "https://127.0.0.1:1", auth: { kind: "none" } } };
}

class Context implements KonnectorContext, AsyncDisposable {
  readonly said: string[] = [];
  readonly stop: AbortController = new AbortController();
  readonly stack: AsyncDisposableStack = new AsyncDisposableStack();
  readonly state = { folder } as const;
  readonly progress = {
    step: <T>(_name: string, run: () => Promise<T>): Promise<T> => run(),
    say: (line: string): void => void this.said.push(line),
    elapsed: (): number => 0,
  } as const;

  get signal(): AbortSignal {
    return this.stop.signal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort(new Error("the test ended"));
    await this.stack.disposeAsync();
  }
}

test("a konnector whose account is not there yet is started when it is, without a change of its Deployment", async () => {
  let asked = 0;
  const cluster = clusterWith(async () => {
    asked++;
    if (asked < 3) throw new Error("serviceaccounts konnector not found");
    return { status: { token: "t", expirationTimestamp: "2027-01-01T00:00:00Z" } };
  });
  await using context = new Context();
  const running = superviseKonnectors(context, cluster, 1);
  await waitFor("the account's token", () => asked === 3);
  await waitFor("the kubeconfig", () => stat(join(folder, "konnectors", "app-a-konnector.kubeconfig")));
  assert.equal(context.said.length, 2);
  assert.match(context.said[0] ?? "", /the konnector of app-a did not start: .*not found/);
  context.stop.abort(new Error("the sandbox stops"));
  await running;
  assert.equal(asked, 3, "it was started once");
});

test("a konnector is started again when the watch brings another generation of its Deployment", async () => {
  let asked = 0;
  const change = Promise.withResolvers<DynamicObject>();
  const cluster = clusterWith(
    async () => {
      asked++;
      return { status: { token: "t", expirationTimestamp: "2027-01-01T00:00:00Z" } };
    },
    () => change.promise,
  );
  await using context = new Context();
  const running = superviseKonnectors(context, cluster);
  await waitFor("the first start", () => asked === 1);
  const metadata = { ...deployment.metadata, resourceVersion: "3", generation: 2 };
  change.resolve({ ...deployment, metadata });
  await waitFor("the second start", () => asked === 2);
  context.stop.abort(new Error("the sandbox stops"));
  await running;
  assert.deepEqual([asked, context.said], [2, []]);
});

test("a token is for its owner's eyes only, stands beside the kubeconfig, and is never in it", async () => {
  const cluster = clusterWith(async () => ({ status: { token: "hunter2", expirationTimestamp: "" } }));
  const path = await accountKubeconfig(cluster, { namespace: "ns", name: "part" }, folder);
  const text = await readFile(path, "utf8");
  assert.doesNotMatch(text, /hunter2/);
  assert.match(text, /app-a-part\.token/);
  assert.match(text, /namespace: ns/);
  const token = join(folder, "app-a-part.token");
  assert.equal(await readFile(token, "utf8"), "hunter2");
  for (const file of [path, token]) assert.equal((await stat(file)).mode & 0o777, 0o600);
});
