/** The API server of either side is told to end and comes back, while claims are edited: nothing is lost, and nothing is written without need. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startCluster } from "@klutch/kube-testing";
import { startBoundFixture } from "../security/bound-fixture.ts";
import { makeLivingClaims, measureStretch } from "./measured.ts";
import { editClaims } from "./traffic.ts";

const edited = 20;
const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const fixture = stack.use(await startBoundFixture(startCluster));
await fixture.startKonnector();
const names = (await makeLivingClaims(fixture, { claims: 100, secrets: 20 })).slice(0, edited);
const traffic = stack.use(editClaims(fixture, { names, serversEnd: true }));

for (const side of ["appCluster", "controlPlane"] as const) {
  test(`an API server that restarts (${side}) loses no edit and causes no write`, async (t) => {
    const cluster = fixture[side];
    const seen = await measureStretch(fixture, traffic, {
      name: `after ${side.toLowerCase()}`,
      edits: edited,
      async happens() {
        await cluster.apiServer.stop();
        await cluster.restart("apiserver");
      },
    });
    t.diagnostic(`${seen.edits} edits, ${seen.failed} failed tries, slowest ${seen.slowestMs.toFixed(0)} ms`);
    assert.deepEqual(seen.needless, []);
  });
}
