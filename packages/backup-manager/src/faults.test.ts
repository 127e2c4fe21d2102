/** Random answers, whole and in pieces, over real connections: what a call may end with, and what it may not claim. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { TLSSocket } from "node:tls";
import { inspect } from "node:util";
import { Secret } from "@klutch/telemetry";
import fc from "fast-check";
import type { BackupManagerClient } from "./client.ts";
import { BackupManagerError, BackupManagerTransportError, mayHaveHappened } from "./errors.ts";
import { createCertificates } from "./testing/certificates.ts";
import { password, rawManager } from "./testing/fake-manager.ts";

/** One answer, and how it is sent. */
interface Plan {
  readonly call: keyof typeof calls;
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** `cut`: the connection ends in the middle. `stall`: it stays open and silent. `drip`: in small pieces, to the end. */
  readonly manner: "whole" | "drip" | "cut" | "reset" | "stall";
  /** Position of the cut or stall, as a fraction of the whole. */
  readonly part: number;
}

const ref = (instanceId: string): { instanceId: string; backupId: number; restoreId: number } => ({
  instanceId,
  backupId: 7,
  restoreId: 7,
});
const calls = {
  createBackup: (client, id) => client.createBackup(id),
  listBackups: (client, id) => client.listBackups(id),
  getBackup: (client, id) => client.getBackup(ref(id)),
  deleteBackup: (client, id) => client.deleteBackup(ref(id)),
  createRestore: (client, id) => client.createRestore(ref(id)),
  listRestores: (client, id) => client.listRestores(id),
  getRestore: (client, id) => client.getRestore(ref(id)),
  getInstanceConfig: (client, id) => client.getInstanceConfig(id),
  updateBackupConfig: (client, id) =>
    client.updateBackupConfig(id, { encryptionKey: new Secret("battery-staple") }),
  checkHealth: (client, id) => client.checkHealth(`/${id}`),
} satisfies Readonly<Record<string, (client: BackupManagerClient, id: string) => Promise<unknown>>>;
const names = [
  "createBackup",
  "listBackups",
  "getBackup",
  "deleteBackup",
  "createRestore",
  "listRestores",
  "getRestore",
  "getInstanceConfig",
  "updateBackupConfig",
  "checkHealth",
] as const;

const wellKnown = [
  '{"id":7}',
  '{"id":7,"status":"done"}',
  '[{"id":7,"status":"done","size":1}]',
  '{"message":"fine"}',
  `{"error":"Code","description":"${password} battery-staple\\u001b[2J"}`,
  `<html>${password}</html>`,
  "null",
  "",
];
const plan: fc.Arbitrary<Plan> = fc.record({
  call: fc.constantFrom(...names),
  status: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(200, 201, 202) },
    fc.constantFrom(
      100,
      101,
      204,
      206,
      301,
      303,
      304,
      400,
      401,
      404,
      408,
      409,
      410,
      422,
      423,
      429,
      500,
      503,
      999,
    ),
  ),
  contentType: fc.constantFrom(
    "application/json",
    "application/json",
    "text/html",
    "application/problem+json",
  ),
  body: fc.oneof(fc.constantFrom(...wellKnown), fc.json(), fc.string()),
  manner: fc.constantFrom("whole", "whole", "whole", "drip", "cut", "reset", "stall"),
  part: fc.integer({ min: 0, max: 999 }).map((parts) => parts / 1_000),
});

function bytesOf({ status, contentType, body }: Plan): Buffer {
  const head = `HTTP/1.1 ${status} Words\r\ncontent-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  return Buffer.from(head + body);
}

function answer(socket: Socket, one: Plan): void {
  const bytes = bytesOf(one);
  const some = bytes.subarray(0, Math.floor(one.part * bytes.length));
  if (one.manner === "whole") socket.end(bytes);
  else if (one.manner === "cut") socket.end(some);
  else if (one.manner === "stall") socket.write(some);
  else if (one.manner === "reset") socket.write(some, () => reset(socket));
  else drip(socket, bytes);
}

function reset(socket: Socket): void {
  // Below TLS there is no way to the connection itself.
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

function drip(socket: Socket, bytes: Buffer): void {
  if (bytes.length === 0) socket.end();
  else socket.write(bytes.subarray(0, 40), () => setImmediate(() => drip(socket, bytes.subarray(40))));
}

/** Returns true if the answer ended as it should; an answer without a body by its status does so with its head. */
const isWhole = ({ manner, status }: Plan): boolean =>
  manner === "whole" || manner === "drip" || status === 204 || status === 304;

/** `arrived` says whether the server saw the request. */
function checkFailure(error: unknown, one: Plan, arrived: boolean): void {
  assert.ok(
    error instanceof BackupManagerError || error instanceof BackupManagerTransportError,
    String(error),
  );
  assert.equal(error.call, one.call);
  assert.ok(error.message.startsWith(`${one.call} of `) && error.message.endsWith("."), error.message);
  assert.ok(error.message.length < 800, error.message);
  assert.doesNotMatch(error.message, /[\p{Cc}\p{Cf}]/u);
  const shown = inspect(error, { showHidden: true, depth: 10 });
  // The key is known to the call that sends it.
  const key = one.call === "updateBackupConfig" ? ["battery-staple"] : [];
  for (const secret of [password, btoa(`klutch:${password}`), ...key])
    assert.ok(!shown.includes(secret), shown);
  if (error instanceof BackupManagerError) {
    assert.equal(error.status, one.status);
    assert.ok(isWhole(one), "half an answer is no answer");
    assert.ok(one.status >= 300, error.message);
  }
  // What arrived may have been done, unless the answer is a clear no.
  const isNo = isWhole(one) && one.status >= 400 && one.status < 500 && one.status !== 408;
  assert.ok(mayHaveHappened(error) || isNo || !arrived, `${error.message} claims that nothing happened`);
}

for (const protocol of ["http", "https"]) {
  test(`whatever comes over ${protocol}, a call ends in time with a checked value or an error that claims nothing wrong`, async (t) => {
    const plans: Plan[] = [];
    const arrived = new Set<number>();
    const { ca, server } = await createCertificates("manager.test");
    const secure = { server, tls: { ca, serverName: "manager.test" } };
    const client = await rawManager(
      t,
      (socket, asked) => {
        const index = Number(/p-(\d+)/.exec(asked)?.[1]);
        const one = plans[index];
        assert.ok(one !== undefined, asked);
        arrived.add(index);
        answer(socket, one);
      },
      { timeoutMs: 1_000, ...(protocol === "https" ? secure : {}) },
    );
    const run = async (one: Plan, index: number): Promise<void> => {
      const startedAt = performance.now();
      try {
        await calls[one.call](client, `p-${index}`);
        assert.ok(one.status >= 200 && one.status < 300, `${one.status} is no success`);
        assert.ok(isWhole(one) || one.call === "checkHealth", "half an answer is no answer");
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        checkFailure(error, one, arrived.has(index));
      }
      assert.ok(performance.now() - startedAt < 10_000);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: 14, maxLength: 20 }), async (some) => {
        // A number is used once: what comes late is not taken for another.
        const first = plans.length;
        plans.push(...some);
        // Few at a time: on a busy machine sixty handshakes take longer than the client waits.
        await Promise.all(some.map((one, index) => run(one, first + index)));
      }),
      { numRuns: 18, endOnFailure: true },
    );
    assert.ok(arrived.size > 100, `${arrived.size} requests arrived`);
  });
}
