/** Tests that the backend's account creates Tenants and their quotas, and nothing beside them. */
import { after, test } from "node:test";
import { namespaces, resourceQuotas } from "@klutch/kube-core";
import { waitFor } from "@klutch/kube-testing";
import { tenants } from "../resources.ts";
import { confineBackend, identity, object, ofMapping, podSecurity } from "./testing/backend-account.ts";
import { refused } from "./testing/refused.ts";

const confined = await confineBackend("backend-tenants");
after(() => confined[Symbol.asyncDispose]());
const { admin, backend, create } = confined;
await create(namespaces, { name: "tenant", annotations: identity, labels: podSecurity });
await create(namespaces, { name: "tenant-team", annotations: ofMapping, labels: podSecurity });
await waitFor("Tenants to be served", async () => (await admin.list(tenants)) !== undefined);

test("the backend creates the Tenant of a cluster namespace and writes its status; limits are for operators", async () => {
  const own = { namespace: "tenant", name: "tenant" };
  const reason = /may only create Tenants tenant without limits in namespaces of tenants/;
  const limited = {
    spec: { limits: { objects: [{ group: "example.org", resource: "databases", max: 9 }] } },
  };
  await refused(create(tenants, own, limited), reason);
  await refused(create(tenants, { namespace: "tenant", name: "other" }, { spec: {} }), reason);
  await refused(create(tenants, { namespace: "foreign", name: "tenant" }, { spec: {} }), reason);
  await create(tenants, own, { spec: { displayName: "shop", owner: "ann@example.org" } });
  await backend.mergePatch(tenants, own, { status: { phase: "Ready" } }, { subresource: "status" });
  await refused(backend.mergePatch(tenants, own, limited), reason);
  await refused(backend.mergePatch(tenants, own, { spec: { owner: "mallory@example.org" } }), reason);
  await refused(backend.delete(tenants, own), reason);
  // Other programs have Tenants elsewhere, and it says there that no app cluster belongs to them.
  const foreign = { namespace: "foreign", name: "theirs" };
  await admin.create(tenants, object(tenants, foreign, { spec: { provider: "cognito" } }));
  await backend.mergePatch(tenants, foreign, { status: { phase: "Pending" } }, { subresource: "status" });
});

test("the backend limits numbers of objects in service namespaces, and ends that; it writes no other quota", async () => {
  const own = { namespace: "tenant-team", name: "klutch-tenant-limits" };
  const hard = { "count/databases.example.org": "3" };
  await create(resourceQuotas, own, { spec: { hard } });
  const next = { spec: { hard: { "count/databases.example.org": "4" } } };
  await backend.mergePatch(resourceQuotas, own, next);
  const numbers = /may limit only the number of objects/;
  await refused(backend.mergePatch(resourceQuotas, own, { spec: { hard: { pods: "0" } } }), numbers);
  await refused(
    create(resourceQuotas, own, { spec: { hard, scopes: ["NotTerminating"] } }),
    /may limit only the number of objects/,
  );
  await backend.delete(resourceQuotas, own);
  const elsewhere = /only in namespaces of tenants|only in service namespaces/;
  for (const namespace of ["tenant", "foreign", "kube-system", "klutch-backend"])
    await refused(create(resourceQuotas, { ...own, namespace }, { spec: { hard } }), elsewhere);
  const only = /may write only objects of Klutch and what belongs to tenants/;
  await refused(create(resourceQuotas, { ...own, name: "other" }, { spec: { hard } }), only);
  await admin.create(
    resourceQuotas,
    object(resourceQuotas, { ...own, namespace: "foreign" }, { spec: { hard } }),
  );
  await refused(backend.delete(resourceQuotas, { ...own, namespace: "foreign" }), elsewhere);
  // The quota of the account in its cluster namespace stays.
  const quota = { namespace: "tenant", name: "klutch-tenant" };
  await create(resourceQuotas, quota, { spec: { hard } });
  await refused(backend.delete(resourceQuotas, quota), only);
});
