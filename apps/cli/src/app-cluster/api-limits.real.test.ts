/** The policies that tell the provider's limit, as the commands write, check and remove them; on an API server. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { apiLimit, apiServiceBindings, consumerNamespace } from "@klutch/api";
import {
  type DynamicObject,
  textAt,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from "@klutch/kube-core";
import { asConsumer } from "../testing/bound-pair.ts";
import { startKlutchFixture } from "../testing/fixture.ts";
import { scriptedRun } from "../testing/script.ts";
import { apiLimitsState, liftApiLimits, writeApiLimits } from "./api-limits.ts";

const fixture = await startKlutchFixture();
after(() => fixture[Symbol.asyncDispose]());
const { consumer, widgets } = fixture;
const { client } = consumer;
const scripted = scriptedRun();
const { context } = scripted;
const ref = { name: apiLimit.nameOf(widgets.name) };
const left = "things.example.org";

const specs = async (name = ref.name): Promise<readonly unknown[]> =>
  Promise.all(
    [validatingAdmissionPolicies, validatingAdmissionPolicyBindings].map(
      async (type) => (await client.find<DynamicObject>(type, { name }))?.spec,
    ),
  );
const limit = (value: object | null): Promise<unknown> =>
  client.mergePatch(
    apiServiceBindings,
    { namespace: consumerNamespace, name: widgets.name },
    { status: { limit: value } },
    { subresource: "status" },
  );

test("doctor misses the policy of an API only if the provider limits it, and writes it", async () => {
  await fixture.makeHealthy();
  await liftApiLimits(context, asConsumer(client));
  assert.equal((await fixture.run(["doctor"])).code, 0, "earlier releases wrote none");
  await limit({ max: 3, used: 0 });
  const sick = await fixture.run(["doctor"]);
  assert.equal(sick.code, 1);
  assert.match(
    sick.stdout(),
    new RegExp(`problem +ValidatingAdmissionPolicy ${ref.name} or its binding is missing`),
  );
  const fixed = await fixture.run(["doctor", "--fix"]);
  assert.equal(fixed.code, 0, fixed.stdout() + fixed.stderr());
  for (const [index, manifest] of apiLimit.manifestsOf(widgets.name).entries())
    assert.equal(
      textAt((await specs())[index], index === 0 ? "failurePolicy" : "policyName"),
      textAt(manifest["spec"], index === 0 ? "failurePolicy" : "policyName"),
    );
});

test("doctor finds one that was changed and one of an API that is not bound, and repairs both", async () => {
  await writeApiLimits(context, asConsumer(client), [left]);
  await client.mergePatch(validatingAdmissionPolicies, ref, { spec: { failurePolicy: "Fail" } });
  const sick = await fixture.run(["doctor"]);
  assert.equal(sick.code, 1);
  assert.match(
    sick.stdout(),
    new RegExp(`problem +ValidatingAdmissionPolicy ${ref.name} or its binding is missing or not as`),
  );
  assert.match(
    sick.stdout(),
    /problem +ValidatingAdmissionPolicy klutch-limit\.things\.example\.org is left over/,
  );
  const fixed = await fixture.run(["doctor", "--fix"]);
  assert.equal(fixed.code, 0, fixed.stdout() + fixed.stderr());
  assert.equal(textAt((await specs())[0], "failurePolicy"), "Ignore");
  assert.deepEqual(await specs(apiLimit.nameOf(left)), [undefined, undefined]);
});

test("a policy of somebody else stays, whatever its name", async () => {
  const [policy] = apiLimit.manifestsOf(left);
  assert.ok(policy !== undefined);
  const metadata = { name: apiLimit.nameOf(left), labels: { app: "theirs" } };
  await client.create(validatingAdmissionPolicies, { ...policy, metadata });
  assert.equal((await fixture.run(["doctor"])).code, 0);
  assert.deepEqual((await apiLimitsState(asConsumer(client), context.signal)).left, []);
  await liftApiLimits(context, asConsumer(client));
  assert.ok((await client.find(validatingAdmissionPolicies, { name: metadata.name })) !== undefined);
  assert.deepEqual(await specs(), [undefined, undefined]);
  assert.match(scripted.stderr(), /Deleted ValidatingAdmissionPolicy klutch-limit\.widgets/);
});

test("unbind removes the policy with the binding", async () => {
  await writeApiLimits(context, asConsumer(client), [widgets.name]);
  const run = await fixture.run(["unbind", widgets.name, "--timeout=1s"]);
  const said = run.stderr();
  assert.ok(said.includes(`Deleted ValidatingAdmissionPolicy ${ref.name}.`), said);
  assert.deepEqual(await specs(), [undefined, undefined]);
});
