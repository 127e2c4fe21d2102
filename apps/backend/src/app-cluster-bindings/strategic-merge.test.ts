import assert from "node:assert/strict";
import { test } from "node:test";
import { type AppClusterBinding, konnectorRuntime } from "@klutch/api";
import { isRecord } from "@klutch/kube-core";
import { konnectorDeployment } from "./konnector-deployment.ts";
import { ownerOf } from "./names.ts";
import { strategicMerge } from "./strategic-merge.ts";

type Json = Readonly<Record<string, unknown>>;

const binding = (overrides?: Json): AppClusterBinding => ({
  apiVersion: "klutch.anynines.com/v1alpha1",
  kind: "AppClusterBinding",
  metadata: { namespace: "default", name: "app" },
  spec: {
    kubeconfigSecretRef: { namespace: "default", name: "creds", key: "kubeconfig" },
    konnector: { deploy: true, overrides },
  },
});
const at = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (found, step) => (Array.isArray(found) ? found[Number(step)] : isRecord(found) ? found[step] : undefined),
    value,
  );
const deployment = (overrides?: Json): unknown =>
  konnectorDeployment(ownerOf(binding(overrides)), "example.org/konnector:v1");
const container = (overrides?: Json): Json => {
  const found = at(deployment(overrides), "spec", "template", "spec", "containers", 0);
  assert.ok(isRecord(found));
  return found;
};
const base = container();
const envOf = (value: Json): ReadonlyMap<unknown, Json> => {
  const items: readonly unknown[] = Array.isArray(value["env"]) ? value["env"] : [];
  return new Map(items.filter(isRecord).map((item) => [item["name"], item]));
};

test("without overrides the container is the generated one, and empty overrides change nothing", () => {
  assert.deepEqual(container({}), base);
  assert.equal(base["name"], "konnector");
  assert.equal(base["image"], "example.org/konnector:v1");
  assert.deepEqual(base["args"], [
    "--control-plane-mode",
    "--app-cluster-kubeconfig-secret-name=creds",
    "--app-cluster-kubeconfig-secret-namespace=klutch-bind-default-app",
    "--app-cluster-kubeconfig-secret-key=kubeconfig",
    "--binding-root-namespace=klutch-bind-default-app",
    "--lease-namespace=$(POD_NAMESPACE)",
  ]);
  assert.equal(at(deployment(), "spec", "template", "spec", "serviceAccountName"), "klutch-binder");
});

test("the image is replaced and nothing else", () => {
  assert.deepEqual(container({ image: "mirror.example.org/k:2" }), {
    ...base,
    image: "mirror.example.org/k:2",
  });
});

test("limits are set beside the existing requests", () => {
  const { resources } = container({ resources: { limits: { cpu: "1" } } });
  assert.deepEqual(resources, {
    requests: { cpu: "50m", memory: "128Mi" },
    limits: { memory: "512Mi", cpu: "1" },
  });
});

test("one request is replaced beside the other", () => {
  const { resources } = container({ resources: { requests: { memory: "1Gi" } } });
  assert.deepEqual(at(resources, "requests"), { cpu: "50m", memory: "1Gi" });
  assert.deepEqual(at(resources, "limits"), { memory: "512Mi" });
});

/** Set for every konnector. */
const memoryVariables = Object.keys(konnectorRuntime);

test("a new variable joins POD_NAME and POD_NAMESPACE", () => {
  const names = [...envOf(container({ env: [{ name: "HTTPS_PROXY", value: "http://proxy:1" }] })).keys()];
  assert.deepEqual(names, ["POD_NAME", "POD_NAMESPACE", ...memoryVariables, "HTTPS_PROXY"]);
});

test("a variable of the same name is replaced in its place; a value displaces its source", () => {
  const merged = envOf(container({ env: [{ name: "POD_NAME", value: "fixed" }] }));
  assert.deepEqual([...merged.keys()], ["POD_NAME", "POD_NAMESPACE", ...memoryVariables]);
  assert.deepEqual(merged.get("POD_NAME"), { name: "POD_NAME", value: "fixed" });
});

test("a readiness probe of another kind replaces the handler and keeps the times", () => {
  const { readinessProbe } = container({ readinessProbe: { exec: { command: ["true"] }, periodSeconds: 3 } });
  assert.deepEqual(readinessProbe, { exec: { command: ["true"] }, periodSeconds: 3, timeoutSeconds: 5 });
});

