/**
 * cert-manager, an operator that nothing of ours knows, offered as docs/operators.md says: its blocks are applied word for word. Both clusters, the
 * backend with its policies, the plugin and the konnector are real.
 */
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { after, test, type TestContext } from "node:test";
import {
  apiServiceExportRequests,
  apiServiceExportTemplates,
  apiServiceNamespaces,
  serviceNamespaceName,
} from "@klutch/api";
import { isForbidden } from "@klutch/kube";
import {
  conditionsOf,
  type DynamicObject,
  events,
  findCondition,
  isTrue,
  namespaces,
  type ObjectRef,
  type Secret,
  secrets,
  secretText,
  textAt,
} from "@klutch/kube-core";
import {
  certificateRequests,
  certificates,
  namespaceObject,
  objectOfType,
  secretObject,
  startCertManager,
  waitFor,
} from "@klutch/kube-testing";
import { startOfferedOperator } from "./offered-operator.ts";
import { tenants } from "./security/bound-fixture.ts";

const cleanup = new AsyncDisposableStack();
after(() => cleanup.disposeAsync());
const offered = cleanup.use(await startOfferedOperator("operators.md"));
const { fixture, inAppCluster, inControlPlane, withAbove, blockOf, apply } = offered;
const { appCluster, controlPlane } = fixture;
await controlPlane.client.create(namespaces, namespaceObject("cert-manager"));
const operator = { client: controlPlane.client, kubeconfig: controlPlane.kubeconfig };
cleanup.use(await startCertManager({ ...operator, folder: controlPlane.dataDir, namespace: "cert-manager" }));
await fixture.startKonnector();

const shop: ObjectRef = { namespace: "default", name: "shop" };
const above: ObjectRef = { namespace: serviceNamespaceName(tenants.a, "default"), name: "shop" };
const secretRef: ObjectRef = { namespace: "default", name: "shop-tls" };

const here = (): Promise<DynamicObject> => appCluster.client.get<DynamicObject>(certificates, shop);

/** Returns the certificate in a Secret of the app cluster, whose key and authority are checked. */
async function certificateIn(ref: ObjectRef = secretRef): Promise<X509Certificate | undefined> {
  const secret = await appCluster.client.find<DynamicObject>(secrets, ref);
  if (secret === undefined) return undefined;
  const [key = "", text = "", authority = ""] = ["tls.key", "tls.crt", "ca.crt"].map((name) =>
    secretText(secret, name),
  );
  const certificate = new X509Certificate(text);
  assert.ok(certificate.checkPrivateKey(createPrivateKey(key)));
  assert.ok(certificate.verify(new X509Certificate(authority).publicKey));
  return certificate;
}

/** A Certificate of the app cluster with other fields than the page's. */
function certificate(name: string, spec: object): DynamicObject {
  const issuerRef = { kind: "ClusterIssuer", name: "app-clusters" };
  const usual = { secretName: `${name}-tls`, dnsNames: [`${name}.apps.example.org`], issuerRef };
  return objectOfType(certificates, { namespace: "default", name }, { spec: { ...usual, ...spec } });
}

const explained = (t: TestContext, name: string, ...more: readonly string[]): Promise<string> =>
  offered.explained(t, `certificate/${name}`, ...more);

const readyOf = (name: string): ReturnType<typeof offered.readyOf> => offered.readyOf(certificates, name);

test("the page's manifests offer the kind, and an app cluster binds it", async () => {
  await apply(inControlPlane, "offer", blockOf("The offer"));
  await apply(inControlPlane, "limits", blockOf("The limits"));
  await offered.bind(certificates, { namespace: "cert-manager", name: "certificates" });
});

test("without its issuer a Certificate waits, and explain has the operator's own words", async (t) => {
  await apply(inAppCluster, "certificate", blockOf("In the app cluster"));
  const ready = await waitFor("the operator's word", async () => {
    const found = await readyOf("shop");
    return found?.reason === "DoesNotExist" ? found : undefined;
  });
  assert.equal(ready.status, "False");
  const text = await explained(t, "shop");
  assert.match(text, /^2 Certificate default\/shop \(certificates\.cert-manager\.io\): waiting\n/);
  assert.match(text, /Ready: DoesNotExist: Issuing certificate as Secret does not exist/);
  assert.doesNotMatch(text, /Crossplane|composite|broker/);
  const seen = await explained(t, "shop", ...withAbove);
  assert.match(seen, new RegExp(`kubectl describe certificate.cert-manager.io shop -n ${above.namespace}\n`));
  assert.doesNotMatch(seen, /Crossplane|composite|broker/);
});

