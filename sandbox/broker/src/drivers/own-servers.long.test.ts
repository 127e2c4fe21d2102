/** Rules that hold for each kind of server of its own, tried with the quickest one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { onLoopback, openAuthority } from "@klutch/data-servers";
import { resolveDebian } from "@klutch/engines";
import { silentLogger } from "@klutch/telemetry";
import { login, textsOf } from "../testing/applications.ts";
import { bindingOf, instanceOf, openFolder } from "../testing/servers.ts";
import type { Place } from "./driver.ts";
import { keyvalueKind } from "./keyvalue.ts";
import { OwnServers } from "./own-servers.ts";
import { readRecord } from "./record.ts";

await using stack = new AsyncDisposableStack();
const folder = stack.use(await openFolder());
const kind = keyvalueKind(await resolveDebian("redis"));
const naming = { name: "klutch-broker", now: () => new Date(), host: onLoopback.host };
const options = {
  root: folder.path,
  reach: onLoopback,
  secretKey: "0123456789abcdef0123456789abcdef",
  authority: await openAuthority(join(folder.path, "authority"), naming),
  logger: silentLogger,
};
const kept = stack.move();
after(() => kept.disposeAsync());

/** Listens as another program does. */
async function takePort(port: number | undefined): Promise<AsyncDisposable> {
  const server = createServer().listen(port, onLoopback.listen);
  await once(server, "listening");
  return server;
}

/** Returns drivers whose new servers lose their port at one moment before they first listen. */
function robbed(at: "initialise" | "launch", stack: AsyncDisposableStack): OwnServers {
  const taken: number[] = [];
  const rob = async ({ port }: Place): Promise<void> => {
    if (taken.length === 2 || port === undefined || taken.includes(port)) return;
    taken.push(port);
    stack.use(await takePort(port));
  };
  const drivers = new OwnServers({
    ...options,
    kind: {
      ...kind,
      async initialise(place, dump) {
        await kind.initialise(place, dump);
        if (at === "initialise") await rob(place);
      },
      async launch(place, spec) {
        if (at === "launch") await rob(place);
        return kind.launch(place, spec);
      },
    },
  });
  return stack.use(drivers);
}

for (const at of ["initialise", "launch"] as const)
  test(`a new server whose port another program takes before ${at} ends gets another one, which then stays`, async () => {
    await using robbers = new AsyncDisposableStack();
    const keyvalue = robbed(at, robbers);
    const instance = instanceOf(`robbed-${at}`, "keyvalue-single-nano-ssl");
    await keyvalue.ensure(instance);
    const credentials = await keyvalue.bind(bindingOf(instance, `${at}-1`), instance);
    const { port } = (await readRecord(keyvalue.homeOf(instance.id))) ?? {};
    assert.equal(textsOf(credentials)["valkey.port"], String(port));
    using connection = await login(credentials);
    assert.equal(await connection.send("PING"), "PONG");
    await keyvalue.drop(instance);
  });

test("a server that bindings may name keeps its port, and is back when the port is free", async () => {
  await using keyvalue = new OwnServers({ ...options, kind });
  const instance = instanceOf("named", "keyvalue-single-nano-ssl");
  await keyvalue.ensure(instance);
  const credentials = await keyvalue.bind(bindingOf(instance, "named-1"), instance);
  await keyvalue[Symbol.asyncDispose]();
  const { port } = (await readRecord(keyvalue.homeOf("named"))) ?? {};
  const up = async (): Promise<unknown> => {
    await keyvalue.ensure({ ...instance, operation: "update" });
    return keyvalue.credentials(bindingOf(instance, "named-1"));
  };
  {
    await using _program = await takePort(port);
    await keyvalue.resume(instance);
    assert.equal((await readRecord(keyvalue.homeOf("named")))?.port, port);
    const binding = { ...kind, patienceMs: 1_000 };
    await using impatient = new OwnServers({ ...options, kind: binding });
    await assert.rejects(impatient.ensure({ ...instance, operation: "update" }), /does not run: Error: port/);
  }
  assert.deepEqual(await up(), credentials);
});
