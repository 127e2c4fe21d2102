/**
 * The API server of either side is told to end and comes back, while claims are edited: nothing is lost, and nothing is written without need. App
 * cluster B has a claim of the same name: it works meanwhile, and what happens to it is not felt in A.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { leaseCluster, startCluster } from "@klutch/kube-testing";
import { startBoundFixture, startNeighbour } from "../security/bound-fixture.ts";
import { makeLivingClaims, measureStretch } from "./measured.ts";
import { editClaims, namespace } from "./traffic.ts";

const edited = 20;
const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startBoundFixture(startCluster));
await fixture.startKonnector();
const names = (await makeLivingClaims(fixture, { claims: 100, secrets: 20 })).slice(0, edited);
const [name = ""] = names;
const neighbour = stack.use(await startNeighbour(fixture, await leaseCluster(), { namespace, name }));
const traffic = stack.use(editClaims(fixture, { names, serversEnd: true }));

for (const side of ["appCluster", "controlPlane"] as const) {
  test(`an API server that restarts (${side}) loses no edit and causes no write`, async (t) => {
    const cluster = fixture[side];
    const seen = await measureStretch(fixture, traffic, {
      name: `after ${side.toLowerCase()}`,
      edits: edited,
      async happens() {
        await cluster.apiServer.stop();
        if (side === "appCluster") await neighbour.edit();
        await cluster.restart("apiserver");
        await neighbour.edit();
      },
    });
    t.diagnostic(`${seen.edits} edits, ${seen.failed} failed tries, slowest ${seen.slowestMs.toFixed(0)} ms`);
    assert.deepEqual(seen.needless, []);
  });
}

test("A loses nothing while B's konnector is killed, comes back, and B is unbound", async () => {
  const seen = await measureStretch(fixture, traffic, {
    name: "without b",
    edits: edited,
    async happens() {
      const startAgain = await neighbour.killKonnector();
      await startAgain();
      await neighbour.edit();
      await neighbour.unbind();
    },
  });
  assert.deepEqual(seen.needless, []);
});
