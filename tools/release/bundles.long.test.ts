/** The bundles as people use them: the real kubectl, a real API server with the kinds of Crossplane. Nothing runs in Pods here. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { apiServiceExports, parseRegistry, providerCrds } from "@klutch/api";
import { resolveEngine } from "@klutch/engines";
import { discoverResource, formatYaml } from "@klutch/kube";
import {
  customResourceDefinitions,
  type DynamicObject,
  type KubeObject,
  listAt,
  namespaces,
  recordsAt,
  refOfObject,
  textAt,
} from "@klutch/kube-core";
import { namespaceObject, leaseCluster, untilServed, waitFor } from "@klutch/kube-testing";
import { bundleObjects, bundleText, variablesOf } from "./bundles.ts";

await using stack = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "klutch-bundles-"));
stack.defer(() => rm(folder, { recursive: true }));
const cluster = stack.use(await leaseCluster({ name: "bundles" }));
const running = stack.move();
after(() => running.disposeAsync());
const { client } = cluster;
const kubeconfig = join(folder, "kubeconfig");
await writeFile(kubeconfig, cluster.kubeconfig);
const program = await resolveEngine("kubectl");

/** Lines that the real kubectl prints; rejects with what it says when it refuses something. */
async function kubectl(...args: readonly string[]): Promise<readonly string[]> {
  const common = ["--kubeconfig", kubeconfig, "--cache-dir", join(folder, "cache")];
  const { stdout } = await promisify(execFile)(program, [...common, ...args], { maxBuffer: 2 ** 26 });
  return stdout.split("\n").filter((line) => line !== "");
}

async function untilKindsAreServed(): Promise<void> {
  for (const line of await kubectl("get", "crd", "-o", "name"))
    await untilServed(client, line.slice(line.indexOf("/") + 1));
}

/** Applies a text, as `kubectl apply -f` does. */
async function apply(name: string, text: string): Promise<readonly string[]> {
  const file = join(folder, `${name}.yaml`);
  await writeFile(file, text);
  return kubectl("apply", "-f", file);
}

/** An object as the API server has it. */
async function live(object: KubeObject): Promise<DynamicObject> {
  const [version = "", group = ""] = object.apiVersion.split("/").toReversed();
  const type = await discoverResource(client, { group, version, kind: object.kind });
  assert.ok(type !== undefined, object.kind);
  return client.get<DynamicObject>(type, refOfObject(object));
}

