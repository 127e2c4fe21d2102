/** Sends an operation to a server. */
import type { KubeClient } from "@klutch/kube";
import type { KubeObject, ObjectRef } from "@klutch/kube-core";
import type { Json, JsonObject } from "../json.ts";
import type { Operation } from "./operations.ts";

/** Sends an operation whose placeholders are filled in. */
export async function perform(client: KubeClient, operation: Operation, body: Json): Promise<unknown> {
  const { type, namespace, name, manager, subresource, force } = operation;
  const ref: ObjectRef = { namespace, name };
  const options = { fieldManager: manager, subresource };
  switch (operation.verb) {
    case "create":
      return client.create(type, body as unknown as KubeObject, options);
    case "replace":
      return client.replace(type, body as unknown as KubeObject, options);
    case "edit": {
      // Read, change, write back: the update that most programs send.
      const found = await client.get<KubeObject>(type, ref);
      return client.replace(
        type,
        edited(found as unknown as JsonObject, body) as unknown as KubeObject,
        options,
      );
    }
    case "apply":
      return client.apply(type, body as unknown as KubeObject, { ...options, force });
    case "mergePatch":
      return client.mergePatch(type, ref, body as object, options);
    case "jsonPatch":
      return client.jsonPatch(type, ref, body as readonly object[], options);
    case "delete":
      return client.delete(type, ref, body as object);
    case "get":
      return client.get(type, ref);
    case "list": {
      const page = await client.list(type, { namespace, labelSelector: operation.selector });
      return page.items;
    }
    default:
      return operation.verb satisfies never;
  }
}

function edited(target: JsonObject, changes: Json): JsonObject {
  const result: Record<string, Json> = { ...target };
  for (const [field, value] of Object.entries(changes as JsonObject)) {
    const before = result[field];
    const isInner = (part: Json | undefined): part is JsonObject =>
      typeof part === "object" && part !== null && !Array.isArray(part);
    if (value === null) delete result[field];
    else if (isInner(value) && isInner(before)) result[field] = edited(before, value);
    else result[field] = value;
  }
  return result;
}
