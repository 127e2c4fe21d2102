import assert from "node:assert/strict";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { readFlags, requireFlags } from "@klutch/program";
import { keepPort, onLoopback, reachFlags, reachOf } from "./reach.ts";
import type { Reach } from "./reach.ts";

const flags = reachFlags();
const variables = reachFlags({ prefix: "BROKER" });

async function read(...args: readonly string[]): Promise<Reach> {
  return reachOf(flags, requireFlags({ ...flags }, { args, env: {} }));
}

function faults(...args: readonly string[]): readonly string[] {
  return readFlags({ ...flags }, { args, env: {} }).faults;
}

test("data servers are on loopback unless something else is said; who listens on one address is reached there", async () => {
  assert.deepEqual(await read(), { listen: "127.0.0.1", host: "127.0.0.1", ports: undefined });
  const ports = { first: 30_010, last: 30_049 };
  assert.deepEqual(await read("--data-listen=127.0.0.2", "--data-ports=30010-30049"), {
    listen: "127.0.0.2",
    host: "127.0.0.2",
    ports,
  });
  assert.deepEqual(await read("--data-listen=0.0.0.0", "--data-host=2001:DB8:0::7"), {
    listen: "0.0.0.0",
    host: "2001:db8::7",
    ports: undefined,
  });
});

test("an impossible flag is named with its value and the allowed values", async () => {
  const address = "must be an IP address of this machine, such as 127.0.0.1, or 0.0.0.0 for all";
  const host = "must be a name such as db.example.org, or an IP address, without a scheme and a port";
  const range = "must be first-last within 1024 to 65535, such as 30010-30049";
  for (const [flag, value, fault] of [
    ["listen", "localhost", address],
    ["listen", "127.0.0.1:5432", address],
    ["listen", "fe80::1%eth0", address],
    ["host", "https://db.example.org", host],
    ["host", "db.example.org:5432", host],
    ["host", "db_1.example.org", host],
    ["host", "10.0.0", host],
    ["host", "fe80::1%eth0", host],
    ["host", "0:0::0", "is every address; one that applications reach is needed"],
    ["ports", "30010", range],
    ["ports", "30049-30010", range],
    ["ports", "80-90", range],
    ["ports", "30010-70000", range],
  ])
    assert.deepEqual(faults(`--data-${flag}=${value}`), [
      `--data-${flag}: ${JSON.stringify(value)} ${fault}`,
    ]);
  // 192.0.2.0/24 is for documentation only (RFC 5737).
  await assert.rejects(read("--data-listen=192.0.2.7"), {
    message: /^--data-listen: "192\.0\.2\.7" is no address of this machine, which has .*127\.0\.0\.1/,
  });
});

test("listening everywhere needs a host that credentials can name, by the name of flag or variable", async () => {
  const rest = ": credentials need one name or address at which applications reach this machine";
  await assert.rejects(read("--data-listen=::"), {
    message: `--data-host is required, because --data-listen is ::${rest}`,
  });
  const env = { BROKER_DATA_LISTEN: "0.0.0.0" };
  await assert.rejects(reachOf(variables, requireFlags({ ...variables }, { args: [], env })), {
    message: `BROKER_DATA_HOST is required, because BROKER_DATA_LISTEN is 0.0.0.0${rest}`,
  });
});

test("a server keeps its port although the one before it is still ending there", async () => {
  const before = createServer();
  const port = await new Promise<number>((resolve) => {
    before.listen(0, "127.0.0.1", () => resolve((before.address() as AddressInfo).port));
  });
  const kept = keepPort(onLoopback, port, new Set());
  setTimeout(() => before.close(), 300);
  await using reserved = await kept;
  assert.equal(reserved.port, port);
});
