import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError } from "@klutch/program";
import { readConfig } from "./config.ts";

const key = Buffer.alloc(32, 1).toString("base64");
const good = [
  "--oidc-issuer-url=https://idp.example.org",
  "--oidc-issuer-client-id=klutch",
  "--oidc-issuer-client-secret=very-secret",
  "--oidc-callback-url=https://bind.example.org/callback",
  `--cookie-signing-key=${key}`,
];

test("good flags are read; enumerations do not mind case", async () => {
  const config = await readConfig(
    [...good, "--consumer-scope=CLUSTER", "--cluster-scoped-isolation=none"],
    {},
  );
  assert.equal(config.consumerScope, "Cluster");
  assert.equal(config.clusterScopedIsolation, "None");
  assert.equal(config.port, 8080);
  assert.equal(config.credentialSeconds, 86_400);
});

test("every fault is reported at once, by flag, without the value of a secret", async () => {
  const bad = [
    "--oidc-issuer-url=nowhere",
    "--oidc-issuer-client-secret=very-secret",
    "--cookie-signing-key=dG9vIHNob3J0",
    "--cookie-encryption-key=dG9vIHNob3J0",
    "--cluster-scoped-isolation=sometimes",
    "--external-address=http://plain.example.org",
    "--tls-cert-file=/does/not/exist",
    "--credential-lifetime=1m",
  ];
  await assert.rejects(readConfig(bad, {}), (error) => {
    assert.ok(error instanceof ConfigError);
    for (const flag of [
      "--oidc-issuer-url",
      "--oidc-issuer-client-id is required",
      "--oidc-callback-url is required",
      "--cookie-signing-key: has 9 bytes",
      "--cookie-encryption-key: has 9 bytes",
      "--cluster-scoped-isolation",
      "--external-address",
      "--tls-cert-file and --tls-key-file must be set together",
      "--tls-cert-file: /does/not/exist",
      "--credential-lifetime",
    ]) {
      assert.ok(error.message.includes(flag), `${flag} is missing in:\n${error.message}`);
    }
    assert.ok(!error.message.includes("very-secret") && !error.message.includes("dG9v"));
    return true;
  });
});

test("a 64-byte signing key goes together with an encryption key, and secrets may come from the environment", async () => {
  const signing = Buffer.alloc(64, 1).toString("base64");
  const args = good.filter((flag) => !flag.includes("secret") && !flag.includes("signing"));
  const env = {
    OIDC_CLIENT_SECRET: "s",
    COOKIE_SIGNING_KEY: signing,
    COOKIE_ENCRYPTION_KEY: Buffer.alloc(16).toString("base64"),
  };
  const { cookieKeys } = await readConfig(args, env);
  assert.equal(cookieKeys.signing.reveal().length, 64);
  assert.equal(cookieKeys.encryption?.reveal().length, 16);
});

test("control-plane mode needs no login, and with any flag of the login it needs all of them", async () => {
  const config = await readConfig(["--control-plane-mode"], { OIDC_CLIENT_SECRET: "unused" });
  assert.equal(config.controlPlaneMode, true);
  assert.equal(config.servesLogin, false);
  assert.equal(config.cookieKeys.signing.reveal().length, 0);
  assert.match(config.konnectorImage, /\/konnector:v/);
  const both = await readConfig(["--control-plane-mode", "--konnector-image=example.org/k:1", ...good], {});
  assert.equal(both.servesLogin, true);
  assert.equal(both.konnectorImage, "example.org/k:1");
  await assert.rejects(
    readConfig(["--control-plane-mode", "--oidc-issuer-url=https://idp.example.org"], {}),
    /--oidc-callback-url is required/,
  );
  assert.equal((await readConfig(good, {})).controlPlaneMode, false);
});

