/**
 * Last release → this one → back, with 500 living claims under edits, as processes between two real API servers: first the backend, then the
 * konnector, then both back. A program is replaced as a rollout does it: the new one starts, then the old one is told to end.
 */
import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { ownProgram } from "@klutch/engines";
import { bindCrds } from "@klutch/api";
import { customResourceDefinitions } from "@klutch/kube-core";
import { leaseCluster } from "@klutch/kube-testing";
import {
  type BoundFixture,
  type Neighbour,
  type StartedProgram,
  startBoundFixture,
  startNeighbour,
} from "../security/bound-fixture.ts";
import { buildEarlierRelease, type EarlierRelease, missingHistory } from "./earlier-release.ts";
import { makeLivingClaims, measureStretch } from "./measured.ts";
import { editClaims, namespace, type Traffic } from "./traffic.ts";

/** Number of claims that are edited. */
const edited = 25;
const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());

/** Holds the fixture and traffic, and starts and ends the programs of each stage. */
interface Matrix {
  readonly fixture: BoundFixture;
  /** App cluster B, whose konnector is of this release and stays. */
  readonly neighbour: Neighbour;
  readonly traffic: Traffic;
  readonly start: (part: "backend" | "konnector", release: "earlier" | "this") => StartedProgram;
  /** Ends the running program. */
  readonly end: { backend: () => Promise<void>; konnector: () => Promise<void> };
}

const missing = await missingHistory();

test("an upgrade and the way back write no claim and no credential, and every edit goes through", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  const matrix = await startMatrix(stack.use(await buildEarlierRelease()));
  const { fixture } = matrix;
  await stage(t, matrix, "both earlier", async () => {});
  await stage(t, matrix, "this backend, earlier konnector", async () => {
    const { client } = fixture.controlPlane;
    for (const crd of bindCrds)
      await client.apply(customResourceDefinitions, crd, { fieldManager: "upgrade", force: true });
    await replaceBackend(matrix, "this");
  });
  await stage(t, matrix, "both of this release", () => replaceKonnector(matrix, "this"));
  await stage(t, matrix, "earlier backend, this konnector", () => replaceBackend(matrix, "earlier"));
  await stage(t, matrix, "both earlier again", () => replaceKonnector(matrix, "earlier"));
});

async function startMatrix(earlier: EarlierRelease): Promise<Matrix> {
  let starts = 0;
  const start: Matrix["start"] = (part, release) => ({
    program: release === "earlier" ? earlier[part] : ownProgram(part),
    name: `${part}-${release}-${++starts}`,
  });
  const options = { crds: earlier.crds, backend: start("backend", "earlier") };
  const fixture = stack.use(await startBoundFixture(leaseCluster, options));
  const konnector = await fixture.startKonnector(start("konnector", "earlier"));
  const names = (await makeLivingClaims(fixture, { claims: 500, secrets: 100 })).slice(0, edited);
  const [name = ""] = names;
  const neighbour = stack.use(await startNeighbour(fixture, await leaseCluster(), { namespace, name }));
  const traffic = stack.use(editClaims(fixture, { names }));
  const end = {
    backend: async () => fixture.backend[Symbol.asyncDispose](),
    konnector: () => konnector.stop(),
  };
  return { fixture, neighbour, traffic, start, end };
}

async function replaceBackend({ fixture, start, end }: Matrix, release: "earlier" | "this"): Promise<void> {
  const next = await fixture.startBackend(start("backend", release));
  await end.backend();
  end.backend = async () => next[Symbol.asyncDispose]();
}

async function replaceKonnector({ fixture, start, end }: Matrix, release: "earlier" | "this"): Promise<void> {
  const next = await fixture.startKonnector(start("konnector", release));
  await end.konnector();
  end.konnector = () => next.stop();
}

/** Changes something while claims are edited, and checks the writes. */
async function stage(
  t: TestContext,
  { fixture, neighbour, traffic }: Matrix,
  name: string,
  change: () => Promise<void>,
): Promise<void> {
  const happens = async (): Promise<void> => {
    await change();
    await neighbour.edit();
  };
  const seen = await measureStretch(fixture, traffic, { name, edits: edited, happens });
  t.diagnostic(
    `${name}: ${seen.edits} edits, slowest ${seen.slowestMs.toFixed(0)} ms, longest not ready ${seen.unreadyMs.toFixed(0)} ms; ` +
      `${seen.changed.length} objects changed, ${seen.needless.length} needlessly`,
  );
  assert.deepEqual(seen.needless, [], name);
  assert.equal(seen.changed.length, 2 * edited, "each edited claim and its upstream object");
}