test("with its issuer it becomes ready, and the Secret comes under the name that the spec says", async (t) => {
  await apply(inControlPlane, "authority", blockOf("The authority"));
  await waitFor("the Certificate to be ready", async () => (await readyOf("shop"))?.status === "True", {
    timeoutMs: 180_000,
  });
  const found = await waitFor("the Secret", () => certificateIn());
  assert.equal(found.checkHost("shop.apps.example.org"), "shop.apps.example.org");
  assert.equal((await appCluster.client.get<Secret>(secrets, secretRef)).type, "kubernetes.io/tls");
  const { status } = await here();
  assert.equal(Date.parse(textAt(status, "notAfter") ?? ""), Date.parse(found.validTo));
  const table = await inAppCluster("get", "certificate", "shop");
  assert.match(table, /^NAME +READY +SECRET +AGE\nshop +True +shop-tls +/);
  assert.match(await explained(t, "shop"), /^0 [^]*: well\n/);
  assert.match(await explained(t, "shop", ...withAbove), /^0 [^]*: well\n/);
});

test("another name gives another certificate in the same Secret; until then the claim is not ready", async () => {
  const [before, serial] = [await here(), (await certificateIn())?.serialNumber];
  const spec = { dnsNames: ["shop.apps.example.org", "www.apps.example.org"] };
  const { metadata } = await appCluster.client.mergePatch<DynamicObject>(certificates, shop, { spec });
  assert.ok((metadata.generation ?? 0) > (before.metadata.generation ?? 0));
  const renewed = await waitFor("the other certificate", async () => {
    const found = await certificateIn();
    return found?.checkHost("www.apps.example.org") === undefined ? undefined : found;
  });
  assert.notEqual(renewed.serialNumber, serial);
  const ready = await waitFor("the Certificate to be ready again", async () => {
    const { status } = await here();
    const found = findCondition(conditionsOf({ status }), "Ready");
    return found?.status === "True" ? found : undefined;
  });
  assert.equal(
    Object.entries(ready).find(([name]) => name === "observedGeneration")?.[1],
    metadata.generation,
  );
});

test("only the kind of Secret that the offer names crosses", async () => {
  const { namespace } = above;
  await controlPlane.client.create(secrets, secretObject(namespace ?? "", "of-the-operator", { key: "1" }));
  await appCluster.client.create(certificates, certificate("later", {}));
  await waitFor("a Secret that came after it", () =>
    certificateIn({ namespace: "default", name: "later-tls" }),
  );
  const { items } = await appCluster.client.list(secrets, { namespace: "default" });
  assert.deepEqual(new Set(items.map(({ metadata }) => metadata.name)), new Set(["later-tls", "shop-tls"]));
});

