import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { Secret } from "@klutch/telemetry";
import { createBackupManagerClient } from "./client.ts";
import { type BackupManagerConfig, checkConfig } from "./config.ts";
import { BackupManagerConfigError } from "./errors.ts";
import { createCertificates } from "./testing/certificates.ts";

const url = "https://backups.test";
const authority = (await createCertificates()).ca;

test("the base address has no slash at its end", () => {
  for (const [given, base] of [
    ["https://backups.test", "https://backups.test"],
    ["https://backups.test/", "https://backups.test"],
    ["http://backups.test:8988//", "http://backups.test:8988"],
    ["HTTPS://Backups.test/pg/v2/", "https://backups.test/pg/v2"],
  ] as const)
    assert.equal(checkConfig({ url: given }).base, base);
});

const hidden = "hunter2";
const wrong: readonly (readonly [string, Partial<BackupManagerConfig>, string])[] = [
  ["no address", { url: hidden }, "url is not an address"],
  ["another protocol", { url: "ftp://backups.test" }, "url must begin with http:// or https://"],
  ["a path as address", { url: "/instances" }, "url is not an address"],
  [
    "credentials in the address",
    { url: `https://u:${hidden}@backups.test` },
    "url must not contain credentials; give them in credentials",
  ],
  [
    "a query in the address",
    { url: `${url}/?token=${hidden}` },
    "url must not have a query (?) or a fragment (#)",
  ],
  ["a time of nothing", { timeoutMs: 0 }, "timeoutMs must be from 1 to 3600000"],
  ["a time without end", { timeoutMs: Infinity }, "timeoutMs must be from 1 to 3600000"],
  ["a time that is no number", { timeoutMs: Number.NaN }, "timeoutMs must be from 1 to 3600000"],
  [
    "a name with a colon",
    { credentials: { username: `a:${hidden}`, password: new Secret("p") } },
    "credentials.username must not contain a colon",
  ],
  ["no authority", { tls: { ca: hidden } }, "tls.ca contains no certificate in PEM"],
  ["an empty authority", { tls: { ca: "" } }, "tls.ca contains no certificate in PEM"],
  [
    "an authority that cannot be read",
    {
      tls: { ca: `${authority}\n-----BEGIN CERTIFICATE-----\n${btoa(hidden)}\n-----END CERTIFICATE-----\n` },
    },
    "certificate 2 of tls.ca cannot be read",
  ],
];
for (const [what, config, message] of wrong) {
  test(`${what} is refused at once, with the field and without its value`, () => {
    assert.throws(
      () => createBackupManagerClient({ url, ...config }),
      (error) => {
        assert.ok(error instanceof BackupManagerConfigError);
        assert.equal(error.message, message);
        const shown = inspect(error, { showHidden: true, depth: 10 });
        assert.ok(!shown.includes(hidden) && !shown.includes(btoa(hidden)), shown);
        return true;
      },
    );
  });
}

test("a configuration with everything is taken", () => {
  const checked = checkConfig({
    url,
    credentials: { username: "ü", password: new Secret("a:b") },
    timeoutMs: 5_000,
    tls: { ca: `# two\n${authority}\n${authority}`, serverName: "x.test", insecureSkipVerify: true },
  });
  assert.equal(checked.authorization, `Basic ${Buffer.from("ü:a:b").toString("base64")}`);
  assert.equal(checked.timeoutMs, 5_000);
  assert.equal(checkConfig({ url }).timeoutMs, 60_000);
  assert.equal(checkConfig({ url }).authorization, undefined);
});
