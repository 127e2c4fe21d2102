/** The programs take the arguments and the environment that the charts give them. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { type BackendConfig, backendProgram } from "@klutch/backend";
import { openAuthority, tlsFilesIn } from "@klutch/data-servers";
import { gatewayProgram } from "@klutch/gateway";
import { konnectorProgram } from "@klutch/konnector";
import { systemClock } from "@klutch/kube";
import { readTracing } from "@klutch/telemetry";
import { listAt, recordAt, recordsAt, textAt, valueAt } from "@klutch/kube-core";
import { chartPath, objectOf, type Rendered, startHelm } from "./testing/helm.ts";
import { atHome, everyKonnectorValue, minimal, variants } from "./testing/values.ts";

const helm = await startHelm();
after(() => helm[Symbol.asyncDispose]());

const key = Buffer.alloc(32, 1).toString("base64");
const pod: Readonly<Record<string, string>> = { "metadata.name": "pod-1", "metadata.namespace": "home" };
const secrets: Readonly<Record<string, string>> = { "client-secret": "hidden", "signing-key": key };

const containerOf = (objects: readonly Rendered[]): Rendered =>
  recordsAt(objectOf(objects, "Deployment"), "spec", "template", "spec", "containers")[0] ?? {};

/** Returns the environment that a kubelet would make; a Secret may lack a key that is optional. */
function environmentOf(objects: readonly Rendered[]): Readonly<Record<string, string>> {
  const variables = recordsAt(containerOf(objects), "env").flatMap((each) => {
    const field = pod[textAt(each, "valueFrom", "fieldRef", "fieldPath") ?? ""];
    const secret = secrets[textAt(each, "valueFrom", "secretKeyRef", "key") ?? ""];
    const value = textAt(each, "value") ?? field ?? secret;
    if (value === undefined) assert.equal(valueAt(each, "valueFrom", "secretKeyRef", "optional"), true);
    return value === undefined ? [] : [[textAt(each, "name") ?? "", value] as const];
  });
  return Object.fromEntries(variables);
}

/** A Secret of the type kubernetes.io/tls. */
async function certificate(folder: string): Promise<Readonly<Record<"tls.crt" | "tls.key", string>>> {
  const home = join(folder, "issued");
  await mkdir(home, { recursive: true });
  const now = (): Date => new Date(systemClock.now());
  await (await openAuthority(join(folder, "authority"), { name: "authority", now })).issue(home);
  const paths = tlsFilesIn(home);
  return {
    "tls.crt": await readFile(paths.certificate, "utf8"),
    "tls.key": await readFile(paths.key, "utf8"),
  };
}

/** Files of the ConfigMap and the Secret are below `folder` instead of the root. */
async function argumentsOf(objects: readonly Rendered[], folder: string): Promise<readonly string[]> {
  const env = environmentOf(objects);
  await mkdir(join(folder, "etc/klutch/tls"), { recursive: true });
  await mkdir(join(folder, "etc/klutch/authorities"), { recursive: true });
  for (const [name, content] of Object.entries(await certificate(folder)))
    await writeFile(join(folder, "etc/klutch/tls", name), content);
  const authorities = objects.find(({ kind }) => kind === "ConfigMap");
  for (const [name, content] of Object.entries(recordAt(authorities, "data")))
    await writeFile(join(folder, "etc/klutch/authorities", name), String(content));
  return listAt(containerOf(objects), "args").map((each) =>
    String(each)
      .replaceAll(/\$\((\w+)\)/g, (_, name: string) => env[name] ?? "")
      .replace("=/etc/", `=${folder}/etc/`),
  );
}

async function backendConfig(values: object): Promise<BackendConfig> {
  const objects = await helm.template(chartPath("klutch"), values, ...atHome.klutch);
  const args = await argumentsOf(objects, helm.folder);
  return backendProgram.readConfig({ args, env: environmentOf(objects), randomName: () => "random" });
}

test("the backend is what it is without flags, besides what was asked for", async () => {
  const config = await backendConfig(minimal.klutch);
  const { issuerUrl, clientId } = minimal.klutch.oidc;
  const bare = await backendProgram.readConfig({
    args: [
      `--oidc-issuer-url=${issuerUrl}`,
      `--oidc-issuer-client-id=${clientId}`,
      "--oidc-callback-url=https://klutch.example.org/callback",
      `--external-address=${minimal.klutch.apiServer.address}`,
      "--listen-address=:8080",
      "--lease-namespace=home",
      `--konnector-image=${config.konnectorImage}`,
    ],
    env: { OIDC_CLIENT_SECRET: "hidden", COOKIE_SIGNING_KEY: key, POD_NAME: "pod-1" },
    randomName: () => "random",
  });
  assert.deepEqual(config, bare);
});

test("the backend takes what every variant gives it", async () => {
  const gateway = await backendConfig(variants.gateway);
  assert.ok(gateway.controlPlaneMode && gateway.servesLogin);
  assert.deepEqual(gateway.allowedImagePrefixes, ["registry.example.org/klutch"]);
  const backend = await backendConfig(variants.backend);
  assert.match(backend.tls?.files.key ?? "", /\/etc\/klutch\/tls\/tls\.key$/);
  assert.match(backend.external.ca ?? "", /^-----BEGIN CERTIFICATE-----\n/);
  assert.equal(backend.external.serverName, "kubernetes");
  assert.deepEqual(backend.allowedRedirects, ["https://a.example.org/b"]);
  const { apiServer } = minimal.klutch;
  const without = await backendConfig({ apiServer, controlPlaneMode: true });
  assert.equal(without.servesLogin, false);
});

