/**
 * AWS' S3 controller, an operator that nothing of ours knows, offered as docs/cloud-providers.md says: its blocks are applied word for word. moto answers for
 * AWS. Both clusters, the backend with its policies, the plugin and the konnector are real.
 */
import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import {
  apiServiceExportRequests,
  apiServiceExportTemplates,
  apiServiceNamespaces,
  readyConditionAnnotation,
  serviceNamespaceName,
} from "@klutch/api";
import { startMoto } from "@klutch/engines";
import {
  conditionsOf,
  type DynamicObject,
  events,
  findCondition,
  type ObjectRef,
  textAt,
} from "@klutch/kube-core";
import { buckets, objectOfType, startS3Controller, TcpProxy, waitFor } from "@klutch/kube-testing";
import { startOfferedOperator } from "./offered-operator.ts";
import { tenants } from "./security/bound-fixture.ts";

const cleanup = new AsyncDisposableStack();
after(() => cleanup.disposeAsync());
const offered = cleanup.use(await startOfferedOperator("cloud-providers.md"));
const { fixture, inAppCluster, inControlPlane, withAbove, blockOf, apply } = offered;
const { appCluster, controlPlane } = fixture;
const aws = cleanup.use(await startMoto(controlPlane.dataDir));
const wire = cleanup.use(await TcpProxy.start(aws.url));
const { client, kubeconfig, dataDir: folder } = controlPlane;
cleanup.use(await startS3Controller({ client, kubeconfig, folder, endpoint: wire.url }));
await fixture.startKonnector();

const invoices: ObjectRef = { namespace: "default", name: "invoices" };
const aboveNamespace = serviceNamespaceName(tenants.a, "default");
const template: ObjectRef = { namespace: "ack-system", name: "buckets" };

/** AWS gives every bucket an encryption and moto none, without which the controller fails. */
const encryption = { rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm: "AES256" } }] };
const bucket = (name: string, more: object, metadata: object = {}): DynamicObject => {
  const spec = { encryption, ...more };
  const object = objectOfType(buckets, { namespace: "default", name }, { spec });
  return { ...object, metadata: { ...object.metadata, ...metadata } };
};
const explained = (t: TestContext, name: string, ...more: readonly string[]): Promise<string> =>
  offered.explained(t, `bucket/${name}`, ...more);
const readyOf = (name: string): ReturnType<typeof offered.readyOf> => offered.readyOf(buckets, name);

/** Asks the emulator for one bucket's part, as XML; undefined if there is no such bucket. */
async function inAws(name: string, part = ""): Promise<string | undefined> {
  const answer = await fetch(`${aws.url}/${name}${part}`);
  const text = await answer.text();
  return answer.status === 404 && text.includes("NoSuchBucket") ? undefined : text;
}

/** Waits until `Ready` of a Bucket has this status and its message matches. */
function untilReady(name: string, status: string, message: RegExp): Promise<unknown> {
  return waitFor(`${name} to be ${status}`, async () => {
    const ready = await readyOf(name);
    return ready?.status === status && message.test(ready.message ?? "") ? ready : undefined;
  });
}

test("the page's manifests offer the kind, and an app cluster binds it", async () => {
  await apply(inControlPlane, "offer", blockOf("The offer"));
  await apply(inControlPlane, "limits", blockOf("The limits"));
  await offered.bind(buckets, template);
});

test("a template whose condition for Ready is none says so, and the offer waits", async () => {
  const saying = (type: string): object => ({
    metadata: { annotations: { [readyConditionAnnotation]: type } },
  });
  const conditions = async (): Promise<ReturnType<typeof conditionsOf>> =>
    conditionsOf(await client.get<DynamicObject>(apiServiceExportTemplates, template));
  await client.mergePatch(apiServiceExportTemplates, template, saying("not a type"));
  await waitFor("the backend's word", async () =>
    (await conditions()).some(
      ({ status, message = "" }) => status === "False" && /must be the type of the condition/.test(message),
    ),
  );
  await client.mergePatch(apiServiceExportTemplates, template, saying("ACK.ResourceSynced"));
  await waitFor("the offer", async () => findCondition(await conditions(), "Offered")?.status === "True");
});

