import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { Secret } from "@klutch/telemetry";
import { type BackupManagerClient, createBackupManagerClient } from "./client.ts";
import {
  BackupManagerError,
  BackupManagerTransportError,
  isGone,
  isLocked,
  isNotRestorable,
  isRefusal,
  isRestoreRunning,
  mayHaveHappened,
} from "./errors.ts";
import { fakeManager, json, password, raw } from "./testing/fake-manager.ts";

const one = {
  id: 7,
  size: 2048,
  status: "done",
  triggered_at: "2026-03-01T10:00:00.500Z",
  downloadable: true,
};
const restored = { id: 3, backup_id: 7, status: "running", triggered_at: "2026-03-01T11:00:00.000Z" };
const backup = { instanceId: "i-1", backupId: 7 };
const triggeredAtMs = Date.UTC(2026, 2, 1, 10, 0, 0, 500);

const calls: readonly {
  readonly name: string;
  readonly run: (client: BackupManagerClient) => Promise<unknown>;
  readonly asks: string;
  readonly body?: string;
  readonly status: number;
  readonly answer: unknown;
  readonly gives: unknown;
}[] = [
  {
    name: "createBackup",
    run: (client) => client.createBackup("i-1"),
    asks: "POST /instances/i-1/backups",
    status: 201,
    answer: { id: 7, message: "job is queued" },
    gives: { backupId: 7, message: "job is queued" },
  },
  {
    name: "listBackups",
    run: (client) => client.listBackups("i-1"),
    asks: "GET /instances/i-1/backups",
    status: 200,
    answer: [one, { id: 8, status: "queued", size: null, finished_at: null, downloadable: false }],
    gives: [
      { id: 7, state: "done", size: 2048, triggeredAtMs, downloadable: true },
      { id: 8, state: "queued", downloadable: false },
    ],
  },
  {
    name: "getBackup",
    run: (client) => client.getBackup(backup),
    asks: "GET /instances/i-1/backups/7",
    status: 200,
    answer: { ...one, finished_at: "2026-03-01T12:00:01+02:00", extra: { deep: [1] } },
    gives: {
      id: 7,
      state: "done",
      size: 2048,
      triggeredAtMs,
      finishedAtMs: Date.UTC(2026, 2, 1, 10, 0, 1),
      downloadable: true,
    },
  },
  {
    name: "deleteBackup",
    run: (client) => client.deleteBackup(backup),
    asks: "DELETE /instances/i-1/backups/7",
    status: 200,
    answer: { message: "deleted" },
    gives: { message: "deleted" },
  },
  {
    name: "createRestore",
    run: (client) => client.createRestore(backup),
    asks: "POST /instances/i-1/backups/7/restore",
    status: 202,
    answer: { id: 3 },
    gives: { restoreId: 3 },
  },
  {
    name: "listRestores",
    run: (client) => client.listRestores("i-1"),
    asks: "GET /instances/i-1/restores",
    status: 200,
    answer: [restored],
    gives: [{ id: 3, backupId: 7, state: "running", triggeredAtMs: Date.UTC(2026, 2, 1, 11) }],
  },
  {
    name: "getRestore",
    run: (client) => client.getRestore({ instanceId: "i-1", restoreId: 3 }),
    asks: "GET /instances/i-1/restores/3",
    status: 200,
    answer: restored,
    gives: { id: 3, backupId: 7, state: "running", triggeredAtMs: Date.UTC(2026, 2, 1, 11) },
  },
  {
    name: "getInstanceConfig",
    run: (client) => client.getInstanceConfig("i-1"),
    asks: "GET /instances/i-1/config",
    status: 200,
    answer: {
      min_backup_count: 2,
      retention_time: 30,
      min_encryption_key_length: 8,
      exclude_from_auto_backup: false,
      backup_type: "postgresql_wal",
    },
    gives: {
      minBackupCount: 2,
      retentionDays: 30,
      minEncryptionKeyLength: 8,
      excludeFromAutoBackup: false,
      backupType: "postgresql_wal",
    },
  },
  {
    name: "updateBackupConfig",
    run: (client) =>
      client.updateBackupConfig("i-1", {
        encryptionKey: new Secret("battery-staple"),
        excludeFromAutoBackup: true,
        credentialsUpdatedByUser: false,
      }),
    asks: "PUT /instances/i-1",
    body: '{"encryption_key":"battery-staple","exclude_from_auto_backup":true,"credentials_updated_by_user":false}',
    status: 200,
    answer: { message: "instance updated" },
    gives: { message: "instance updated" },
  },
  {
    name: "checkHealth",
    run: (client) => client.checkHealth(),
    asks: "GET /instances",
    status: 200,
    answer: [],
    gives: undefined,
  },
];

