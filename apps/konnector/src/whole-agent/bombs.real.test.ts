/**
 * The konnector as a process, bound to an honest provider and to one that answers with bombs: a real API server does not send those, so a
 * server of this file does.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { consumerNamespace, konnectorRuntime } from "@klutch/api";
import { ownProgram, reservePorts, type RunningProcess, startProcess } from "@klutch/engines";
import { formatKubeconfig } from "@klutch/kube";
import { conditionsOf } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { putKubeconfig } from "../testing/credentials.ts";
import { startTenantFixture } from "../testing/tenant-fixture.ts";
import { agentConfig, bindApi, testApi, widget } from "../testing/fixture.ts";

const mebibyte = 1024 * 1024;
const tenant = "cluster-evil";
const widgets = testApi("widgets", "Widget");
const gizmos = testApi("gizmos", "Gizmo");
const fixture = await startTenantFixture({ exported: [widgets] });
const { consumer, provider, kubeconfig, cleanup, binding, untilReady, createSynced } = fixture;

type Answer = (response: ServerResponse) => void;
/** Its answers to lists, and to watches. */
interface Mode {
  readonly list: Answer;
  readonly watch: Answer;
}

const begin = '{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[';
const listOf = (items: string): Answer => {
  const body = Buffer.from(`${begin}${items}]}`);
  return (response) => response.writeHead(200, { "content-type": "application/json" }).end(body);
};
const empty = listOf("");
const silent: Answer = (response) => response.writeHead(200).flushHeaders();
/** The list of before is too old, so the agent lists again. */
const gone: Answer = (response) =>
  response.writeHead(200).end('{"type":"ERROR","object":{"kind":"Status","code":410}}\n');
const lineOf = (object: string): Answer => {
  const line = Buffer.from(`{"type":"ADDED","object":${object}}\n`);
  return (response) => {
    response.writeHead(200).write(line);
    const timer = setInterval(() => {
      bombs++;
      response.write(line);
    }, 500);
    response.on("close", () => clearInterval(timer));
  };
};
const objectWith = (status: string): string =>
  `{"metadata":{"name":"a","namespace":"${tenant}","uid":"u","resourceVersion":"6"},"status":${status}}`;
const wide = (length: number): string => `[${"[],".repeat(length / 3)}[]]`;
const deep = (length: number): string => "[".repeat(length / 2) + "]".repeat(length / 2);
let pages = 0;
const endless: Answer = (response) =>
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(`{"kind":"List","metadata":{"resourceVersion":"5","continue":"${++pages}"},"items":[]}`);

const heavy = Buffer.from(`[${"{},".repeat(125_000)}{}]}]}`);
/** Sixty objects, each of which may be read. */
const many: Answer = (response) => {
  const page = ++pages % 60;
  const token = page === 0 ? "" : String(page);
  const metadata = `{"name":"n${page}","namespace":"${tenant}","uid":"${page}","resourceVersion":"6"}`;
  response.writeHead(200, { "content-type": "application/json" });
  response.write(`{"kind":"List","metadata":{"resourceVersion":"5","continue":"${token}"},"items":[`);
  response.write(`{"metadata":${metadata},"spec":`);
  response.end(heavy);
};

const modes: Readonly<Record<string, Mode>> = {
  "pages of 60 MB with millions of lists": { list: listOf(objectWith(wide(60_000_000))), watch: gone },
  "pages within the limit with millions of lists": {
    list: listOf(objectWith(wide(7.9 * mebibyte))),
    watch: gone,
  },
  "pages of 60 MB nested as deep as that": { list: listOf(objectWith(deep(60_000_000))), watch: gone },
  "pages within the limit nested as deep": { list: listOf(objectWith(deep(7.9 * mebibyte))), watch: gone },
  "watch lines of 15 MB nested as deep": { list: empty, watch: lineOf(objectWith(deep(15_000_000))) },
  "watch lines within the limit nested as deep": {
    list: empty,
    watch: lineOf(objectWith(deep(2.9 * mebibyte))),
  },
  "watch lines within the limit with many lists": {
    list: empty,
    watch: lineOf(objectWith(wide(2.9 * mebibyte))),
  },
  "lists without an end": { list: endless, watch: gone },
  "lists of many objects that are each within the limit": { list: many, watch: gone },
};
let mode: Mode = { list: empty, watch: silent };
let bombs = 0;

const [cert, key] = await Promise.all(
  ["crt", "key"].map((end) => readFile(join(provider.dataDir, "certs", `apiserver.${end}`))),
);
const hostile = createServer({ cert, key }, ({ url = "" }, response) => {
  const isNamespace = url.endsWith(`/namespaces/${tenant}`);
  if (isNamespace)
    response.end(JSON.stringify({ kind: "Namespace", metadata: { name: tenant, uid: "evil" } }));
  else if (url.includes("kube-system")) response.writeHead(403).end('{"kind":"Status","code":403}');
  else {
    bombs++;
    (url.includes("watch=true") ? mode.watch : mode.list)(response);
  }
}).listen(0, "127.0.0.1");
await once(hostile, "listening");
cleanup.defer(() => {
  hostile.closeAllConnections();
  hostile.close();
});
const address = hostile.address();
const evil = `https://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
const evilKubeconfig = kubeconfig
  .replace(provider.url, evil)
  .replaceAll(/namespace: .*/g, `namespace: ${tenant}`);

const evilSecret = { namespace: consumerNamespace, name: "kubeconfig-evil" };

const { ports } = cleanup.use(await reservePorts(1));
const probe = `http://127.0.0.1:${ports[0]}`;
const file = join(consumer.dataDir, "agent.kubeconfig");
await writeFile(file, formatKubeconfig(await agentConfig(consumer)), { mode: 0o600 });
const startAgent = async (): Promise<RunningProcess> =>
  startProcess({
    name: "konnector",
    command: process.execPath,
    args: [
      process.env["KONNECTOR_PROGRAM"] ?? ownProgram("konnector"),
      `--lease-namespace=${consumerNamespace}`,
      "--probe-host=127.0.0.1",
      `--probe-port=${ports[0]}`,
    ],
    // In a container with the shipped limit of 512 MiB, Node takes half of it for its heap.
    env: {
      ...konnectorRuntime,
      NODE_OPTIONS: `${konnectorRuntime["NODE_OPTIONS"]} --max-old-space-size=256`,
      POD_NAME: "me",
      KUBECONFIG: file,
    },
    logFile: join(consumer.dataDir, "konnector.log"),
    ready: async () => (await fetch(`${probe}/healthz`)).ok,
  });
