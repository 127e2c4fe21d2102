/** Explains one claim in the console, from objects that are read from the API server at that moment. */
import type { KubeClient } from "@klutch/kube";
import type { DynamicObject, ResourceType } from "@klutch/kube-core";
import { choosesComposition, explain, type Explanation, type InstanceRow, viewOf } from "@klutch/overview";
import { readComposed } from "@klutch/overview/read";
import { UserError } from "../errors.ts";

const timeoutMs = 10_000;

/** Returns the way of the claim of a row, which the caller has checked. Rejects with `UserError` 404 or 503. */
export async function explainRow(
  client: KubeClient,
  type: ResourceType | undefined,
  { id, api, namespace }: InstanceRow,
): Promise<Explanation> {
  const signal = AbortSignal.timeout(timeoutMs);
  const [, place = "", name = ""] = id.split("/");
  if (type === undefined) throw gone();
  try {
    const object = await client.find<DynamicObject>(type, { namespace: place, name }, { signal });
    if (object === undefined) throw gone();
    const above = await readComposed({ client, signal }, type, object);
    return explain({
      // Commands are for the app cluster, whose namespace the person knows.
      claim: { ...viewOf(object), namespace },
      from: "control plane",
      api,
      plural: type.plural,
      choosesComposition: choosesComposition(object),
      binding: undefined,
      agent: "unknown",
      warnings: [],
      secret: "unknown",
      usualMs: undefined,
      above,
    });
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new UserError(
      503,
      "The control plane does not show the claim at the moment.",
      "Try again in a minute. If it goes on, ask the platform operator.",
      { cause },
    );
  }
}

function gone(): UserError {
  return new UserError(404, "The claim is gone.", "Choose one from the list of instances.");
}
