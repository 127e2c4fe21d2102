/** Server-side apply of upstream objects. */
import { type ApplyOptions, isInvalid, type KubeClient } from "@klutch/kube";
import { type DynamicObject, isRecord, refOfObject, type ResourceType } from "@klutch/kube-core";
import { replaceVersions, versionsInTheWay } from "./managed-versions.ts";

/** Most versions of one kind that may have been removed since its object was last applied. */
const mostRounds = 8;

/**
 * Applies `content`, also to an object that was last written in another version. Throws the server's refusal when it is about
 * something else than the cases below.
 */
export async function applyUpstream(
  client: Pick<KubeClient, "apply" | "find" | "jsonPatch">,
  type: ResourceType,
  content: DynamicObject,
  options: ApplyOptions,
): Promise<DynamicObject> {
  const { fieldManager, signal } = options;
  for (let round = 0; ; round++) {
    try {
      return await applyWithEmptyMaps(client, type, content, options);
    } catch (error) {
      const inTheWay = round < mostRounds ? versionsInTheWay(error) : undefined;
      if (inTheWay === undefined) throw error;
      const ref = refOfObject(content);
      if (!(await replaceVersions(client, type, ref, inTheWay, { fieldManager, signal }))) throw error;
    }
  }
}

/**
 * A kube-apiserver makes null of a map of which an apply takes all that it had, and then refuses the null. So empty maps are left out first, and
 * put back by a second apply. Throws the server's first refusal when it is about something else.
 */
async function applyWithEmptyMaps(
  client: Pick<KubeClient, "apply">,
  type: ResourceType,
  content: DynamicObject,
  options: ApplyOptions,
): Promise<DynamicObject> {
  try {
    return await client.apply<DynamicObject>(type, content, options);
  } catch (error) {
    if (!isInvalid(error) || !error.message.includes('Invalid value: "null"')) throw error;
    const { apiVersion, kind, metadata, ...rest } = content;
    await client.apply<DynamicObject>(
      type,
      { ...withoutEmptyMaps(rest), apiVersion, kind, metadata },
      options,
    );
    return client.apply<DynamicObject>(type, content, options);
  }
}

/** A map that is empty without those inside it is left out, too. What lists hold stays. */
function withoutEmptyMaps(map: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(map).map(
    ([name, value]) => [name, isRecord(value) ? withoutEmptyMaps(value) : value] as const,
  );
  return Object.fromEntries(entries.filter(([, value]) => !isRecord(value) || Object.keys(value).length > 0));
}
