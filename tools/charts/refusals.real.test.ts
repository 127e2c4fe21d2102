/** Bad values by name: Helm says which value, what it is, and what would be right. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { chartPath, startHelm } from "./testing/helm.ts";
import { atHome, minimal } from "./testing/values.ts";

const helm = await startHelm();
after(() => helm[Symbol.asyncDispose]());

type Case = readonly [what: string, change: object, says: RegExp];

const { klutch: valid } = minimal;

const controlPlane: readonly Case[] = [
  [
    "issuer without https",
    { oidc: { issuerUrl: "http://login.example.org" } },
    /^oidc\.issuerUrl: is "http:\/\/login\.example\.org", must be a URL that starts with https:\/\/$/m,
  ],
  ["missing issuer", { oidc: { issuerUrl: "" } }, /^oidc\.issuerUrl: is missing, must be the https URL/m],
  [
    "tenant gateway without a certificate",
    { tenantGateway: { enabled: true } },
    /^tenantGateway\.secretName: is missing with tenantGateway\.enabled=true, must name a Secret/m,
  ],
  [
    "interval without unit",
    { tenantGateway: { accessInterval: "10" } },
    /^tenantGateway\.accessInterval: is "10", must be a duration, such as 10s$/m,
  ],
  ["missing client", { oidc: { clientId: "" } }, /^oidc\.clientId: is missing/m],
  [
    "missing client secret",
    { oidc: { secretName: "" } },
    /^oidc\.secretName: is missing, must name a Secret .* "client-secret"$/m,
  ],
  [
    "missing cookie keys",
    { cookies: { secretName: "" } },
    /^cookies\.secretName: is missing, must name a Secret .* "signing-key"$/m,
  ],
  [
    "missing address of the API server",
    { apiServer: { address: "" } },
    /^apiServer\.address: is missing, must be the https URL/m,
  ],
  [
    "API server without https",
    { apiServer: { address: "api:6443" } },
    /^apiServer\.address: is "api:6443", must be a URL that starts with https/m,
  ],
  [
    "a key where certificates belong",
    { oidc: { ca: "-----BEGIN PRIVATE KEY-----\nhidden" } },
    /^oidc\.ca: has a private key, must have certificates only$/m,
  ],
  ["no PEM", { apiServer: { ca: "/etc/ca.crt" } }, /^apiServer\.ca: has no certificate, must be PEM/m],
  ["missing public URL", { publicUrl: "" }, /^publicUrl: is missing, must be the https URL/m],
  [
    "public URL with a path",
    { publicUrl: "https://example.org/klutch" },
    /^publicUrl: is "https:\/\/example\.org\/klutch", must have no path$/m,
  ],
  [
    "redirect without https",
    { oidc: { allowedRedirects: ["https://a.example.org", "ftp://b"] } },
    /^oidc\.allowedRedirects\[1\]: is "ftp:\/\/b", must be a URL that starts with https/m,
  ],
  [
    "lifetime without unit",
    { tenants: { credentialLifetime: "24" } },
    /^tenants\.credentialLifetime: is "24", must be a duration of at least 10m/m,
  ],
  [
    "ingress without host",
    { ingress: { enabled: true } },
    /^ingress\.host: is missing with ingress\.enabled=true, must be the host/m,
  ],
  [
    "ingress with a URL for host",
    { ingress: { enabled: true, host: "https://klutch.example.org" } },
    /^ingress\.host: is "https:\/\/klutch\.example\.org", must be a DNS name/m,
  ],
  [
    "ingress of another host",
    { ingress: { enabled: true, host: "other.example.org" } },
    /^ingress\.host: is "other\.example\.org", must be "klutch\.example\.org" as in https:\/\/klutch\.example\.org$/m,
  ],
  [
    "host without ingress",
    { ingress: { host: "klutch.example.org" } },
    /^ingress\.enabled: is false with ingress\.host/m,
  ],
  [
    "gateway without Gateway",
    { gateway: { enabled: true, host: "klutch.example.org" } },
    /^gateway\.parentRefs: is empty with gateway\.enabled=true, must name a Gateway/m,
  ],
  [
    "Gateway without name",
    { gateway: { enabled: true, host: "klutch.example.org", parentRefs: [{ namespace: "gateways" }] } },
    /^gateway\.parentRefs\[0\]\.name: is missing/m,
  ],
  [
    "gateway before a backend that ends TLS",
    {
      gateway: { enabled: true, host: "klutch.example.org", parentRefs: [{ name: "public" }] },
      tls: { secretName: "own" },
    },
    /^gateway\.enabled: is true with a certificate in tls, must be one of both/m,
  ],
  [
    "TLS by Secret and by cert-manager",
    { tls: { secretName: "own", certManager: { enabled: true, issuerRef: { name: "le" } } } },
    /^tls\.secretName: is "own" with tls\.certManager\.enabled=true, must be only one of both/m,
  ],
  [
    "cert-manager without issuer",
    { tls: { certManager: { enabled: true } } },
    /^tls\.certManager\.issuerRef\.name: is missing .*, must name an issuer of the kind ClusterIssuer$/m,
  ],
  [
    "issuer without cert-manager",
    { tls: { certManager: { issuerRef: { name: "le" } } } },
    /^tls\.certManager\.enabled: is false .* "le", must be true/m,
  ],
  [
    "a budget as large as the replicas",
    { replicas: 3, podDisruptionBudget: { minAvailable: 3 } },
    /^podDisruptionBudget\.minAvailable: is 3 with replicas 3, .* must be less than replicas/m,
  ],
  [
    "a tag that is none",
    { packages: { enabled: true, tag: "v1:2" } },
    /^packages\.tag: is "v1:2", must be a tag/m,
  ],
  [
    "registry with a scheme",
    { image: { registry: "https://registry.example.org" } },
    /^image\.registry: is "https:\/\/registry\.example\.org", must be HOST\[:PORT\]\[\/PATH\]/m,
  ],
  [
    "short digest",
    { image: { digest: "sha256:12" } },
    /^image\.digest: is "sha256:12", must be sha256: and 64/m,
  ],
  ["image tag with a space", { image: { tag: "v1 6" } }, /^image\.tag: is "v1 6", must be a tag/m],
  // The schema refuses these, in Helm's words.
  ["no replicas", { replicas: 0 }, /replicas'?: minimum: got 0, want 1/],
  ["replicas as a text", { replicas: "two" }, /replicas'?: got string, want integer/],
  [
    "misspelled value",
    { oidc: { isuerUrl: "https://a.example.org" } },
    /oidc'?: additional properties 'isuerUrl' not allowed/,
  ],
  ["misspelled group", { ingres: { enabled: true } }, /additional properties 'ingres' not allowed/],
  [
    "unknown scope",
    { tenants: { consumerScope: "Global" } },
    /consumerScope'?: value must be one of 'Namespaced', 'Cluster'/,
  ],
  ["pull secret as a text", { imagePullSecrets: ["mine"] }, /imagePullSecrets\/0'?: got string, want object/],
];

const appCluster: readonly Case[] = [
  [
    "group without a dot",
    { bindings: [{ name: "deployments.apps", secretName: "s" }] },
    /^bindings\[0\]\.name: is "deployments\.apps", must be <plural>\.<group> with a dot/m,
  ],
  [
    "group of Kubernetes",
    { bindings: [{ name: "roles.rbac.authorization.k8s.io", secretName: "s" }] },
    /^bindings\[0\]\.name: is "roles\.rbac.*", must not be of a group that belongs to Kubernetes or Klutch$/m,
  ],
  [
    "bound twice",
    {
      bindings: [
        { name: "dbs.example.org", secretName: "s" },
        { name: "dbs.example.org", secretName: "t" },
      ],
    },
    /^bindings\[1\]\.name: is "dbs\.example\.org" as in bindings\[0\], must be bound once$/m,
  ],
  [
    "claim with a wildcard",
    {
      bindings: [
        {
          name: "dbs.example.org",
          secretName: "s",
          permissionClaims: [{ resource: "*", version: "v1", state: "Accepted" }],
        },
      ],
    },
    /^bindings\[0\]\.permissionClaims\[0\]\.resource: is "\*", must be the plural name of one resource/m,
  ],
  [
    "claim on all groups",
    {
      bindings: [
        {
          name: "dbs.example.org",
          secretName: "s",
          permissionClaims: [{ group: "*", resource: "secrets", version: "v1", state: "Accepted" }],
        },
      ],
    },
    /^bindings\[0\]\.permissionClaims\[0\]\.group: is "\*", must be one group/m,
  ],
  [
    "claim without an answer",
    {
      bindings: [
        {
          name: "dbs.example.org",
          secretName: "s",
          permissionClaims: [{ resource: "secrets", version: "v1", state: "Perhaps" }],
        },
      ],
    },
    /^bindings\[0\]\.permissionClaims\[0\]\.state: is "Perhaps", must be Accepted or Rejected$/m,
  ],
  [
    "binding without a Secret",
    { bindings: [{ name: "dbs.example.org" }] },
    /^bindings\[0\]\.secretName: is missing, .*or set provider\.url$/m,
  ],
  [
    "provider without the name of its AppCluster, by another protocol",
    { provider: { url: "http://klutch.example.org" } },
    /^provider\.url: is "http:.*must be an https URL.*\nprovider\.appCluster: is "", must be the name of an AppCluster/m,
  ],
  [
    "AppCluster without a provider",
    { provider: { appCluster: "prod" } },
    /^provider\.url: is empty, must be the public URL of the backend/m,
  ],
  [
    "groups to bind by a wildcard, without a provider and without the policy",
    {
      autoBind: { groups: ["*", "apps", "k8s.io"], except: ["dbs"] },
      admissionPolicy: { enabled: false },
    },
    /^autoBind\.groups: needs provider\.url[^]*^autoBind\.groups: needs admissionPolicy[^]*groups\[0\]: is "\*", must be an API group[^]*groups\[1\]: is "apps"[^]*groups\[2\]: is "k8s\.io"[^]*^autoBind\.except\[0\]: is "dbs", must be <plural>/m,
  ],
  [
    "updates of an image with a digest and another tag, without the policy",
    {
      followUpdates: "patch",
      image: { tag: "latest", digest: `sha256:${"0".repeat(64)}` },
      admissionPolicy: { enabled: false },
    },
    /^followUpdates: needs admissionPolicy[^]*^followUpdates: needs an image\.digest that is empty[^]*^followUpdates: needs the version of a release as image\.tag/m,
  ],
  [
    "receiver of traces without a scheme",
    { tracing: { endpoint: "collector:4318" } },
    /^tracing\.endpoint: is "collector:4318", must be an http or https URL/m,
  ],
  [
    "receiver of traces with a password",
    { tracing: { endpoint: "http://me:hidden@collector" } },
    /^tracing\.endpoint: must not contain a user or a password$/m,
  ],
  ["sampling ratio beyond 1", { tracing: { samplingRatio: 1.5 } }, /samplingRatio/],
  ["unknown log level", { logLevel: "loud" }, /logLevel'?: value must be one of/],
];

for (const [name, cases, base] of [
  ["klutch", controlPlane, valid],
  ["klutch-konnector", appCluster, {}],
] as const) {
  test(`${name}: missing, misspelled or contradictory values are refused by name`, async (t) => {
    await Promise.all(
      cases.map(([what, change, says]) =>
        t.test(what, async () => {
          const refusal = await helm.refusal(chartPath(name), merged(base, change), ...atHome[name]);
          assert.match(refusal, says);
          assert.doesNotMatch(refusal, /hidden/);
        }),
      ),
    );
  });
}

test("all faults are said at once, and a URL with a password is never shown", async () => {
  const values = { oidc: { issuerUrl: "https://me:hidden@login.example.org" } };
  const refusal = await helm.refusal(chartPath("klutch"), values, ...atHome.klutch);
  for (const name of [
    "apiServer.address",
    "oidc.clientId",
    "oidc.secretName",
    "cookies.secretName",
    "publicUrl",
  ])
    assert.match(refusal, new RegExp(`^${name.replace(".", "\\.")}: is missing`, "m"));
  assert.match(refusal, /^oidc\.issuerUrl: must not contain a user or a password$/m);
  assert.doesNotMatch(refusal, /hidden/);
});

test("a release elsewhere and a cluster that is too old are refused", async () => {
  const elsewhere = await helm.refusal(chartPath("klutch"), valid, "--namespace", "team");
  assert.match(elsewhere, /^namespace: is "team", must be klutch-backend, .* --create-namespace/m);
  const twice = { ...valid, namespace: { create: true } };
  const refusal = await helm.refusal(chartPath("klutch"), twice, ...atHome.klutch);
  assert.match(refusal, /^namespace\.create: is true, but Helm makes the release's own namespace/m);
  const old = await helm.refusal(chartPath("klutch"), valid, ...atHome.klutch, "--kube-version", "1.29.3");
  assert.match(old, /requires kubeVersion: >=1\.30\.0-0 which is incompatible with Kubernetes v1\.29\.3/);
});

/** Groups are merged, as `--set` does. */
function merged(base: Readonly<Record<string, unknown>>, change: object): object {
  const groups = Object.entries(change).map(([name, value]) => {
    const before = base[name];
    const isGroup = typeof before === "object" && typeof value === "object" && !Array.isArray(value);
    return [name, isGroup ? { ...before, ...value } : value] as const;
  });
  return { ...base, ...Object.fromEntries(groups) };
}
