import assert from "node:assert/strict";
import { test } from "node:test";
import { isImageWithin, overrideFaults, repositoryOf } from "./override-policy.ts";
import { strategicMerge } from "./strategic-merge.ts";

const generated = {
  name: "konnector",
  resources: { limits: { memory: "512Mi" } },
  env: [{ name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
  image: "example.org/klutch/konnector:v1",
  args: ["--control-plane-mode"],
  ports: [{ name: "health", containerPort: 8080 }],
  livenessProbe: { httpGet: { path: "/healthz", port: 8080 } },
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  },
};
const faults = (overrides: Readonly<Record<string, unknown>>): readonly string[] =>
  overrideFaults(strategicMerge(generated, overrides), generated, ["example.org/klutch/konnector"]);

for (const [what, overrides] of [
  ["nothing", {}],
  ["limits and requests", { resources: { limits: { cpu: "1" }, requests: { memory: "1Gi" } } }],
  ["the most that it may have", { resources: { limits: { cpu: 4, memory: "8Gi" } } }],
  [
    "variables",
    {
      env: [
        { name: "TZ", value: "UTC" },
        { name: "GOMEMLIMIT", value: "400MiB" },
      ],
    },
  ],
  ["the size of the heap", { env: [{ name: "NODE_OPTIONS", value: "--max-old-space-size=900" }] }],
  ["probes", { readinessProbe: { periodSeconds: 3 }, livenessProbe: null }],
  ["a wait before its end", { lifecycle: { preStop: { sleep: { seconds: 3 } }, stopSignal: "SIGINT" } }],
  ["a probe's header", { livenessProbe: { httpGet: { port: 1, host: "", httpHeaders: [] } } }],
  ["args", { args: ["--v=4"], imagePullPolicy: "Always" }],
  ["defaults that are spelt out", { stdin: false, workingDir: "", envFrom: [] }],
  ["a port", { ports: [{ containerPort: 9090, name: "more", protocol: "TCP" }] }],
  ["a port that says that it has none on the node", { ports: [{ containerPort: 9, hostPort: 0 }] }],
  ["another tag", { image: "example.org/klutch/konnector:v2" }],
  ["what the security context says already", { securityContext: { allowPrivilegeEscalation: false } }],
  ["a user", { securityContext: { runAsUser: 1000, runAsGroup: 0, runAsNonRoot: true } }],
  ["a default profile", { securityContext: { seccompProfile: { type: "RuntimeDefault" } } }],
  ["more dropped capabilities", { securityContext: { capabilities: { drop: ["ALL", "CHOWN"] } } }],
] as const) {
  test(`overrides of ${what} are allowed`, () => {
    assert.deepEqual(faults(overrides), []);
  });
}

for (const [field, overrides] of [
  ["privileged", { securityContext: { privileged: true } }],
  ["allowPrivilegeEscalation", { securityContext: { allowPrivilegeEscalation: true } }],
  ["allowPrivilegeEscalation", { securityContext: { allowPrivilegeEscalation: null } }],
  ["allowPrivilegeEscalation", { securityContext: null }],
  ["allowPrivilegeEscalation", { securityContext: { $patch: "replace", runAsUser: 7 } }],
  ["capabilities.add", { securityContext: { capabilities: { add: ["NET_ADMIN"] } } }],
  ["capabilities.drop", { securityContext: { capabilities: { drop: [] } } }],
  ["capabilities.drop", { securityContext: { capabilities: null } }],
  ["readOnlyRootFilesystem", { securityContext: { readOnlyRootFilesystem: false } }],
  ["runAsUser", { securityContext: { runAsUser: 0 } }],
  ["runAsNonRoot", { securityContext: { runAsNonRoot: false } }],
  ["procMount", { securityContext: { procMount: "Unmasked" } }],
  ["seccompProfile", { securityContext: { seccompProfile: { type: "Unconfined" } } }],
  ["appArmorProfile", { securityContext: { appArmorProfile: { type: "Unconfined" } } }],
  ["seLinuxOptions", { securityContext: { seLinuxOptions: { type: "spc_t" } } }],
  ["windowsOptions", { securityContext: { windowsOptions: { hostProcess: true } } }],
  ["a field of tomorrow", { securityContext: { "a field of tomorrow": true } }],
  ["ports[8080].hostPort", { ports: [{ containerPort: 8080, hostPort: 80 }] }],
  ["ports[9].hostIP", { ports: [{ containerPort: 9, hostIP: "0.0.0.0" }] }],
  ["livenessProbe.httpGet.host", { livenessProbe: { httpGet: { host: "169.254.169.254" } } }],
  ["startupProbe.tcpSocket.host", { startupProbe: { tcpSocket: { port: 1, host: "10.0.0.1" } } }],
  ["lifecycle.preStop.httpGet", { lifecycle: { preStop: { httpGet: { port: 1, host: "h" } } } }],
  ["command", { command: ["/bin/sh"] }],
  ["workingDir", { workingDir: "/tmp" }],
  ["name", { name: "other" }],
  ["envFrom", { envFrom: [{ secretRef: { name: "kubeconfig" } }] }],
  ["volumeMounts", { volumeMounts: [{ mountPath: "/data", name: "v" }] }],
  ["volumeDevices", { volumeDevices: [{ devicePath: "/dev/x", name: "v" }] }],
  ["tty", { tty: true }],
  ["restartPolicy", { restartPolicy: "Always" }],
  ["a field of tomorrow", { "a field of tomorrow": 1 }],
  ["env[LD_PRELOAD]", { env: [{ name: "LD_PRELOAD", value: "/tmp/x.so" }] }],
  ["env[HTTPS_PROXY]", { env: [{ name: "HTTPS_PROXY", value: "http://me:secret@proxy" }] }],
  ["env[NODE_TLS_REJECT_UNAUTHORIZED]", { env: [{ name: "NODE_TLS_REJECT_UNAUTHORIZED", value: "0" }] }],
  ["env[NODE_OPTIONS]", { env: [{ name: "NODE_OPTIONS", value: "--import=data:text/javascript,1" }] }],
  ["env[NODE_OPTIONS]", { env: [{ name: "NODE_OPTIONS", value: "--max-old-space-size=9\n--import=x" }] }],
  ["env[TZ].valueFrom", { env: [{ name: "TZ", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }] }],
  ["env[POD_NAME]", { env: [{ name: "POD_NAME", value: "other" }] }],
  ["resources.limits.cpu", { resources: { limits: { cpu: "1000" } } }],
  ["resources.requests.memory", { resources: { requests: { memory: "9Gi" } } }],
  ["resources.limits.nvidia.com/gpu", { resources: { limits: { "nvidia.com/gpu": 1 } } }],
  ["resources.limits.memory", { resources: null }],
  ["resources.claims", { resources: { claims: [{ name: "gpu" }] } }],
  ["readinessProbe.exec", { readinessProbe: { exec: { command: ["true"] } } }],
  ["lifecycle.postStart.exec", { lifecycle: { postStart: { exec: { command: ["true"] } } } }],
  ["image", { image: "konnector:v1" }],
  ["image", { image: null }],
] as const) {
  test(`overrides of ${field} as ${JSON.stringify(overrides)} are refused by name`, () => {
    const [first = "", ...others] = faults(overrides);
    assert.ok(first.startsWith("overrides.") && first.includes(`${field} is `), first);
    assert.match(first, /; /);
    if (!JSON.stringify(overrides).includes("null")) assert.ok(others.length <= 2);
  });
}

test("the value of a refused variable is not shown", () => {
  const [said = ""] = faults({ env: [{ name: "HTTPS_PROXY", value: "http://me:secret@proxy" }] });
  assert.doesNotMatch(said, /secret/);
  assert.match(said, /only .*TZ.* may be set/);
});

test("an image belongs to a prefix at the borders of its parts only", () => {
  const prefix = "example.org/klutch";
  for (const image of [prefix, `${prefix}:1`, `${prefix}/k:1`, `${prefix}@sha256:aa`]) {
    assert.ok(isImageWithin(image, prefix), image);
  }
  for (const image of [
    "example.org/klutch-evil:1",
    "example.orgx/klutch:1",
    "evil/example.org/klutch:1",
    "k",
  ]) {
    assert.ok(!isImageWithin(image, prefix), image);
  }
  assert.ok(isImageWithin("example.org/any:1", "example.org/"));
  assert.ok(isImageWithin("example.org/any:1", "example.org"));
  assert.ok(isImageWithin("example.org:5000/any:1", "example.org:5000"));
});

test("a prefix that is only a host covers no other port of that host", () => {
  assert.ok(!isImageWithin("example.org:5000/any:1", "example.org"));
  assert.ok(!isImageWithin("example.org:5000/any@sha256:aa", "example.org"));
  assert.ok(!isImageWithin("example.org:5000/any:1", "example.org:50"));
});

test("the repository of an image has neither tag nor digest", () => {
  assert.equal(repositoryOf("example.org:5000/a/b:v1"), "example.org:5000/a/b");
  assert.equal(repositoryOf("example.org:5000/a/b@sha256:0"), "example.org:5000/a/b");
  assert.equal(repositoryOf("example.org:5000/a/b:v1@sha256:0"), "example.org:5000/a/b");
  assert.equal(repositoryOf("example.org:5000/a/b"), "example.org:5000/a/b");
});
