import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError } from "@klutch/program";
import { parseConfig } from "./config.ts";

const parse = (args: readonly string[], env: Record<string, string> = {}): ReturnType<typeof parseConfig> =>
  parseConfig({ args, env, randomName: () => "random" });

function faultsOf(args: readonly string[]): readonly string[] {
  try {
    parse(args);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

test("without flags the defaults of the shipped manifests hold", () => {
  assert.deepEqual(parse([]), {
    kubeconfig: undefined,
    leaseName: "klutch-bind",
    leaseNamespace: "kube-system",
    identity: "random",
    probeHost: undefined,
    probePort: 8080,
    logLevel: "info",
    installCrd: true,
    timing: { massDeletionLimit: 5, canaryMs: 60_000, providerObjectsLimit: 1_000 },
    controlPlane: undefined,
    ownBind: undefined,
    updates: undefined,
  });
});

test("the canary's pace is in seconds, 0 switches it off, and a fault names what would be right", () => {
  assert.equal(parse(["--canary-seconds=0"]).timing.canaryMs, 0);
  assert.equal(parse(["--canary-seconds=5"]).timing.canaryMs, 5_000);
  assert.throws(
    () => parse(["--canary-seconds=-1"]),
    /--canary-seconds.*-1.*must be 0 \(no canary\) to 3600/,
  );
});

test("the pod's name and namespace become lease identity and lease namespace; a flag wins", () => {
  const env = { POD_NAME: "pod", POD_NAMESPACE: "ns" };
  const { identity, leaseNamespace } = parse([], env);
  assert.deepEqual([identity, leaseNamespace], ["pod", "ns"]);
  assert.equal(parse(["--lease-namespace=other"], env).leaseNamespace, "other");
});

test("flags of existing manifests are understood, also the log flags", () => {
  const config = parse([
    "--kubeconfig=/k",
    "--lease-name=l",
    "-v=5",
    "--vmodule=a=1",
    "--logging-format=json",
  ]);
  assert.equal(config.kubeconfig, "/k");
  assert.equal(config.leaseName, "l");
  assert.equal(config.logLevel, "debug");
});

test("control-plane mode names every missing flag", () => {
  const faults = faultsOf(["--control-plane-mode", "--app-cluster-kubeconfig-secret-key="]);
  for (const flag of [
    "--app-cluster-kubeconfig-secret-name",
    "--app-cluster-kubeconfig-secret-namespace",
    "--app-cluster-kubeconfig-secret-key",
    "--binding-root-namespace",
  ]) {
    assert.ok(
      faults.some((fault) => fault.startsWith(`${flag} `) || fault.startsWith(`${flag}: `)),
      flag,
    );
  }
});

test("control-plane mode takes Secret, namespace, key and root namespace from its flags", () => {
  const { controlPlane } = parse([
    "--control-plane-mode",
    "--app-cluster-kubeconfig-secret-name=kc",
    "--app-cluster-kubeconfig-secret-namespace=root",
    "--binding-root-namespace=root",
  ]);
  assert.deepEqual(controlPlane, {
    secretName: "kc",
    secretNamespace: "root",
    secretKey: "kubeconfig",
    rootNamespace: "root",
  });
  assert.match(faultsOf(["--mass-deletion-limit=-1"])[0] ?? "", /: "-1" must be 0 \(never hold\) or more/);
});

test("the konnector's own bind needs an https URL of the route and the name of an AppCluster, and excludes control-plane mode", () => {
  const url = "https://klutch.example.org/bind-app-cluster";
  assert.deepEqual(parse([`--bind-url=${url}`, "--app-cluster=prod"]).ownBind, {
    url,
    appCluster: "prod",
    tokenFile: "/var/run/secrets/klutch/token",
  });
  for (const [args, words] of [
    [[`--bind-url=${url}`], /^--app-cluster is "", must be the name of an AppCluster/],
    [[`--bind-url=${url}`, "--app-cluster=Prod EU"], /^--app-cluster is "Prod EU", must be/],
    [
      ["--bind-url=http://klutch.example.org/bind-app-cluster", "--app-cluster=prod"],
      /^--bind-url is .*https/,
    ],
    [["--bind-url=https://klutch.example.org", "--app-cluster=prod"], /^--bind-url is .*\/bind-app-cluster/],
    [["--app-cluster=prod"], /^--app-cluster is only used with --bind-url/],
  ] as const)
    assert.match(faultsOf(args)[0] ?? "", words);
});

test("APIs are bound by themselves by groups that are named, never by a wildcard, and only with the own bind", () => {
  const own = ["--bind-url=https://klutch.example.org/bind-app-cluster", "--app-cluster=prod"];
  const groups = "--auto-bind-groups=anynines.com, example.org";
  const except = "--auto-bind-except=queues.example.org";
  assert.deepEqual(parse([...own, groups, except]).ownBind?.autoBind, {
    groups: ["anynines.com", "example.org"],
    except: ["queues.example.org"],
  });
  assert.deepEqual(parse([...own, groups]).ownBind?.autoBind?.except, []);
  for (const [args, words] of [
    [[groups], /^--auto-bind-groups is only used with --bind-url/],
    [[...own, except], /^--auto-bind-except is only used with --auto-bind-groups/],
    [[...own, "--auto-bind-groups=*"], /^--auto-bind-groups has "\*", must be API groups .*no wildcards/],
    [[...own, "--auto-bind-groups=anynines.com,"], /^--auto-bind-groups has ""/],
    [[...own, "--auto-bind-groups=apps"], /^--auto-bind-groups has "apps"/],
    [[...own, "--auto-bind-groups=klutch.anynines.com"], /^--auto-bind-groups has "klutch/],
    [
      [...own, groups, "--auto-bind-except=queues"],
      /^--auto-bind-except has "queues", must be names of APIs/,
    ],
  ] as const)
    assert.match(faultsOf(args)[0] ?? "", words);
});

test("all faults are listed at once", () => {
  assert.equal(faultsOf(["--probe-port=x", "--log-level=loud", "--lease-name="]).length, 3);
  assert.match(faultsOf(["--unknown"])[0] ?? "", /--unknown/);
});

test("the limit of the provider's objects is a number that is not negative", () => {
  assert.equal(parse(["--provider-objects-limit=5"]).timing.providerObjectsLimit, 5);
  for (const wrong of ["-1", "many", "1.5"])
    assert.match(
      faultsOf([`--provider-objects-limit=${wrong}`])[0] ?? "",
      /--provider-objects-limit: ".*" must be 0/,
    );
});

test("updates are followed only where repository, line and lowest version are said, and never in control-plane mode", () => {
  const repository = "--update-repository=registry.example.org/klutch/konnector";
  const all = ["--follow-updates=patch", repository, "--update-floor=v1.6.0"];
  assert.deepEqual(parse(all).updates, {
    line: "patch",
    repository: "registry.example.org/klutch/konnector",
    floor: "v1.6.0",
  });
  assert.equal(parse([]).updates, undefined);
  const faults: readonly (readonly [readonly string[], RegExp])[] = [
    [[repository], /^--update-repository is only used with --follow-updates/],
    [["--follow-updates=patch", repository], /^--update-floor is "", must be the version of a release/],
    [[...all, "--update-floor=v1.6"], /^--update-floor is "v1\.6"/],
    [["--follow-updates=minor", "--update-floor=v1.6.0"], /^--update-repository: is "", which is empty/],
    [
      [...all, "--update-repository=example.org/a:v1"],
      /^--update-repository: is "example\.org\/a:v1", which has a tag|whose part/,
    ],
  ];
  for (const [args, words] of faults) assert.match(faultsOf(args)[0] ?? "", words);
});