test("a readiness probe of the same kind is merged", () => {
  const { readinessProbe } = container({ readinessProbe: { httpGet: { path: "/other", port: 9 } } });
  assert.deepEqual(readinessProbe, {
    httpGet: { path: "/other", port: 9 },
    periodSeconds: 10,
    timeoutSeconds: 5,
  });
});

test("volume mounts are merged by their path", () => {
  const mounts = [
    { mountPath: "/a", name: "one", readOnly: true },
    { mountPath: "/b", name: "two" },
  ];
  const patch = { volumeMounts: [{ mountPath: "/a", readOnly: false }] };
  assert.deepEqual(strategicMerge({ volumeMounts: mounts }, patch)["volumeMounts"], [
    { mountPath: "/a", name: "one", readOnly: false },
    { mountPath: "/b", name: "two" },
  ]);
  assert.deepEqual(container({ volumeMounts: mounts })["volumeMounts"], mounts);
});

test("ports are merged by their number", () => {
  const { ports } = container({
    ports: [
      { containerPort: 8080, name: "probes" },
      { containerPort: 9090, name: "more" },
    ],
  });
  assert.deepEqual(ports, [
    { name: "probes", containerPort: 8080 },
    { containerPort: 9090, name: "more" },
  ]);
});

test("args and command replace as a whole", () => {
  const merged = container({ args: ["--only"], command: ["/bin/konnector"] });
  assert.deepEqual(merged["args"], ["--only"]);
  assert.deepEqual(merged["command"], ["/bin/konnector"]);
});

test("args, name and probes stay when something else is overridden", () => {
  const merged = container({ workingDir: "/tmp" });
  for (const field of ["args", "name", "livenessProbe", "readinessProbe", "securityContext"]) {
    assert.deepEqual(merged[field], base[field], field);
  }
});

test("the security context is merged field by field", () => {
  assert.deepEqual(container({ securityContext: { runAsUser: 7 } })["securityContext"], {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
    runAsUser: 7,
  });
});

test("false, 0, the empty text and empty lists can be set, which the existing backend drops", () => {
  const merged = container({
    securityContext: { readOnlyRootFilesystem: false, runAsUser: 0, capabilities: { drop: [] } },
    workingDir: "",
    stdin: false,
    args: [],
    env: [],
    readinessProbe: { initialDelaySeconds: 0 },
  });
  assert.equal(at(merged, "securityContext", "readOnlyRootFilesystem"), false);
  assert.equal(at(merged, "securityContext", "runAsUser"), 0);
  assert.deepEqual(at(merged, "securityContext", "capabilities", "drop"), []);
  assert.equal(merged["workingDir"], "");
  assert.equal(merged["stdin"], false);
  assert.deepEqual(merged["args"], []);
  assert.deepEqual(merged["env"], []);
  assert.equal(at(merged, "readinessProbe", "initialDelaySeconds"), 0);
});

test("null removes a field, $patch: delete removes an item, and neither leaves a trace", () => {
  const merged = container({
    livenessProbe: null,
    resources: { limits: { memory: null } },
    env: [{ name: "POD_NAME", $patch: "delete" }],
    ports: [{ containerPort: 8080, $patch: "delete" }],
    lifecycle: { preStop: { exec: { command: ["a"] }, httpGet: null } },
  });
  assert.equal("livenessProbe" in merged, false);
  assert.deepEqual(at(merged, "resources", "limits"), {});
  assert.deepEqual([...envOf(merged).keys()], ["POD_NAMESPACE", ...memoryVariables]);
  assert.deepEqual(merged["ports"], []);
  assert.deepEqual(merged["lifecycle"], { preStop: { exec: { command: ["a"] } } });
  assert.ok(!JSON.stringify(merged).includes("$patch") && !JSON.stringify(merged).includes("null"));
});

test("$patch: replace puts an object in the place of the old one; merging changes neither input", () => {
  const before = structuredClone(base);
  const merged = strategicMerge(base, { resources: { $patch: "replace", limits: { cpu: "2" } } });
  assert.deepEqual(merged["resources"], { limits: { cpu: "2" } });
  assert.deepEqual(base, before);
});
