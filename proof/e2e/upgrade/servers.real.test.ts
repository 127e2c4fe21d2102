/** The API server of either side is told to end and comes back, while claims are edited: nothing is lost, and nothing is written without need. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startOwnBoundWorld } from "../security/bound-world.ts";
import { editClaims, makeLivingClaims } from "./living-claims.ts";
import { measureStretch } from "./measured.ts";

const edited = 20;
const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const world = stack.use(await startOwnBoundWorld("Namespaced"));
await world.startKonnector();
const names = (await makeLivingClaims(world, { claims: 100, secrets: 20 })).slice(0, edited);
const traffic = stack.use(editClaims(world, { names, serversEnd: true }));

for (const side of ["appCluster", "controlPlane"] as const) {
  test(`an API server that restarts (${side}) loses no edit and causes no write`, async (t) => {
    const cluster = world[side];
    const seen = await measureStretch(world, traffic, {
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
