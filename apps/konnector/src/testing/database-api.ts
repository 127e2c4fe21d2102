/** An API whose claims have conditions and name the Secret with their credentials, as the shipped services do. */
import { anyObject, crdObject } from "@klutch/kube-testing";
import { type TestApi, testApi } from "./fixture.ts";

const text = { type: "string" };

/** Schema of conditions of which these fields are required besides `type` and `status`. */
export function conditionsWith(...required: readonly string[]): object {
  return {
    type: "array",
    items: {
      type: "object",
      required: ["type", "status", ...required],
      properties: {
        type: text,
        status: { type: "string", enum: ["True", "False", "Unknown"] },
        reason: text,
        message: text,
        lastTransitionTime: { type: "string", format: "date-time" },
        observedGeneration: { type: "integer", format: "int64" },
      },
    },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
  };
}

/** Makes it. */
export function databaseApi(plural: string, kind: string): TestApi {
  const { type, name } = testApi(plural, kind);
  const number = { type: "integer", format: "int64" };
  const status = {
    type: "object",
    properties: { observedGeneration: number, conditions: conditionsWith(), managed: anyObject },
  };
  return { type, name, crd: crdObject(type, { properties: { spec: anyObject, status }, hasStatus: true }) };
}

/** The status of an object that is ready, with its credentials in this Secret. */
export function readyStatus(secret: string, message = ""): object {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return {
    conditions: [{ type: "Ready", status: "True", reason: "Available", message, lastTransitionTime }],
    managed: { credentials: { name: secret, keys: ["password"] } },
  };
}