for (const { name, run, asks, body = "", status, answer, gives } of calls) {
  test(`${name} asks ${asks} with credentials and gives what the manager says`, async (t) => {
    const seen: unknown[] = [];
    const observe = (...[call, code, tookMs]: readonly [string, number | undefined, number]): void => {
      seen.push([call, code, tookMs >= 0]);
    };
    const { client, requests } = await fakeManager(t, json(status, answer), { observe });
    assert.deepEqual(await run(client), gives);
    assert.deepEqual(
      requests.map((request) => `${request.method} ${request.url}`),
      [asks],
    );
    const [request] = requests;
    assert.equal(request?.body, body);
    assert.equal(request.headers.authorization, `Basic ${btoa(`klutch:${password}`)}`);
    assert.equal(request.headers.accept, "application/json");
    assert.equal(request.headers["content-type"], body === "" ? undefined : "application/json");
    assert.deepEqual(seen, [[name, status, true]]);
  });

  test(`${name} tells of an error in the manager's words`, async (t) => {
    const { client } = await fakeManager(
      t,
      json(409, { error: "ConcurrencyError", description: "Busy." }, { "retry-after": "7" }),
    );
    await assert.rejects(run(client), (error) => {
      assert.ok(error instanceof BackupManagerError);
      const { call, code, status: answered, error: word, description, own, retryAfterMs } = error;
      assert.deepEqual(
        { call, code, answered, word, description, own, retryAfterMs },
        {
          call: name,
          code: "Conflict",
          answered: 409,
          word: "ConcurrencyError",
          description: "Busy.",
          own: true,
          retryAfterMs: 7_000,
        },
      );
      assert.ok(error.message.includes('saying "ConcurrencyError: Busy."'), error.message);
      return true;
    });
  });
}

test("what the manager says of each status is told by a guard", async (t) => {
  const cases: readonly (readonly [
    number,
    string,
    (client: BackupManagerClient) => Promise<unknown>,
    (error: unknown) => boolean,
  ])[] = [
    [400, "BadRequest", (client) => client.createBackup("i"), isRefusal],
    [404, "NotFound", (client) => client.getBackup(backup), isGone],
    [410, "Gone", (client) => client.createRestore(backup), isGone],
    [409, "ConcurrencyError", (client) => client.createRestore(backup), isRestoreRunning],
    [422, "InvalidStatusError", (client) => client.createRestore(backup), isNotRestorable],
    [423, "Locked", (client) => client.deleteBackup(backup), isLocked],
    [503, "Down", (client) => client.createBackup("i"), mayHaveHappened],
  ];
  for (const [status, error, run, guard] of cases) {
    const { client } = await fakeManager(t, json(status, { error, description: "words" }));
    await assert.rejects(run(client), (thrown) => guard(thrown), String(status));
  }
});

test("404 and 410 mean gone only as the manager's error object, not as what stands before it says them", async (t) => {
  const answers: readonly (readonly [string, string, boolean])[] = [
    ["application/json", '{"error":"NotFound","description":"no such backup"}', true],
    ["application/json; charset=utf-8", '{"description":"no such backup"}', true],
    ["application/problem+json", '{"error":"Gone"}', true],
    ["text/html", "<html>404</html>", false],
    ["text/html", '{"error":"NotFound"}', false],
    ["", '{"error":"NotFound"}', false],
    ["application/json", "{}", false],
    ["application/json", '{"message":"no Route matched with those values"}', false],
    ["application/json", '{"error":404}', false],
    ["application/json", '"gone"', false],
    ["application/json", "[]", false],
    ["application/json", "null", false],
    ["application/json", '{"error":"Not', false],
    ["application/json", "", false],
  ];
  for (const [type, body, gone] of answers) {
    for (const status of [404, 410]) {
      const { client } = await fakeManager(t, raw(status, type, body));
      for (const call of [client.getBackup(backup), client.deleteBackup(backup)])
        await assert.rejects(call, (error) => isGone(error) === gone, `${status} ${type} ${body}`);
    }
  }
});

test("a deletion and a change may be answered without a body", async (t) => {
  for (const status of [200, 204]) {
    const { client } = await fakeManager(t, raw(status, "", ""));
    assert.deepEqual(await client.deleteBackup(backup), { message: "" });
    assert.deepEqual(await client.updateBackupConfig("i", { excludeFromAutoBackup: true }), { message: "" });
  }
});

test("the page of a login with status 200 is not taken for a deletion", async (t) => {
  const { client } = await fakeManager(t, raw(200, "text/html; charset=utf-8", "<html>Sign in</html>"));
  await assert.rejects(client.deleteBackup(backup), { code: "ContentType" });
});

