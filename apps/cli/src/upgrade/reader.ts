/** Reads of a cluster before an upgrade: GET only, bounded, and what may not be read blocks the upgrade. */
import { crdNameOf } from "@klutch/api";
import type { DynamicObject, ObjectRef, ResourceType } from "@klutch/kube-core";
import { isForbidden, isNotFound, type KubeClient, type ListOptions } from "@klutch/kube";
import type { Obstacle } from "./report.ts";

/** A cluster that is only read. */
export interface ClusterReader {
  /** All objects of a resource; none when it is not served or may not be listed. */
  list(
    type: ResourceType,
    options?: Pick<ListOptions, "namespace" | "metadataOnly">,
  ): Promise<readonly DynamicObject[]>;
  /** Reads one object; undefined if it does not exist or may not be read. */
  find(type: ResourceType, ref: ObjectRef): Promise<DynamicObject | undefined>;
  /** The answer to a GET of a path. */
  get(path: string): Promise<unknown>;
  /** Resources that could not be read, so their state is unknown. */
  readonly unread: readonly Obstacle[];
}

/** More objects of a resource are not looked at. */
export const mostObjects = 20_000;

/** A reader by this client. `most` objects of each resource are looked at, by default 20,000. */
export function createReader(
  client: KubeClient,
  signal: AbortSignal,
  most: number = mostObjects,
): ClusterReader {
  const unread = new Map<string, Obstacle>();
  const forbidden = (type: ResourceType, verb: string, error: unknown): void => {
    if (!isForbidden(error)) throw error;
    const object = resourceText(type);
    const expected = `a credential that may ${verb} them; run the command with one, such as an administrator's`;
    unread.set(object, { object, field: "rights", value: `${verb} is forbidden`, expected });
  };
  return {
    get unread() {
      return [...unread.values()];
    },
    async list(type, options = {}) {
      const items: DynamicObject[] = [];
      try {
        for await (const item of client.listAll<DynamicObject>(type, { ...options, signal })) {
          if (items.length === most) {
            unread.set(resourceText(type), tooMany(type, most));
            break;
          }
          items.push(item);
        }
      } catch (error) {
        if (!isNotFound(error)) forbidden(type, "list", error);
      }
      return items;
    },
    async find(type, ref) {
      try {
        return await client.find<DynamicObject>(type, ref, { signal });
      } catch (error) {
        forbidden(type, "get", error);
        return undefined;
      }
    },
    get: (path) => client.request({ method: "GET", path, signal }),
  };
}

function tooMany(type: ResourceType, most: number): Obstacle {
  return {
    object: resourceText(type),
    field: "count",
    value: `more than ${most}`,
    expected: `at most ${most} objects, which is as many as this command looks at`,
  };
}

function resourceText({ group, plural }: ResourceType): string {
  return group === "" ? plural : crdNameOf({ group, resource: plural });
}
