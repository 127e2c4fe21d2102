import assert from "node:assert/strict";
import { test } from "node:test";
import { bindApiServiceOptions, bindOptions, commonOptions, durationMs } from "./options.ts";

test("every connection flag reaches the connection of the app cluster", () => {
  const { connection, requestTimeoutMs } = commonOptions(
    {
      kubeconfig: "/k",
      context: "c",
      cluster: "cl",
      user: "u",
      namespace: "n",
      server: "https://s",
      token: "t",
      as: "jane",
      asGroup: ["a", "b"],
      asUid: "1",
      certificateAuthority: "/ca",
      clientCertificate: "/cert",
      clientKey: "/key",
      insecureSkipTlsVerify: true,
      tlsServerName: "name",
      requestTimeout: "5s",
    },
    { HOME: "/h" },
  );
  const { token, ...rest } = connection;
  assert.equal(token?.reveal(), "t");
  assert.deepEqual(rest, {
    path: "/k",
    context: "c",
    cluster: "cl",
    user: "u",
    namespace: "n",
    server: "https://s",
    insecureSkipTlsVerify: true,
    tlsServerName: "name",
    certificateAuthority: "/ca",
    clientCertificate: "/cert",
    clientKey: "/key",
    impersonate: { user: "jane", groups: ["a", "b"], uid: "1" },
    env: { HOME: "/h" },
  });
  assert.equal(requestTimeoutMs, 5000);
});

test("defaults: ten minutes for each wait, questions are asked, the browser is opened", () => {
  const options = bindOptions({}, {});
  assert.deepEqual(
    [options.timeoutMs, options.claims, options.browser, options.dryRun, options.output],
    [600_000, "ask", true, false, undefined],
  );
});

test("--cluster-name takes one short line, and refuses anything else by name", () => {
  assert.equal(bindOptions({ clusterName: "prod eu" }, {}).clusterName, "prod eu");
  assert.equal(bindOptions({}, {}).clusterName, undefined);
  for (const clusterName of ["a\nb", "a\u001b[2Jb", "a\u202eb", " a", "a   b", "x".repeat(129)]) {
    const options = { code: "Usage", message: /--cluster-name .*1 to 128 characters/ };
    assert.throws(() => bindOptions({ clusterName }, {}), options, JSON.stringify(clusterName));
  }
});

test("durations are read in Go's form or in seconds, and nonsense is refused by name", () => {
  const values = ["90s", "10m", "1m30s", "1h", "250ms", "15"].map((value) => durationMs(value, "--timeout"));
  assert.deepEqual(values, [90_000, 600_000, 90_000, 3_600_000, 250, 15_000]);
  assert.equal(durationMs("0", "--timeout"), undefined);
  for (const value of ["soon", "10x", "m", "-5s", "1.5h"]) {
    assert.throws(() => durationMs(value, "--timeout"), { code: "Usage", message: /--timeout/ });
  }
});

test("flags that exclude each other or are incomplete are named, all at once", () => {
  assert.throws(() => commonOptions({ acceptPermissions: true, rejectPermissions: true }, {}), {
    message: /exclude each other/,
  });
  assert.throws(() => commonOptions({ output: "wide" }, {}), { message: /-o "wide": use yaml, json, name/ });
  assert.throws(() => commonOptions({ asGroup: ["a"] }, {}), { message: /need --as/ });
  assert.throws(() => bindApiServiceOptions({ remoteKubeconfigName: "a" }, undefined, {}), {
    message: /-f <file>.*--remote-kubeconfig-namespace and --remote-kubeconfig-name/,
  });
  assert.throws(() => bindApiServiceOptions({ file: "f", remoteKubeconfig: "r" }, "http://x", {}), {
    message: /either -f <file> or the URL/,
  });
  assert.equal(bindApiServiceOptions({ file: "-", remoteKubeconfig: "r" }, undefined, {}).file, "-");
});

test("--registry is checked, named when it is wrong, and excludes a custom image", () => {
  assert.equal(commonOptions({}, {}).registry, undefined);
  assert.equal(commonOptions({ registry: "localhost:5000/klutch" }, {}).registry, "localhost:5000/klutch");
  for (const [values, message] of [
    [{ registry: "https://mirror.example.org" }, /--registry: is "https.*has a scheme; expected HOST/],
    [{ registry: "mirror.example.org/klutch:v1" }, /--registry: .*has a tag/],
    [{ registry: "" }, /--registry: .*empty/],
    [{ registry: "localhost:5000", konnectorImage: "x.test/k:v1" }, /exclude each other/],
  ] as const)
    assert.throws(() => commonOptions(values, {}), { code: "Usage", message });
});

test("APIs of a login are named in several ways, one at a time, and what no login could bind is refused by its flag", () => {
  const wishOf = (values: Readonly<Record<string, unknown>>): unknown => bindOptions(values, {}).wish;
  assert.deepEqual(wishOf({}), { kind: "none" });
  assert.deepEqual(wishOf({ all: true }), { kind: "all" });
  assert.deepEqual(wishOf({ service: "postgresql" }), { kind: "service", service: "postgresql" });
  assert.deepEqual(wishOf({ api: ["a.b, c", "d.e"] }), { kind: "apis", names: ["a.b", "c", "d.e"] });
  const many = Array.from({ length: 10_000 }, (_, at) => `a${at}.example.org`).join(",");
  for (const [values, message] of [
    [{ api: ["a.b"], all: true }, /--api, --service and --all exclude each other/],
    [{ service: "x", all: true }, /exclude each other/],
    [{ api: [""] }, /^--api names the API ""; write <resource>\.<group>/],
    [{ api: ["a.b,,c.d"] }, /^--api names the API ""/],
    [{ api: ["a.b", "a.b"] }, /^--api names a\.b twice/],
    [{ api: ["PostgreSQL"] }, /^--api names the API "PostgreSQL"/],
    [{ api: [many] }, /^--api names 10000 APIs; one login binds at most 50\.$/],
    [{ service: "" }, /^--service names the service ""; write one such as postgresql/],
    [{ service: "post gres" }, /^--service names the service "post gres"/],
  ] as const)
    assert.throws(() => bindOptions(values, {}), { code: "Usage", message });
  assert.throws(
    () => bindApiServiceOptions({ file: "f", remoteKubeconfig: "k", api: ["a.b"] }, undefined, {}),
    {
      code: "Usage",
      message: /--api cannot be used with apiservice, where the manifest names the APIs/,
    },
  );
});

test("--device needs the names of APIs, and is no flag of a manifest", () => {
  const device = true;
  assert.equal(bindOptions({}, {}).device, false);
  for (const wish of [{ service: "postgresql" }, { api: ["backups"] }, { all: true }])
    assert.equal(bindOptions({ device, ...wish }, {}).device, true);
  assert.throws(() => bindOptions({ device }, {}), /--device needs --service, --api or --all, because/);
  assert.throws(
    () => bindApiServiceOptions({ device, file: "-", remoteKubeconfig: "k" }, undefined, {}),
    /--device cannot be used with apiservice/,
  );
});