test("URLs of the login are https; http is for this machine only", async () => {
  const flags = ["oidc-issuer-url", "oidc-callback-url", "oidc-authorize-url", "allowed-redirect"];
  for (const name of flags) {
    const others = good.filter((flag) => !flag.startsWith(`--${name}=`));
    const read = (value: string): Promise<unknown> => readConfig([...others, `--${name}=${value}`], {});
    for (const value of [
      "http://idp.example.org/x",
      "http://127.0.0.1.example.org/",
      "http://localhost.example.org/",
      "ftp://idp.example.org/",
      "javascript:alert(1)",
    ]) {
      await assert.rejects(read(value), (error) => {
        assert.ok(error instanceof ConfigError, `${name}=${value}`);
        assert.ok(error.message.includes(`--${name}: ${JSON.stringify(value)} must start with https://`));
        return true;
      });
    }
    await assert.rejects(read("https://user:word@idp.example.org/"), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(error.message, /must not contain a user or a password/);
      assert.doesNotMatch(error.message, /word@/);
      return true;
    });
    for (const value of [
      "http://127.0.0.1:5556/dex",
      "http://localhost/x",
      "http://[::1]:1/x",
      "https://a.b/c",
    ])
      await read(value);
  }
});

test("overrides may name images of the own repository, or of those that are given", async () => {
  const own = await readConfig(["--control-plane-mode", "--konnector-image=example.org:5000/k:1"], {});
  assert.deepEqual(own.allowedImagePrefixes, ["example.org:5000/k"]);
  const given = [
    "--control-plane-mode",
    "--allowed-image-prefix=a.example.org/",
    "--allowed-image-prefix=b/c",
  ];
  assert.deepEqual((await readConfig(given, {})).allowedImagePrefixes, ["a.example.org/", "b/c"]);
  await assert.rejects(
    readConfig(["--control-plane-mode", "--allowed-image-prefix="], {}),
    /--allowed-image-prefix: is empty/,
  );
});

test("limits have sensible defaults and are whole numbers from 1", async () => {
  const { limits } = await readConfig(["--control-plane-mode", "--max-clusters=7"], {});
  assert.deepEqual(limits, {
    clusters: 7,
    clustersPerUser: 50,
    namespacesPerCluster: 500,
    requestsPerCluster: 100,
  });
  for (const value of ["0", "-1", "1.5", "many", ""]) {
    await assert.rejects(
      readConfig(["--control-plane-mode", `--max-namespaces-per-cluster=${value}`], {}),
      /--max-namespaces-per-cluster: .* must be a whole number/,
    );
  }
});

test("an unlimited lifetime of credentials is asked for by that word", async () => {
  const config = await readConfig([...good, "--credential-lifetime=unlimited"], {});
  assert.equal(config.credentialSeconds, undefined);
});

test("programs bind only if they are named, with a scope that has a default, and beside a login", async () => {
  assert.equal((await readConfig(good, {})).oidc.ci, undefined);
  const { oidc } = await readConfig(
    [...good, "--ci-clients=a", "--ci-clients=b", "--ci-audience=klutch"],
    {},
  );
  assert.deepEqual(oidc.ci, { clients: ["a", "b"], scope: "klutch/bind", audiences: ["klutch"] });
  const faults: readonly (readonly [readonly string[], RegExp])[] = [
    [[...good, "--ci-clients="], /--ci-clients: "" must be an id/],
    [[...good, "--ci-clients=a b"], /--ci-clients: "a b" must be an id of 1 to 200 visible ASCII characters/],
    [[...good, "--ci-scope=two words"], /--ci-scope: "two words" is not a scope/],
    [[...good, "--ci-scope="], /--ci-scope/],
    [["--control-plane-mode", "--ci-clients=a"], /--ci-clients needs a login/],
  ];
  for (const [args, words] of faults)
    await assert.rejects(
      readConfig(args, {}),
      (error) => error instanceof ConfigError && words.test(error.message),
    );
});

test("people act only in a console", async () => {
  assert.equal((await readConfig(good, {})).consoleActs, false);
  await assert.rejects(
    readConfig([...good, "--console-actions"], {}),
    /--console-actions=true needs a console: set --console-assets/,
  );
});

test("logins on another device need a public client of their own", async () => {
  assert.equal((await readConfig(good, {})).oidc.deviceClientId, undefined);
  const { oidc } = await readConfig([...good, "--oidc-device-client-id=klutch-device"], {});
  assert.equal(oidc.deviceClientId, "klutch-device");
  for (const [id, words] of [
    ["a b", /--oidc-device-client-id: "a b" must be an id of 1 to 200 visible ASCII characters/],
    ["", /--oidc-device-client-id: "" must be an id/],
    [oidc.clientId, /must be another client than --oidc-issuer-client-id, and public/],
  ] as const)
    await assert.rejects(
      readConfig([...good, `--oidc-device-client-id=${id}`], {}),
      (error) => error instanceof ConfigError && words.test(error.message),
    );
});
