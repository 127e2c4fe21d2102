import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import fc from "fast-check";
import {
  isAppRequired,
  isAsyncRequired,
  isConcurrency,
  isMaintenanceInfoConflict,
  mayHaveLeftOrphan,
  OsbError,
  OsbTransportError,
} from "./errors.ts";
import { createOsbClient } from "./client.ts";
import { broker, json } from "./testing/fake-broker.ts";
import { bindWire, fetchInstanceWire, identityHeaders, provisionWire, updateWire } from "./wire.ts";

const instance = { instanceId: "i", serviceId: "s", planId: "p" };
const provision = { ...instance, organizationGuid: "o", spaceGuid: "sp" };

/** Returns the body as it travels over the wire. */
const bodyOf = ({ body }: { readonly body?: unknown }): unknown => JSON.parse(JSON.stringify(body));

test("the bind resource goes with a binding, and the application also where older brokers look for it", () => {
  const bindResource = { appGuid: "app", route: "r.example", other: { "klutch.io/namespace": "team" } };
  const sent = bindWire({ ...instance, bindingId: "b", bindResource, predecessorBindingId: "a" }, "2.17");
  assert.deepEqual(bodyOf(sent), {
    service_id: "s",
    plan_id: "p",
    app_guid: "app",
    bind_resource: { "klutch.io/namespace": "team", app_guid: "app", route: "r.example" },
    predecessor_binding_id: "a",
  });
});

test("maintenance information and what was before go to brokers that know them", () => {
  const update = {
    ...instance,
    maintenanceVersion: "2.0.0",
    previous: { planId: "o", maintenanceVersion: "1.0.0" },
  };
  assert.deepEqual(bodyOf(updateWire(update, "2.15")), {
    service_id: "s",
    plan_id: "p",
    maintenance_info: { version: "2.0.0" },
    previous_values: { plan_id: "o", maintenance_info: { version: "1.0.0" } },
  });
  assert.deepEqual(bodyOf(updateWire(update, "2.14")), {
    service_id: "s",
    plan_id: "p",
    previous_values: { plan_id: "o" },
  });
  const made = provisionWire({ ...provision, maintenanceVersion: "2.0.0" }, "2.15");
  assert.deepEqual(bodyOf(made), {
    service_id: "s",
    plan_id: "p",
    organization_guid: "o",
    space_guid: "sp",
    maintenance_info: { version: "2.0.0" },
  });
});

test("fetching names the plan to brokers that know it", () => {
  const plan = { serviceId: "s", planId: "p" };
  assert.deepEqual(fetchInstanceWire("i", { plan }, "2.16").query, { service_id: "s", plan_id: "p" });
  assert.deepEqual(fetchInstanceWire("i", { plan }, "2.15").query, {});
});

test("each call has a request identity of its own, and an error tells it", async (t) => {
  const { client, requests } = await broker(t, json(422, { error: "AsyncRequired" }));
  const seen = await Promise.all(
    [client.catalog(), client.catalog(), client.catalog({ requestIdentity: "mine" })].map((call) =>
      call.catch((error: unknown) => (error instanceof OsbError ? error.requestIdentity : undefined)),
    ),
  );
  const sent = requests.map(({ headers }) => headers["x-broker-api-request-identity"]);
  assert.deepEqual(new Set(sent), new Set(seen));
  assert.equal(new Set(sent).size, 3);
  assert.ok(sent.includes("mine"));
});

test("what no header can carry is not sent and leaves nothing", async (t) => {
  const { client, requests } = await broker(t, json(201, {}));
  for (const options of [
    { identity: { platform: "", value: {} } },
    { identity: { platform: "kubernetes x", value: {} } },
    { identity: { platform: "a\r\nauthorization: Basic x", value: {} } },
    { requestIdentity: "" },
    { requestIdentity: "a\nb" },
  ]) {
    await assert.rejects(client.provision(provision, options), (error) => {
      assert.ok(error instanceof OsbTransportError && error.code === "NotSent");
      return !mayHaveLeftOrphan(error);
    });
  }
  assert.equal(requests.length, 0);
});

test("whatever the identity, its header is the platform and the value in Base64", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[!-~]{1,30}$/), fc.jsonValue(), (platform, value) => {
      const headers = identityHeaders({ identity: { platform, value } }, "x", "2.13");
      const [name, base64 = "", ...more] = (headers["x-broker-api-originating-identity"] ?? "").split(" ");
      assert.equal(name, platform);
      assert.deepEqual(more, []);
      assert.equal(Buffer.from(base64, "base64").toString("utf8"), JSON.stringify(value));
    }),
  );
});

const guards = {
  AsyncRequired: isAsyncRequired,
  ConcurrencyError: isConcurrency,
  RequiresApp: isAppRequired,
  MaintenanceInfoConflict: isMaintenanceInfoConflict,
} as const;
test("the errors that the specification defines are known by code and status together", async (t) => {
  for (const [code, guard] of Object.entries(guards)) {
    for (const status of [400, 409, 422, 500]) {
      const { client } = await broker(t, json(status, { error: code, description: "why" }));
      await assert.rejects(client.update(instance), (error) => {
        assert.ok(error instanceof OsbError);
        assert.equal(error.specified, status === 422 ? code : undefined);
        assert.equal(guard(error), status === 422);
        for (const other of Object.values(guards)) assert.ok(other === guard || !other(error));
        return true;
      });
    }
  }
});

test("a failed update tells whether the instance is usable and the update repeatable", async (t) => {
  const { client } = await broker(
    t,
    json(500, { instance_usable: false, update_repeatable: true, error: "E" }),
  );
  await assert.rejects(client.update(instance), { instanceUsable: false, updateRepeatable: true });
  const { client: liar } = await broker(t, json(500, { instance_usable: "no", error: "E" }));
  await assert.rejects(liar.update(instance), { instanceUsable: undefined, updateRepeatable: undefined });
});

test("a request that is sent again in another version is the same one, and each attempt is told to the observer", async (t) => {
  const bodies: string[] = [];
  const { client, requests } = await broker(t, (request, response) => {
    void text(request).then((body) => {
      bodies.push(body);
      json(request.headers["x-broker-api-version"] === "2.17" ? 412 : 201, {})(request, response);
    });
  });
  await client.provision(provision);
  assert.equal(bodies.length, 2);
  assert.equal(bodies[0], bodies[1]);
  const seen: [string, number | undefined][] = [];
  await using observed = createOsbClient(
    { url: `http://${requests[0]?.headers.host}`, timeoutMs: 5_000 },
    (operation, status, tookMs) => {
      assert.ok(tookMs >= 0);
      seen.push([operation, status]);
    },
  );
  await observed.update(instance);
  await assert.rejects(observed.catalog({ signal: AbortSignal.abort(new Error("no")) }), /no/);
  assert.deepEqual(seen.slice(0, 2), [
    ["update", 412],
    ["update", 201],
  ]);
});
