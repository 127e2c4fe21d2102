/** The policies that mark new claims, as the commands write, check and remove them; on an API server. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { claimMarks } from "@klutch/api";
import { discoverResource } from "@klutch/kube";
import {
  type DynamicObject,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  textAt,
} from "@klutch/kube-core";
import { asConsumer } from "../testing/bound-pair.ts";
import { startKlutchFixture } from "../testing/fixture.ts";
import { scriptedRun } from "../testing/script.ts";
import { liftClaimMarks, writeClaimMarks } from "./claim-marks.ts";

const fixture = await startKlutchFixture();
after(() => fixture[Symbol.asyncDispose]());
const { consumer, widgets } = fixture;
const { client } = consumer;
const scripted = scriptedRun();
const { context } = scripted;
const isServed = (await discoverResource(client, mutatingAdmissionPolicies)) !== undefined;
const ref = { name: claimMarks.nameOf(widgets.name) };
const left = "things.example.org";

const specs = async (name = ref.name): Promise<readonly unknown[]> =>
  Promise.all(
    [mutatingAdmissionPolicies, mutatingAdmissionPolicyBindings].map(
      async (type) => (await client.find<DynamicObject>(type, { name }))?.spec,
    ),
  );

describe("policies that mark new claims", {
  skip: isServed ? false : "MutatingAdmissionPolicy v1 is not served",
}, () => {
  test("doctor finds one that was changed and one of an API that is not bound, and repairs both", async () => {
    await fixture.makeHealthy();
    await writeClaimMarks(context, asConsumer(client), [widgets.name, left]);
    await client.mergePatch(mutatingAdmissionPolicies, ref, { spec: { failurePolicy: "Fail" } });
    const sick = await fixture.run(["doctor"]);
    assert.equal(sick.code, 1);
    assert.match(
      sick.stdout(),
      new RegExp(`problem +MutatingAdmissionPolicy ${ref.name} or its binding is not as Klutch writes it`),
    );
    assert.match(
      sick.stdout(),
      /problem +MutatingAdmissionPolicy klutch-claim-marks\.things\.example\.org is left over/,
    );
    const fixed = await fixture.run(["doctor", "--fix"]);
    assert.equal(fixed.code, 0, fixed.stdout() + fixed.stderr());
    const [policy, binding] = await specs();
    assert.equal(textAt(policy, "failurePolicy"), "Ignore");
    assert.ok(binding !== undefined);
    assert.deepEqual(await specs(claimMarks.nameOf(left)), [undefined, undefined]);
  });

  test("a policy of somebody else stays, whatever its name", async () => {
    const [policy] = claimMarks.manifestsOf(left);
    assert.ok(policy !== undefined);
    const metadata = { name: claimMarks.nameOf(left), labels: { app: "theirs" } };
    await client.create(mutatingAdmissionPolicies, { ...policy, metadata });
    assert.equal((await fixture.run(["doctor"])).code, 0);
    await liftClaimMarks(context, asConsumer(client));
    assert.ok((await client.find(mutatingAdmissionPolicies, { name: metadata.name })) !== undefined);
    assert.deepEqual(await specs(), [undefined, undefined]);
    assert.match(scripted.stderr(), /Deleted MutatingAdmissionPolicy klutch-claim-marks\.widgets/);
  });

  test("unbind removes the policy before the binding", async () => {
    await writeClaimMarks(context, asConsumer(client), [widgets.name]);
    const run = await fixture.run(["unbind", widgets.name, "--timeout=1s"]);
    const said = run.stderr();
    assert.ok(said.includes(`Deleted MutatingAdmissionPolicy ${ref.name}.`), said);
    assert.ok(said.indexOf("MutatingAdmissionPolicy") < said.indexOf("Deleted APIServiceBinding"), said);
    assert.deepEqual(await specs(), [undefined, undefined]);
  });
});
