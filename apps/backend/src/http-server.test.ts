import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { Agent, get } from "node:https";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect, TLSSocket } from "node:tls";
import { openAuthority, tlsFilesIn } from "@klutch/data-servers";
import { reservePorts } from "@klutch/engines";
import { systemClock } from "@klutch/kube";
import { systemRuntime } from "@klutch/kube-runtime";
import { VirtualClock, waitFor, writeSecretVolume } from "@klutch/kube-testing";
import { createMetrics, silentLogger } from "@klutch/telemetry";
import { Hono } from "hono";
import { readConfig } from "./config.ts";
import { httpServer } from "./http-server.ts";

const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const home = await mkdtemp(join(tmpdir(), "klutch-backend-tls-"));
stack.defer(() => rm(home, { recursive: true, force: true }));
const now = (): Date => new Date(systemClock.now());
const authority = await openAuthority(join(home, "authority"), { name: "authority", now });
const volume = join(home, "volume");

async function issue(name: string): Promise<Readonly<Record<"tls.crt" | "tls.key", string>>> {
  const folder = join(home, name);
  await mkdir(folder);
  await authority.issue(folder);
  const { certificate, key } = tlsFilesIn(folder);
  return { "tls.crt": await readFile(certificate, "utf8"), "tls.key": await readFile(key, "utf8") };
}

const flags = [
  "--control-plane-mode",
  `--tls-cert-file=${join(volume, "tls.crt")}`,
  `--tls-key-file=${join(volume, "tls.key")}`,
];

/** Says `hello`, and which certificate it was shown. */
async function ask(port: number, agent: Agent): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = get({ host: "127.0.0.1", port, agent, ca: authority.certificate }, (response) => {
    const { socket } = response;
    response.resume();
    assert.ok(socket instanceof TLSSocket);
    assert.equal(response.statusCode, 200);
    const { serialNumber } = socket.getPeerCertificate();
    response.on("end", () => resolve(serialNumber));
  });
  request.on("error", reject);
  return promise;
}

interface Served extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly port: number;
  readonly abort: AbortController;
}

async function serve(args: readonly string[]): Promise<Served> {
  const [port = 0] = stack.use(await reservePorts(1)).ports;
  const config = await readConfig([...args, `--listen-address=127.0.0.1:${port}`], {});
  const clock = new VirtualClock();
  const runtime = { ...systemRuntime({ logger: silentLogger, metrics: createMetrics() }), clock };
  const app = new Hono().get("/", (context) => context.text("hello"));
  const abort = new AbortController();
  const running = httpServer({ app, problem: () => undefined }, config, runtime).start(abort);
  return {
    clock,
    port,
    abort,
    async [Symbol.asyncDispose]() {
      abort.abort();
      // As long as those who hold a connection may go on, and answers take.
      await clock.advance(20_000);
      await running;
    },
  };
}

test("a renewed certificate is shown to new connections, and no existing one is cut off", async () => {
  await writeSecretVolume(volume, await issue("first"));
  const { clock, port } = stack.use(await serve(flags));
  const waiting = new Agent({ keepAlive: true });
  stack.defer(() => waiting.destroy());
  const before = await waitFor("the server", () => ask(port, waiting));
  await writeSecretVolume(volume, await issue("second"));
  await clock.advance(10_000);
  const renewed = await waitFor("the renewed certificate", async () => {
    const shown = await ask(port, new Agent());
    return shown === before ? undefined : shown;
  });
  // It goes on over the connection that it has.
  assert.equal(await ask(port, waiting), before);
  assert.equal(await ask(port, new Agent()), renewed);
});

for (const [scheme, isSecure] of [
  ["http", false],
  ["https", true],
] as const) {
  test(`over ${scheme} an idle connection outlives those of proxies, and ends when the server does`, async () => {
    await writeSecretVolume(volume, await issue(`idle-${scheme}`));
    await using server = await serve(isSecure ? flags : ["--control-plane-mode"]);
    const where = { host: "127.0.0.1", port: server.port };
    const { socket, answer } = await waitFor("the server", async () => {
      const opened = isSecure ? connect({ ...where, ca: authority.certificate }) : connectPlain(where);
      opened.write("GET / HTTP/1.1\r\nhost: klutch\r\n\r\n");
      const said: readonly unknown[] = await once(opened, "data");
      return { socket: opened, answer: String(said[0]) };
    });
    assert.match(answer, /^keep-alive: timeout=620\r$/im);
    server.abort.abort();
    await server.clock.advance(5_000);
    await waitFor("the end of the connection", () => socket.closed);
  });
}

test("a pair that does not belong together is refused by the name of its flag before anything starts", async () => {
  const [first, second] = [await issue("third"), await issue("fourth")];
  await writeSecretVolume(volume, { ...first, "tls.key": second["tls.key"] });
  await assert.rejects(
    readConfig(flags, {}),
    /--tls-key-file: .*tls\.key is not the key of the certificate in .*tls\.crt/,
  );
  await writeSecretVolume(volume, { ...first, "tls.crt": "nothing" });
  await assert.rejects(
    readConfig(flags, {}),
    /--tls-cert-file: .*tls\.crt must have certificates in PEM form/,
  );
});