let konnector = await startAgent();
cleanup.defer(() => konnector.stop());
await bindApi(fixture, widgets.name, kubeconfig);
await bindApi(fixture, gizmos.name, evilKubeconfig, [], evilSecret.name);
await untilReady(widgets.name);
await createSynced(widgets.type, "before");

async function restart(): Promise<void> {
  await konnector.stop();
  konnector = await startAgent();
}

/** Most memory since it was asked last, in MiB. */
async function peak(): Promise<number> {
  const status = await readFile(`/proc/${konnector.pid}/status`, "utf8");
  await writeFile(`/proc/${konnector.pid}/clear_refs`, "5");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/** Milliseconds of CPU time that the thread of the event loop has used. */
async function cpuMs(): Promise<number> {
  const stat = await readFile(`/proc/${konnector.pid}/task/${konnector.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")")).split(" ");
  return (Number(fields[12]) + Number(fields[13])) * 10;
}

/**
 * Asks the probe until told to stop; gives back the most work that the event loop did before it answered, in milliseconds of its own CPU time: the
 * server of the bombs and other processes take some of the time that passes.
 */
async function longestStall(until: Promise<unknown>): Promise<number> {
  let isOver = false;
  until.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  let longest = 0;
  while (!isOver) {
    const used = await cpuMs();
    await (await fetch(`${probe}/healthz`)).text();
    longest = Math.max(longest, (await cpuMs()) - used);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return longest;
}

let round = 0;
/** With new credentials the agent tries at once all that failed. */
const tryAgain = (): Promise<void> =>
  putKubeconfig(consumer, evilSecret, evilKubeconfig.replace(/token: .*/, `token: round-${++round}`));

for (const [what, next] of Object.entries(modes)) {
  test(`a provider's ${what} neither fill the memory nor hold up another provider's claims`, async (t) => {
    await peak();
    const before = bombs;
    mode = next;
    const begun = performance.now();
    // A new connection meets the bomb at once.
    hostile.closeAllConnections();
    const honest = (async () => {
      const times: number[] = [];
      while (performance.now() - begun < 5_000 || bombs < before + 6) {
        const asked = performance.now();
        await createSynced(widgets.type, `round-${++round}`);
        times.push(performance.now() - asked);
        if (round % 5 === 0) await tryAgain();
      }
      return times.toSorted((left, right) => left - right);
    })();
    const stall = await longestStall(honest);
    const times = await honest;
    const memory = await peak();
    const [median = 0, longest = 0] = [times[times.length >> 1], times.at(-1)];
    t.diagnostic(
      `${memory.toFixed(0)} MiB, stall ${stall.toFixed(0)} ms, claims ${times.length}, ${median.toFixed(0)} ms, at most ${longest.toFixed(0)} ms, ${bombs - before} bombs`,
    );
    assert.ok(memory < 512, `${memory} MiB, more than the shipped limit`);
    assert.ok(stall < 1_000, `the event loop stood still for ${stall} ms`);
    assert.ok(!konnector.hasExited);
  });
}

test("a list without an end is told on the binding, and the honest binding stays ready", async () => {
  mode = { list: endless, watch: gone };
  await restart();
  // A new connection has 30 seconds for its first lists (`syncTimeoutMs`); one that stands tells it after three (stalls.ts).
  const told = await waitFor("the endless list to be told", async () => {
    const conditions = conditionsOf(await binding(gizmos.name));
    return conditions.find(({ message = "" }) => /list \w+: the server sent/.test(message));
  });
  assert.match(
    told.message ?? "",
    /the server sent 100 pages and names one more each time, so the list was given up/,
  );
  await untilReady(widgets.name);
});

test("a developer's claim that is nested in thousands of levels holds up no other claim, also when all are listed again", async () => {
  mode = { list: empty, watch: silent };
  const levels = Array.from({ length: 5_000 });
  const deepSpec = levels.reduce<unknown>((inner) => [inner], 7);
  await consumer.client.create(widgets.type, widget(widgets.type, "deep", { deep: deepSpec }));
  // A whole number of 17 digits takes the parser a recursion for each level. The server stores it; the client does not read the answer.
  const exact = widget(widgets.type, "exact", { deep: deepSpec, beyond: 1e16 });
  await assert.rejects(consumer.client.create(widgets.type, exact), { code: "TooLarge" });
  await createSynced(widgets.type, "after-deep");
  await restart();
  await createSynced(widgets.type, "after-restart");
  await untilReady(widgets.name);
});
