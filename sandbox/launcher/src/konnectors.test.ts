import assert from "node:assert/strict";
import { test } from "node:test";
import { describeDeployment, expandVariables } from "./konnectors.ts";

test("variables in arguments are expanded as a kubelet does", () => {
  const env = { POD_NAME: "konnector-0", POD_NAMESPACE: "klutch-bind" };
  assert.deepEqual(
    expandVariables(["--id=$(POD_NAME)/$(POD_NAMESPACE)", "$(UNKNOWN)", "$$(POD_NAME)", "$POD_NAME"], env),
    ["--id=konnector-0/klutch-bind", "$(UNKNOWN)", "$(POD_NAME)", "$POD_NAME"],
  );
});

test("a Deployment gives the first container's arguments and its replicas, one by default", () => {
  const object = (spec: object) => ({ apiVersion: "apps/v1", kind: "Deployment", metadata: {}, spec });
  const template = { spec: { containers: [{ args: ["--a"] }, { args: ["--sidecar"] }] } };
  assert.deepEqual(describeDeployment(object({ replicas: 0, template })), { args: ["--a"], replicas: 0 });
  assert.deepEqual(describeDeployment(object({ template })), { args: ["--a"], replicas: 1 });
  assert.deepEqual(describeDeployment(undefined), { args: [], replicas: 1 });
});