test("a Secret of the developer's own is left alone, and the claim says that its certificate is not in it", async (t) => {
  const taken = { namespace: "default", name: "taken-tls" };
  await appCluster.client.create(secrets, secretObject(taken.namespace, taken.name, { mine: "1" }));
  await appCluster.client.create(certificates, certificate("taken", {}));
  const ready = await waitFor("the claim to say so", async () => {
    const found = await readyOf("taken");
    return found?.reason === "NameTaken" ? found : undefined;
  });
  assert.equal(ready.status, "False");
  assert.match(ready.message ?? "", /^Secret taken-tls exists and is not Klutch's/);
  assert.match(await explained(t, "taken"), /^2 [^]*\nfailed +Secret [^]*\nwho +the developer can fix it\n/);
  const kept = await appCluster.client.get<Secret>(secrets, taken);
  assert.deepEqual(Object.keys(kept.data ?? {}), ["mine"]);
  await appCluster.client.delete(secrets, taken);
  await waitFor("the certificate in its place", () => certificateIn(taken), { timeoutMs: 120_000 });
  await waitFor("the claim to be ready", async () => (await readyOf("taken"))?.status === "True");
});

test("what the policy of the page forbids is refused with its sentence, at the Certificate", async (t) => {
  for (const [name, spec, words] of [
    ["authority", { isCA: true }, "spec.isCA must not be true"],
    ["stolen", { dnsNames: ["bank.example.org"] }, "each of spec.dnsNames must end with .apps.example.org"],
    ["named", { commonName: "bank.example.org" }, "spec.dnsNames is the only field for names"],
    ["other", { issuerRef: { kind: "ClusterIssuer", name: "internal" } }, "spec.issuerRef must be the"],
  ] as const) {
    await appCluster.client.create(certificates, certificate(name, spec));
    await waitFor(`the refusal of ${name}`, async () => {
      const { items } = await appCluster.client.list<DynamicObject>(events, { namespace: "default" });
      const refused = items.filter((event) => textAt(event, "reason") === "SyncRefused");
      return refused.some((event) => textAt(event, "message")?.includes(words));
    });
    const text = await explained(t, name);
    assert.match(text, /^2 [^]*\nwho +the developer can fix it\nnext +kubectl edit certificates/);
    assert.ok(text.includes(words), text);
    assert.equal(await controlPlane.client.find(certificates, { ...above, name }), undefined);
    await appCluster.client.delete(certificates, { ...shop, name });
  }
});

test("an agent that lies reaches no Secret of another tenant by the name in a field", async () => {
  const b = await fixture.clientOf(tenants.b);
  const spec = { resources: [{ group: certificates.group, resource: certificates.plural }] };
  const request = { namespace: tenants.b, name: "certificates.cert-manager.io" };
  await b.create(apiServiceExportRequests, objectOfType(apiServiceExportRequests, request, { spec }));
  const mapping = { namespace: tenants.b, name: "default" };
  await waitFor("its right on namespaces", () =>
    b.create(apiServiceNamespaces, objectOfType(apiServiceNamespaces, mapping, {})),
  );
  const own = await waitFor("its service namespace", async () =>
    textAt((await b.get<DynamicObject>(apiServiceNamespaces, mapping)).status, "namespace"),
  );
  const inOwn = (object: DynamicObject): DynamicObject => ({
    ...object,
    metadata: { ...object.metadata, namespace: own },
  });
  // The same name is another Secret, and a path is no name.
  await waitFor("its right on the kind", () =>
    b.create(certificates, inOwn(certificate("same", { secretName: "shop-tls" }))),
  );
  await b.create(certificates, inOwn(certificate("path", { secretName: `${above.namespace}/shop-tls` })));
  // A keystore's password is read from a Secret that a field names: there is none of that name in the tenant's own namespace.
  await controlPlane.client.create(
    secrets,
    secretObject(above.namespace ?? "", "password", { password: "p" }),
  );
  const passwordSecretRef = { name: "password", key: "password" };
  const keystores = { jks: { create: true, passwordSecretRef } };
  await b.create(certificates, inOwn(certificate("keystore", { keystores })));
  const made = await waitFor("B's own Secret", () =>
    controlPlane.client.find<DynamicObject>(secrets, { namespace: own, name: "shop-tls" }),
  );
  const ofA = await controlPlane.client.get<DynamicObject>(secrets, {
    namespace: above.namespace,
    name: "shop-tls",
  });
  assert.notEqual(secretText(made, "tls.key"), secretText(ofA, "tls.key"));
  // All three were signed, so that only the name keeps the others away.
  await waitFor("three signed requests", async () => {
    const { items } = await controlPlane.client.list<DynamicObject>(certificateRequests, { namespace: own });
    return items.filter((request) => isTrue(conditionsOf(request), "Ready")).length === 3;
  });
  const tlsOfB = async (): Promise<readonly unknown[]> => {
    const { items } = await controlPlane.client.list<Secret>(secrets, { namespace: own });
    return items.flatMap(({ type, metadata }) => (type === "kubernetes.io/tls" ? [metadata.name] : []));
  };
  assert.deepEqual(await tlsOfB(), ["shop-tls"]);
  await controlPlane.client.create(secrets, secretObject(own, "password", { password: "of-b" }));
  await waitFor("the keystore with B's own password", async () => (await tlsOfB()).includes("keystore-tls"));
  assert.deepEqual(new Set(await tlsOfB()), new Set(["keystore-tls", "shop-tls"]));
  for (const ref of [
    { namespace: above.namespace, name: "shop-tls" },
    { namespace: "cert-manager", name: "app-clusters-ca" },
  ])
    await assert.rejects(b.get(secrets, ref), isForbidden);
  for (const object of [
    inOwn(certificate("authority", { isCA: true })),
    { ...certificate("foreign", {}), metadata: { namespace: above.namespace, name: "foreign" } },
    { ...certificate("home", {}), metadata: { namespace: "cert-manager", name: "home" } },
  ])
    await assert.rejects(b.create(certificates, object), /must not be true|forbidden/);
});

test("the issuers stay in the control plane: an offer of them says why it is none", async () => {
  const template = { namespace: "cert-manager", name: "clusterissuers" };
  const spec = { APIServiceSelector: { group: certificates.group, resource: "clusterissuers" } };
  await controlPlane.client.create(
    apiServiceExportTemplates,
    objectOfType(apiServiceExportTemplates, template, { spec }),
  );
  await waitFor("the backend's word", async () => {
    const found = await controlPlane.client.get<DynamicObject>(apiServiceExportTemplates, template);
    const offered = findCondition(conditionsOf(found), "Offered");
    return offered?.status === "False" && /needs --consumer-scope=cluster/.test(offered.message ?? "");
  });
});

test("a deleted Certificate leaves nothing on either side", async () => {
  for (const name of ["shop", "later", "taken"])
    await inAppCluster("delete", "certificate", name, "--timeout=60s");
  await waitFor("the Secrets to be gone in the app cluster", async () => {
    const { items } = await appCluster.client.list(secrets, { namespace: "default" });
    return items.length === 0;
  });
  await waitFor("all of it to be gone in the control plane", async () => {
    const place = { namespace: above.namespace };
    const { items: kept } = await controlPlane.client.list(secrets, place);
    const own = new Set(["of-the-operator", "password"]);
    const left = [
      ...(await controlPlane.client.list(certificates, place)).items,
      ...(await controlPlane.client.list(certificateRequests, place)).items,
    ];
    return left.length === 0 && kept.every(({ metadata }) => own.has(metadata.name ?? ""));
  });
});
