import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { bytesAttribute, lastSessionAttribute, measuredOf, type ServiceInstance } from "@klutch/api";
import { wholeSeconds } from "@klutch/kube-core";
import { provisionAnewAnnotation } from "../operations/loss.ts";
import { clusterScoped } from "../scope.ts";
import { startUsageProvider, usedInstance } from "../testing/usage-provider.ts";

const startMs = Date.UTC(2026, 9, 1);
const [hourMs, dayMs] = [3_600_000, 86_400_000];

/** One instance that its broker has. */
async function provisioned(t: TestContext) {
  const provider = await startUsageProvider(t, { startMs });
  const { user, clock, broker } = provider;
  await user.create(clusterScoped.instances, usedInstance("orders", "team", "tiny"));
  await clock.advance(hourMs);
  const read = (): Promise<ServiceInstance> =>
    user.get<ServiceInstance>(clusterScoped.instances, { name: "orders" });
  const [id = ""] = broker.instances();
  const tell = (bytes: unknown, lastSession: unknown, more: object = {}): void =>
    void broker.told.set(id, {
      attributes: { [bytesAttribute]: bytes, [lastSessionAttribute]: lastSession },
      ...more,
    });
  return { ...provider, id, read, tell };
}

const measuredIn = ({ status }: ServiceInstance): unknown => status?.atProvider?.measured;

test("a broker that tells nothing leaves the size and the last session unknown", async (t) => {
  const { clock, broker, id, read } = await provisioned(t);
  assert.equal(measuredIn(await read()), undefined);
  broker.told.set(id, { attributes: {} });
  await clock.advance(3 * hourMs);
  assert.equal(measuredIn(await read()), undefined);
});

test("size and last session that a broker tells are in the status within the hour", async (t) => {
  const { clock, read, tell } = await provisioned(t);
  const lastSession = wholeSeconds(clock.now());
  tell("7340032", lastSession);
  await clock.advance(hourMs);
  const { bytes, lastSession: session } = measuredOf(await read(), clock.now()) ?? {};
  assert.deepEqual({ bytes, session }, { bytes: 7_340_032, session: lastSession });
});

test("the status of a database that hardly changes is written about once a day", async (t) => {
  const { clock, read, tell } = await provisioned(t);
  const lastSession = wholeSeconds(clock.now());
  tell(1_000_000, lastSession);
  const versions = new Set<string | undefined>();
  for (let quarter = 0; quarter < 4 * 4; quarter++) {
    tell(1_000_000 + quarter, lastSession);
    await clock.advance(dayMs / 4);
    versions.add((await read()).metadata.resourceVersion);
  }
  assert.ok(versions.size >= 2 && versions.size <= 5, `${versions.size} versions`);
});

test("a broker that lies is not believed, and the instance stays ready", async (t) => {
  const { clock, log, read, tell } = await provisioned(t);
  const lies: readonly (readonly [unknown, unknown, object?])[] = [
    [1e300, "3000-01-01T00:00:00Z"],
    [-1, "2026-10-01T00:00:00Z<script>"],
    ["<img src=x>", { $gt: "" }],
    [null, [], { attributes: "all of them" }],
    [[7], 7, { attributes: [{ [bytesAttribute]: 7 }] }],
  ];
  for (const [bytes, lastSession, more] of lies) {
    tell(bytes, lastSession, more);
    await clock.advance(3 * hourMs);
    const found = await read();
    assert.equal(measuredIn(found), undefined, JSON.stringify([bytes, lastSession]));
    assert.equal(found.status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");
  }
  assert.deepEqual(log, []);
});

test("an answer that names another instance changes neither the id nor the size of the other one", async (t) => {
  const { clock, id, user, read, tell } = await provisioned(t);
  await user.create(clusterScoped.instances, usedInstance("other", "team", "tiny"));
  await clock.advance(hourMs);
  const ofOther = (): Promise<ServiceInstance> => user.get(clusterScoped.instances, { name: "other" });
  const otherId = (await ofOther()).status?.atProvider?.instanceId;
  tell(5, undefined, { instanceId: otherId, instance_id: otherId, id: otherId });
  await clock.advance(3 * hourMs);
  const { instanceId, measured } = (await read()).status?.atProvider ?? {};
  assert.deepEqual([instanceId, measured?.bytes], [id, 5]);
  assert.equal(measuredIn(await ofOther()), undefined);
});

test("an instance that was made again begins without the size of the one before", async (t) => {
  const { clock, broker, id, user, read, tell } = await provisioned(t);
  tell(5, undefined);
  await clock.advance(3 * hourMs);
  broker.lose(id);
  await clock.advance(3 * hourMs);
  const lost = await read();
  assert.equal(measuredOf(lost, clock.now()), undefined);
  const permission = { metadata: { annotations: { [provisionAnewAnnotation]: id } } };
  await user.mergePatch(clusterScoped.instances, { name: "orders" }, permission);
  await clock.advance(3 * hourMs);
  const { instanceId, measured } = (await read()).status?.atProvider ?? {};
  assert.notEqual(instanceId, id);
  assert.equal(measured, undefined);
});