test("the konnector takes what values give it", async () => {
  const values = everyKonnectorValue;
  const objects = await helm.template(chartPath("klutch-konnector"), values, ...atHome["klutch-konnector"]);
  const args = await argumentsOf(objects, helm.folder);
  const config = await konnectorProgram.readConfig({
    args,
    env: environmentOf(objects),
    randomName: () => "random",
  });
  assert.deepEqual([config.leaseNamespace, config.identity, config.logLevel], ["home", "pod-1", "debug"]);
  assert.equal(config.timing.providerObjectsLimit, 2_000_000);
});

test("both programs send traces where values say", async () => {
  for (const [name, values, expected] of [
    ["klutch", variants.ingress, ["http://collector.observability:4318/v1/traces", 0.1]],
    ["klutch-konnector", everyKonnectorValue, ["https://collector.example.org/otlp/v1/traces", 0.25]],
    ["klutch", minimal.klutch, [undefined, undefined]],
  ] as const) {
    const env = environmentOf(await helm.template(chartPath(name), values, ...atHome[name]));
    const { config, faults } = readTracing(env, name);
    assert.deepEqual([config?.url, config?.sampler.ratio, faults], [...expected, []]);
  }
});

test("the tenant gateway takes its arguments, and its account reads offered kinds and no Secret", async () => {
  const numbers = { maxWatches: 30, maxPassedWatches: 20, maxRequests: 10 };
  const tenantGateway = { enabled: true, secretName: "gateway-tls", accessInterval: "30s", ...numbers };
  const offers = ["widgets.shop.example.com", "secrets", "ingresses.networking.k8s.io"];
  const values = { ...minimal.klutch, tenantGateway, offers };
  const objects = await helm.template(chartPath("klutch"), values, ...atHome.klutch);
  const ours = objects.filter((each) => textAt(each, "metadata", "name") === "klutch-gateway");
  const [program, ...args] = await argumentsOf(ours, join(helm.folder, "gateway"));
  assert.equal(program, "gateway");
  const { listen, askEveryMs, limits } = await gatewayProgram.readConfig({
    args,
    env: {},
    randomName: () => "random",
  });
  assert.deepEqual([listen.port, askEveryMs], [9443, 30_000]);
  assert.deepEqual(limits, { mostWatches: 30, mostPassedWatches: 20, mostRequests: 10 });
  const rules = recordsAt(objectOf(ours, "ClusterRole"), "rules");
  for (const rule of rules) assert.deepEqual(rule["verbs"], ["list", "watch"]);
  const groups = rules.flatMap((rule) => listAt(rule, "apiGroups").map(String));
  assert.deepEqual(
    groups.toSorted((left, right) => (left < right ? -1 : 1)),
    ["anynines.com", "klutch.anynines.com", "m.anynines.com", "shop.example.com"],
  );
  const policy = recordAt(objectOf(ours, "NetworkPolicy"), "spec");
  const pod = recordAt(objectOf(ours, "Deployment"), "spec", "template", "metadata", "labels");
  for (const [key, value] of Object.entries(recordAt(policy, "podSelector", "matchLabels")))
    assert.equal(pod[key], value);
  assert.deepEqual(policy["policyTypes"], ["Ingress"]);
  assert.deepEqual(recordsAt(policy, "ingress"), [
    { ports: [{ port: "api" }] },
    { ports: [{ port: "probes" }], from: [{ namespaceSelector: {} }] },
  ]);
  const without = await helm.template(chartPath("klutch"), minimal.klutch, ...atHome.klutch);
  assert.ok(without.every((each) => textAt(each, "metadata", "name") !== "klutch-gateway"));
});

test("values limit who reaches the tenant gateway and whom it reaches, and one switches its NetworkPolicy off", async () => {
  const from = [{ ipBlock: { cidr: "192.0.2.0/24" } }];
  const egress = [{ to: [{ ipBlock: { cidr: "198.51.100.7/32" } }], ports: [{ port: 6443 }] }];
  const tenantGateway = { enabled: true, secretName: "gateway-tls", from, egress };
  const values = { ...minimal.klutch, tenantGateway };
  const policyOf = async (more: object): Promise<object | undefined> => {
    const objects = await helm.template(chartPath("klutch"), { ...values, ...more }, ...atHome.klutch);
    return objects.find(
      (each) =>
        textAt(each, "kind") === "NetworkPolicy" && textAt(each, "metadata", "name") === "klutch-gateway",
    );
  };
  const spec = recordAt(await policyOf({ networkPolicy: { metricsFrom: [] } }), "spec");
  assert.deepEqual(spec["policyTypes"], ["Ingress", "Egress"]);
  assert.deepEqual(spec["ingress"], [{ ports: [{ port: "api" }], from }]);
  assert.deepEqual(spec["egress"], egress);
  assert.equal(await policyOf({ networkPolicy: { enabled: false } }), undefined);
});