test("a Bucket becomes Ready by its operator's own condition, and the bucket exists", async (t) => {
  await apply(inAppCluster, "bucket", blockOf("In the app cluster"));
  await inAppCluster("wait", "--for=condition=Ready", "bucket/invoices", "--timeout=120s");
  assert.match((await inAws("example-apps-invoices", "?tagging")) ?? "", /<Key>team<\/Key>\s*<Value>shop</);
  const { status } = await appCluster.client.get<DynamicObject>(buckets, invoices);
  assert.equal(textAt(status, "ackResourceMetadata", "arn"), "arn:aws:s3:::example-apps-invoices");
  assert.match(await explained(t, "invoices"), /^0 [^]*: well\n/);
  assert.match(await explained(t, "invoices", ...withAbove), /^0 [^]*: well\n/);
});

test("changed tags and versioning arrive, and nothing is written when nothing changes", async () => {
  const spec = {
    tagging: { tagSet: [{ key: "team", value: "billing" }] },
    versioning: { status: "Enabled" },
  };
  await appCluster.client.mergePatch(buckets, invoices, { spec });
  await waitFor("the tags", async () =>
    /<Value>billing</.test((await inAws("example-apps-invoices", "?tagging")) ?? ""),
  );
  await waitFor("the versioning", async () =>
    /<Status>Enabled</.test((await inAws("example-apps-invoices", "?versioning")) ?? ""),
  );
  await untilReady("invoices", "True", /synced/);
  const above = { namespace: aboveNamespace, name: "invoices" };
  const before = await client.get<DynamicObject>(buckets, above);
  // Another Bucket takes a whole round of both controllers.
  await appCluster.client.create(buckets, bucket("later", { name: "example-apps-later" }));
  await untilReady("later", "True", /synced/);
  const { metadata } = await client.get<DynamicObject>(buckets, above);
  assert.equal(metadata.generation, before.metadata.generation);
});

test("what the page's policy forbids is refused with its sentence, at the Bucket", async (t) => {
  for (const [name, spec, metadata, words] of [
    ["wrong", { name: "Invoices" }, {}, "spec.name must be example-apps- and at most 50"],
    ["public", { name: "example-apps-p", acl: "public-read" }, {}, "spec may have name, encryption"],
    [
      "keyed",
      {
        name: "example-apps-k",
        encryption: {
          rules: [
            { applyServerSideEncryptionByDefault: { sseAlgorithm: "aws:kms", kmsMasterKeyID: "other" } },
          ],
        },
      },
      {},
      "spec.encryption must not name a key",
    ],
    [
      "adopting",
      { name: "example-apps-invoices" },
      { annotations: { "services.k8s.aws/adoption-policy": "adopt-or-create" } },
      "annotations must not begin with services.k8s.aws/",
    ],
  ] as const) {
    await appCluster.client.create(buckets, bucket(name, spec, metadata));
    await waitFor(`the refusal of ${name}`, async () => {
      const { items } = await appCluster.client.list<DynamicObject>(events, { namespace: "default" });
      const refused = items.filter((event) => textAt(event, "reason") === "SyncRefused");
      return refused.some((event) => textAt(event, "message")?.includes(words));
    });
    const text = await explained(t, name);
    assert.match(text, /^2 [^]*\nwho +the developer can fix it\nnext +kubectl edit buckets/);
    assert.ok(text.includes(words), text);
    assert.equal(await client.find(buckets, { namespace: aboveNamespace, name }), undefined);
    await appCluster.client.delete(buckets, { namespace: "default", name });
  }
});

test("a name that is taken is the developer's to change, and the other's bucket stays", async (t) => {
  await appCluster.client.create(buckets, bucket("second", { name: "example-apps-invoices" }));
  await untilReady("second", "False", /ACK\.Terminal: .*already exists/);
  const text = await explained(t, "second");
  assert.match(text, /^2 [^]*\nfailed +its operator [^]*\nwho +the developer can fix it\n/);
  await inAppCluster("delete", "bucket", "second", "--timeout=60s");
  assert.match((await inAws("example-apps-invoices", "?tagging")) ?? "", /<Value>billing</);
});

