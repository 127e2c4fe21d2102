/** More bombs of a provider: the limits of bombs.real.test.ts met in other ways, and schemas that are heavy or cost much. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionsOf } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { assertWithinLimits, startBombedFixture } from "../testing/bombed.ts";
import { noBomb, otherBombs } from "../testing/bombs.ts";
import { bindApi, testApi } from "../testing/fixture.ts";
import { dropExportRules } from "../testing/hostile-provider.ts";
import { exportCrd, grantUsualClaims, installCrd } from "../testing/provider-side.ts";

const fixture = await startBombedFixture();
const { agent, hostile, widgets, provider, kubeconfig, binding, createSynced, testBombs } = fixture;

testBombs(otherBombs);

const numbered = <T>(count: number, value: (index: number) => T): Readonly<Record<string, T>> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, value(index)]));
const nested = (levels: number): object =>
  Array.from({ length: levels }).reduce<object>((inside) => ({ type: "object", properties: { inside } }), {
    type: "string",
  });
const objectOf = (properties: object): object => ({ type: "object", properties });
const short = { type: "string", maxLength: 10 };
const rulesOf = (rule: string): object => ({ "x-kubernetes-validations": [{ rule }] });
const everyThree = "self.all(a, self.all(b, self.all(c, a + b + c != 'x')))";
const served = /^True/;
const leftOut = /^False APIServiceExportNotFound/;
const refused = /^False CustomResourceDefinitionCreateFailed/;
/** Schemas of `spec`, with what becomes of their API in the app cluster. */
const schemas: Readonly<Record<string, readonly [object, RegExp]>> = {
  "20,000 properties": [objectOf(numbered(20_000, () => short)), served],
  "900 levels": [nested(900), leftOut],
  "55 levels": [nested(55), served],
  "rules without bounds": [
    { type: "array", items: { type: "string" }, ...rulesOf(everyThree) },
    /^False CustomResourceDefinitionCreateFailed .*estimated rule cost/,
  ],
  "3,000 rules": [
    objectOf(numbered(3_000, (index) => ({ ...short, ...rulesOf(`self != 'v${index}'`) }))),
    served,
  ],
  "an enum of 60,000 values": [
    objectOf({ one: { type: "string", enum: Array.from({ length: 60_000 }, (_, index) => `v${index}`) } }),
    served,
  ],
  "3,000 slow patterns": [
    objectOf(numbered(3_000, (index) => ({ ...short, pattern: `^((a+)+(b+)+){1,${1 + (index % 29)}}$` }))),
    served,
  ],
  "a pattern that no server compiles": [objectOf({ one: { ...short, pattern: "(a{999}){999}" } }), refused],
  "a default of 900 kB": [objectOf({ bulk: { type: "string", default: "x".repeat(900_000) } }), served],
};

test("at a first bind a provider's schemas neither fill the memory nor hold up its other APIs", async (t) => {
  hostile.arm(noBomb);
  await dropExportRules(provider);
  await grantUsualClaims(provider);
  const apis = Object.entries(schemas).map(([what, [spec, outcome]], index) => {
    const { crd, name, type } = testApi(`bombs${index}`, `Bomb${index}`);
    const { versions } = crd.spec as { readonly versions: readonly object[] };
    const schema = { openAPIV3Schema: objectOf({ spec, status: { type: "object" } }) };
    const heavy = { ...(crd.spec as object), versions: versions.map((version) => ({ ...version, schema })) };
    return { what, name, type, outcome, crd, exported: { ...crd, spec: heavy } };
  });
  for (const { crd, exported } of apis) {
    await installCrd(provider, crd);
    await exportCrd(provider, exported);
  }
  await agent.peak();
  let round = 0;
  const settle = async (): Promise<void> => {
    for (const { name } of apis) await bindApi(fixture, name, kubeconfig);
    for (const { what, name, type, outcome } of apis) {
      const said = await waitFor(what, async () => {
        await createSynced(widgets.type, `first-${++round}`);
        const [connected] = conditionsOf(await binding(name)).filter((one) => one.type === "Connected");
        const { status, reason = "", message = "" } = connected ?? { status: "Unknown", reason: "Pending" };
        return reason === "Pending" ? undefined : `${status} ${reason} ${message}`;
      });
      t.diagnostic(`${what}: ${said.slice(0, 200)}`);
      assert.match(said, outcome);
      if (outcome === served) await createSynced(type, "one");
    }
  };
  const settled = settle();
  const stall = await agent.longestStall(settled);
  await settled;
  const memory = await agent.peak();
  t.diagnostic(`${memory.toFixed(0)} MiB, stall ${stall.toFixed(0)} ms`);
  assertWithinLimits(agent, memory, stall);
  const synced = conditionsOf(await binding(widgets.name)).find(({ type }) => type === "InformersSynced");
  assert.match(
    synced?.message ?? "",
    /bombs1\.test\.klutch\.example of apiserviceexports.* takes more than 8 MiB .* or is nested in more than 200 levels/,
  );
});