/** Reads objects by kind and name, without the fields that the API server and kubectl add. */
async function read(objects: readonly KubeObject[]): Promise<ReadonlyMap<string, DynamicObject>> {
  const found = await Promise.all(objects.map(live));
  return new Map(
    found.map(({ metadata, ...rest }) => {
      const { labels, annotations = {}, uid } = metadata;
      const { [lastApplied]: _, ...others } = annotations;
      const own = { ...rest, status: undefined, metadata: { uid, labels, annotations: others } };
      return [`${rest.kind} ${metadata.name}`, own];
    }),
  );
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

const bundles = bundleObjects();
const install = bundleText("install", bundles.install);

/** Returns a value that a site could set for a variable. */
function valueOf(name: string): string {
  if (name.endsWith("_BASE64")) return Buffer.from(`of ${name}`).toString("base64");
  return name.endsWith("_HOST") ? "klutch.example.org" : "https://example.org/path";
}

test("before everything: Crossplane's kinds and namespace, as its chart installs them", async () => {
  const crossplane = join(dirname(await resolveEngine("crossplane")), "cluster", "crds");
  await kubectl("apply", "--server-side", "-f", crossplane);
  await client.create(namespaces, namespaceObject("crossplane-system"));
  await untilKindsAreServed();
});

test("install is applied in one pass, and once more changes nothing", async () => {
  const lines = await apply("install", install);
  assert.equal(lines.length, bundles.install.length);
  assert.ok(
    lines.every((line) => line.endsWith(" created")),
    lines.join("\n"),
  );
  await untilKindsAreServed();
  const generations = async (): Promise<readonly unknown[]> =>
    Promise.all(bundles.install.map(async (object) => (await live(object)).metadata.generation));
  const first = await generations();
  await apply("install", install);
  assert.deepEqual(await generations(), first);
});

test("configure is applied when the provider's package has brought its kinds; an unset variable is refused", async () => {
  // This test takes the place of Crossplane, which installs them out of the package.
  await apply("kinds", providerCrds.map(formatYaml).join("---\n"));
  await untilKindsAreServed();
  const text = bundleText("configure", bundles.configure);
  await assert.rejects(apply("configure", text), (error) => {
    assert.ok(error instanceof Error);
    assert.match(error.message, /illegal base64 data/);
    assert.match(error.message, /Ingress.*klutch-backend/s);
    return true;
  });
  const filled = variablesOf(text).reduce(
    (done, name) => done.replaceAll(`\${${name}}`, valueOf(name)),
    text,
  );
  const lines = await apply("configure", filled);
  assert.equal(lines.length, bundles.configure.length);
  const secret = (await read(bundles.configure)).get("Secret postgresql-service-broker");
  assert.equal(
    Buffer.from(textAt(secret, "data", "password") ?? "", "base64").toString(),
    "of POSTGRESQL_BROKER_PASSWORD_BASE64",
  );
});

test("update changes references and nothing else: what install, configure and the site itself wrote stays", async () => {
  await kubectl("annotate", "provider.pkg.crossplane.io/klutch-provider-anynines", "example.org/note=ours");
  const pull = '{"spec":{"packagePullSecrets":[{"name":"mirror"}]}}';
  await kubectl("patch", "provider.pkg.crossplane.io/klutch-provider-anynines", "--type=merge", "-p", pull);
  await kubectl("--namespace=klutch-backend", "set", "env", "deployment/klutch-backend", "EXAMPLE=ours");
  const all = [...bundles.install, ...bundles.configure];
  const before = await read(all);
  const registry = parseRegistry("mirror.example.org/klutch");
  const digest = `sha256:${"ab".repeat(32)}`;
  const next = bundleObjects({
    registry,
    digests: new Map((["backend", "konnector", "provider-anynines"] as const).map((name) => [name, digest])),
  });
  const lines = await apply("update", bundleText("update", next.update));
  assert.equal(lines.length, next.update.length);
  assert.ok(
    lines.every((line) => line.endsWith(" configured")),
    lines.join("\n"),
  );
  const updated = await read(all);
  assert.equal(updated.size, all.length);
  for (const [key, object] of updated) {
    const plain = (one: DynamicObject | undefined): unknown =>
      JSON.parse(
        JSON.stringify(one ?? {}).replaceAll(
          /"(--konnector-image=)?[^"\s]+\/([\w-]+):v\d+\.\d+\.\d+[^"]*"/g,
          '"$1$2"',
        ),
      );
    assert.deepEqual(plain(object), plain(before.get(key)), key);
  }
  const provider = updated.get("Provider klutch-provider-anynines");
  assert.equal(textAt(provider, "spec", "package")?.split("@")[1], digest);
  assert.match(JSON.stringify(provider), /"packagePullSecrets":\[\{"name":"mirror"\}\]/);
  assert.match(JSON.stringify(updated.get("Deployment klutch-backend")), /"name":"EXAMPLE"/);
});

test("no object is there twice", async () => {
  for (const kind of [
    "deployments",
    "services",
    "configurations.pkg.crossplane.io",
    "providers.pkg.crossplane.io",
  ]) {
    const lines = await kubectl("get", kind, "-A", "-o", "name");
    const ours = lines.filter((line) => line.includes("klutch"));
    assert.equal(ours.length, 1, lines.join(" "));
  }
});

test("back to install: what it says is there again, and what the site wrote is there still", async () => {
  await apply("install", install);
  const provider = (await read(bundles.update)).get("Provider klutch-provider-anynines");
  assert.equal(
    textAt(provider, "spec", "package"),
    textAt(
      bundles.update.find(({ kind }) => kind === "Provider"),
      "spec",
      "package",
    ),
  );
  assert.match(JSON.stringify(provider), /packagePullSecrets/);
});

test("install-dev and the konnector's bundle are applied in one pass, too", async () => {
  for (const name of ["install-dev", "konnector"] as const) {
    const lines = await apply(name, bundleText(name, bundles[name]));
    assert.equal(lines.length, bundles[name].length);
  }
});

test("kinds of a newer release are not put back by an older bundle: the API server names the version that is stored", async () => {
  const name = { name: `${apiServiceExports.plural}.${apiServiceExports.group}` };
  const { spec } = await client.get<DynamicObject>(customResourceDefinitions, name);
  const [version] = recordsAt(spec, "versions");
  const versions = [
    { ...version, storage: false },
    { ...version, name: "v1beta1" },
  ];
  await client.mergePatch(customResourceDefinitions, name, { spec: { versions } });
  await waitFor("the version to be stored", async () => {
    const { status } = await client.get<DynamicObject>(customResourceDefinitions, name);
    return listAt(status, "storedVersions").includes("v1beta1");
  });
  const refused = /status\.storedVersions\[1\]: Invalid value: "v1beta1": missing from spec\.versions/;
  await assert.rejects(apply("install", install), refused);
  const { spec: left } = await client.get<DynamicObject>(customResourceDefinitions, name);
  assert.equal(recordsAt(left, "versions").length, 2);
});
