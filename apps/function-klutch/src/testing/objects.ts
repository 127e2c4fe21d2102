/** Claims of the Compositions that make objects in the cluster. */
import assert from "node:assert/strict";
import { claimNameLabel, claimNamespaceLabel } from "@klutch/api";
import type { ComposeRequest, ComposeResponse, Json } from "@klutch/crossplane";
import { isRecord, listAt, recordAt, valueAt } from "@klutch/kube-core";
import { compositionsOf, legacy } from "@klutch/services";
import { compose } from "../compose.ts";

/** The input of a Composition of the package. */
function inputOf(name: string): Json {
  const found = compositionsOf(legacy).find(({ metadata }) => metadata.name === name);
  const input = valueAt(listAt(found?.spec, "pipeline")[0], "input");
  assert.ok(isRecord(input), name);
  return input;
}

/** Inputs of the four Compositions of objects. */
export const inputs: Readonly<Record<"instance" | "binding" | "backup" | "restore", Json>> = {
  instance: inputOf("a8s-postgresql"),
  binding: inputOf("a8s-servicebinding"),
  backup: inputOf("a8s-backup"),
  restore: inputOf("a8s-restore"),
};
export const labels: Readonly<Record<string, string>> = {
  [claimNameLabel]: "db",
  [claimNamespaceLabel]: "team",
};

/** Builds a request for the claim `team/db`; `observed` is the existing composed resource. */
export function request(kind: keyof typeof inputs, spec: Json, observed?: Json): ComposeRequest {
  return {
    composite: { kind: "XSomething", metadata: { name: "db-x1", labels }, spec },
    observed: observed === undefined ? {} : { managed: { resource: observed, connection: {} } },
    input: inputs[kind],
  };
}

export const instanceSpec = { service: "a9s-postgresql13", plan: "postgresql-replica-small" };
export const bindingSpec = { instanceRef: "orders", serviceInstanceType: "postgresql" };

/** The Object that is composed. */
export const objectOf = ({ resources }: ComposeResponse): Json => resources["managed"]?.resource ?? {};
/** Returns the manifest in the composed Object. */
export const manifestOf = (response: ComposeResponse): unknown =>
  valueAt(objectOf(response), "spec", "forProvider", "manifest");

/** The Object of a request as it exists, with what the operator's object has besides and the Object's own conditions. */
export function living(
  kind: keyof typeof inputs,
  spec: Json,
  made: Json,
  conditions: readonly Json[] = [{ type: "Ready", status: "False", reason: "Unavailable" }],
): Json {
  const object = objectOf(compose(request(kind, spec)));
  const manifest = { ...recordAt(object, "spec", "forProvider", "manifest"), ...made };
  return { ...object, status: { atProvider: { manifest }, conditions } };
}