test("an answer about another backup or restore than was asked for is refused", async (t) => {
  const { client } = await fakeManager(t, json(200, { ...one, id: 8 }));
  await assert.rejects(client.getBackup(backup), /the answer tells of backup 8/);
  await assert.rejects(client.getRestore({ instanceId: "i", restoreId: 9 }), /the answer tells of restore 8/);
});

test("a list with one wrong entry is refused as a whole: a gap would hide a backup", async (t) => {
  const { client } = await fakeManager(t, json(200, [one, { ...one, id: "eight" }]));
  await assert.rejects(client.listBackups("i"), (error) => {
    assert.ok(error instanceof BackupManagerTransportError);
    assert.equal(error.code, "Garbage");
    assert.match(error.message, /\[1\]\.id is missing or no id/);
    return true;
  });
});

test("no credential shows in an error, whatever the manager or a proxy echoes", async (t) => {
  const key = "battery-staple";
  const token = btoa(`klutch:${password}`);
  const { client } = await fakeManager(t, (request, response) => {
    const description = `${request.headers.authorization} ${request.body} ${password} \u001b[31m`;
    json(400, { error: password, description })(request, response);
  });
  const failures = [
    client.createBackup("i"),
    client.updateBackupConfig("i", { encryptionKey: new Secret(key) }),
  ];
  for (const failure of failures) {
    await assert.rejects(failure, (error) => {
      const shown = inspect(error, { showHidden: true, depth: 10 }) + JSON.stringify(error) + String(error);
      for (const secret of [password, token, key, "\u001b"]) assert.ok(!shown.includes(secret), shown);
      assert.match(shown, /\[redacted\]/);
      return true;
    });
  }
  assert.ok(!inspect(client, { showHidden: true, depth: 10 }).includes(password));
});

test("no credential and no control character comes down with an answer that is fine", async (t) => {
  const state = `${password}\n\u202e${"x".repeat(1_000)}`;
  const { client } = await fakeManager(t, json(200, { ...one, status: state }));
  const told = await client.getBackup(backup);
  assert.match(told.state, /^\[redacted\] x{88}…$/);
});

const wrongIds: readonly (readonly [string, (client: BackupManagerClient) => Promise<unknown>])[] = [
  ...["", ".", "..", "a/b", "a%2fb", String.raw`a\b`, "\ud800"].map(
    (id) => [JSON.stringify(id), (client: BackupManagerClient) => client.listBackups(id)] as const,
  ),
  ...[0, -1, 1.5, Number.NaN, Infinity, 2 ** 53].map(
    (id) =>
      [
        `backup ${id}`,
        (client: BackupManagerClient) => client.getBackup({ instanceId: "i", backupId: id }),
      ] as const,
  ),
  ["restore 0", (client) => client.getRestore({ instanceId: "i", restoreId: 0 })],
  ["an empty change", (client) => client.updateBackupConfig("i", {})],
  ["a health path that leads up", (client) => client.checkHealth("/a/../../b")],
  ["a health path that leads up in disguise", (client) => client.checkHealth("/a/%2E%2e/b")],
  ["a health path with a fragment", (client) => client.checkHealth("/a#b")],
  ["a health path with a line end", (client) => client.checkHealth("/a\r\nx: y")],
];
for (const [what, run] of wrongIds) {
  test(`${what} is refused before anything is sent`, async (t) => {
    const { client, requests } = await fakeManager(t, json(200, []));
    await assert.rejects(run(client), RangeError);
    assert.equal(requests.length, 0);
  });
}

test("an unusual id of an instance is escaped", async (t) => {
  const { client, requests } = await fakeManager(t, json(200, []));
  await client.listBackups("ü ?#&=+;:@");
  assert.equal(requests[0]?.url, "/instances/%C3%BC%20%3F%23%26%3D%2B%3B%3A%40/backups");
});

test("health is any 2xx at the path, below the base address, with or without a slash, whatever the body", async (t) => {
  const { url, requests, client } = await fakeManager(t, raw(204, "text/html", ""));
  await client.checkHealth("v2/healthy");
  await client.checkHealth("/v2/healthy?deep=1");
  await using nested = createBackupManagerClient({ url: `${url}/pg/backup//` });
  await nested.checkHealth("/v2/healthy");
  assert.deepEqual(
    requests.map((request) => [request.url, request.headers.authorization !== undefined]),
    [
      ["/v2/healthy", true],
      ["/v2/healthy?deep=1", true],
      ["/pg/backup/v2/healthy", false],
    ],
  );
  const long = await fakeManager(t, raw(200, "text/html", "x".repeat(20 * 1024 * 1024)));
  await long.client.checkHealth();
  const ill = await fakeManager(t, raw(500, "text/plain", "down"));
  await assert.rejects(ill.client.checkHealth(), /^BackupManagerError: checkHealth of path "\/instances": /);
});
