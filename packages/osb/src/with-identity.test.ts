import assert from "node:assert/strict";
import { test } from "node:test";
import { broker, json } from "./testing/fake-broker.ts";
import { withIdentity } from "./with-identity.ts";

const plan = { serviceId: "s", planId: "p" };
const instance = { ...plan, instanceId: "i" };
const binding = { ...instance, bindingId: "b" };
const answer = { services: [], credentials: {}, state: "succeeded" };
const header = (value: unknown): string =>
  `kubernetes ${Buffer.from(JSON.stringify(value)).toString("base64")}`;

test("every call names the user, and a call with an identity of its own keeps it", async (t) => {
  const { client, requests } = await broker(t, json(200, answer));
  const named = withIdentity(client, { platform: "kubernetes", value: { username: "jane" } });
  await named.catalog();
  await named.provision({ ...instance, organizationGuid: "o", spaceGuid: "s" });
  await named.update(instance);
  await named.deprovision(instance);
  await named.fetchInstance("i", { plan });
  await named.bind(binding);
  await named.unbind(binding);
  await named.fetchBinding("i", "b");
  await named.lastOperation({ instanceId: "i" });
  await named.checkHealth("/healthz");
  assert.equal(requests.length, 10);
  for (const { headers, url } of requests)
    assert.equal(headers["x-broker-api-originating-identity"], header({ username: "jane" }), url ?? "");
  assert.match(requests[4]?.url ?? "", /\?service_id=s&plan_id=p$/);
  await named.catalog({ identity: { platform: "kubernetes", value: { username: "joe" } } });
  assert.equal(requests[10]?.headers["x-broker-api-originating-identity"], header({ username: "joe" }));
});