test("while AWS does not answer a Bucket waits and says so, and then it goes on", async (t) => {
  wire.refuse(true);
  wire.cut();
  await appCluster.client.create(buckets, bucket("patient", { name: "example-apps-patient" }));
  await untilReady("patient", "Unknown", /ACK\.Recoverable: .*S3/);
  const text = await explained(t, "patient");
  assert.match(text, /^2 [^]*: waiting\n[^]*\nwaiting +its operator [^]*ACK\.Recoverable/);
  assert.doesNotMatch(text, /Crossplane|composite|broker/);
  const seen = await explained(t, "patient", ...withAbove);
  assert.match(
    seen,
    new RegExp(`kubectl describe bucket.s3.services.k8s.aws patient -n ${aboveNamespace}\n`),
  );
  wire.refuse(false);
  await untilReady("patient", "True", /synced/);
});

test("an agent that lies can neither mark another's bucket as its own, nor change or delete it", async () => {
  const b = await fixture.clientOf(tenants.b);
  const spec = { resources: [{ group: buckets.group, resource: buckets.plural }] };
  const request = { namespace: tenants.b, name: "buckets.s3.services.k8s.aws" };
  await b.create(apiServiceExportRequests, objectOfType(apiServiceExportRequests, request, { spec }));
  const mapping = { namespace: tenants.b, name: "default" };
  await waitFor("its right on namespaces", () =>
    b.create(apiServiceNamespaces, objectOfType(apiServiceNamespaces, mapping, {})),
  );
  const namespace = await waitFor("its service namespace", async () =>
    textAt((await b.get<DynamicObject>(apiServiceNamespaces, mapping)).status, "namespace"),
  );
  const taking = { name: "example-apps-invoices" };
  await waitFor("its right on the kind", () => b.create(buckets, bucket("own", taking, { namespace })));
  const own = { namespace, name: "own" };
  await waitFor("the operator's refusal", async () =>
    conditionsOf(await b.get<DynamicObject>(buckets, own)).some(
      ({ type, status }) => type === "ACK.Terminal" && status === "True",
    ),
  );
  const finalizers = ["finalizers.s3.services.k8s.aws/Bucket"];
  for (const [name, marks] of [
    ["held", { finalizers }],
    ["adopting", { annotations: { "services.k8s.aws/adoption-policy": "adopt" } }],
    ["adopted", { annotations: { "services.k8s.aws/adopted": "true" } }],
  ] as const)
    await assert.rejects(
      b.create(buckets, bucket(name, taking, { ...marks, namespace })),
      /finalizer of the controller is its own|annotations must not begin/,
    );
  await assert.rejects(b.mergePatch(buckets, own, { metadata: { finalizers } }), /is its own/);
  await b.delete(buckets, own);
  await waitFor("it to be gone", async () => (await b.find(buckets, own)) === undefined);
  assert.match((await inAws("example-apps-invoices", "?tagging")) ?? "", /<Value>billing</);
});

test("a bucket with objects is not deleted and says why; once it is empty, nothing is left", async (t) => {
  const object = `${aws.url}/example-apps-later/report.txt`;
  // The emulator wants to see a signature, and checks none.
  const scope = "of-the-emulator/20261129/us-east-1/s3/aws4_request";
  const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`;
  assert.equal((await fetch(object, { method: "PUT", body: "1", headers: { authorization } })).status, 200);
  await inAppCluster("delete", "bucket", "later", "--wait=false");
  await waitFor("the operator's word", async () => {
    const found = await appCluster.client.get<DynamicObject>(buckets, {
      namespace: "default",
      name: "later",
    });
    return /BucketNotEmpty/.test(findCondition(conditionsOf(found), "ACK.Recoverable")?.message ?? "");
  });
  const text = await explained(t, "later");
  assert.match(
    text,
    /^2 [^]*\nwaiting +its operator [^]*the control plane is deleting it; [^]*BucketNotEmpty/,
  );
  assert.equal((await fetch(object, { method: "DELETE", headers: { authorization } })).status, 204);
  for (const name of ["later", "invoices", "patient"])
    await inAppCluster("delete", "bucket", name, "--ignore-not-found", "--timeout=120s");
  for (const name of ["later", "invoices", "patient"])
    assert.equal(await inAws(`example-apps-${name}`), undefined, name);
  assert.deepEqual((await client.list(buckets)).items, []);
});
