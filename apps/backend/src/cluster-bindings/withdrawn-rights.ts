/**
 * Names the APIs of app clusters that no one who bound them may bind any more. Nothing ends by that: an operator decides (designs/0023). RBAC says
 * nothing when it changes, so each app cluster is looked at again every five minutes, and when its Grants change.
 */
import type { ClusterBinding } from "@klutch/api";
import { falseCondition, findCondition, type NewCondition, trueCondition } from "@klutch/kube-core";
import type { Logger, Sample } from "@klutch/telemetry";
import { isRevokedExport } from "../authorization/revoked-exports.ts";
import { byNamespace, type ControllerContext } from "../controller-context.ts";
import { templateRefOf } from "../offered-api.ts";

const recheckMs = 300_000;
const authorized = "Authorized";
/** Names in one message; the number says how many there are. */
const mostNames = 5;

interface Seen {
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly names: readonly string[];
}

/** Remembers the last answer for each cluster namespace. */
export class WithdrawnRights {
  readonly #context: Pick<ControllerContext, "caches" | "clock" | "exportTemplates" | "isGranted">;
  readonly #seen = new Map<string, Seen>();

  constructor(context: Pick<ControllerContext, "caches" | "clock" | "exportTemplates" | "isGranted">) {
    this.#context = context;
  }

  /** Asks again at the next `judge`. */
  forget(namespace: string): void {
    this.#seen.delete(namespace);
  }

  /** Returns the condition `Authorized`; none until there was something to report. */
  async judge(
    binding: ClusterBinding,
    { signal, logger }: { readonly signal: AbortSignal; readonly logger: Logger },
  ): Promise<readonly NewCondition[]> {
    const namespace = binding.metadata.namespace ?? "";
    const now = this.#context.clock.monotonic();
    let seen = this.#seen.get(namespace);
    if (seen === undefined || now - seen.at >= recheckMs) {
      // An API server that does not answer says nothing about rights: the last answer stays.
      const names = await this.#withdrawnIn(namespace, signal).catch((error: unknown) => {
        logger.warn("the rights of an app cluster could not be looked at", { namespace, error });
        return seen?.names ?? [];
      });
      seen = { at: now, names };
      this.#seen.set(namespace, seen);
    }
    const { names } = seen;
    if (names.length > 0) {
      const shown = `${names.slice(0, mostNames).join(", ")}${names.length > mostNames ? ` and ${names.length - mostNames} more` : ""}`;
      const message = `no one who has bound ${shown} here may bind it now. It goes on all the same. Give the right back, or revoke the access of the app cluster`;
      return [falseCondition(authorized, "RightsWithdrawn", "Info", message)];
    }
    return findCondition(binding.status?.conditions, authorized) === undefined
      ? []
      : [trueCondition(authorized)];
  }

  /** The number of exports for the metric. */
  count(): readonly Sample<never>[] {
    const value = this.#seen.values().reduce((sum, { names }) => sum + names.length, 0);
    return [{ labels: {}, value }];
  }

  async #withdrawnIn(namespace: string, signal: AbortSignal): Promise<readonly string[]> {
    const { caches, exportTemplates, isGranted } = this.#context;
    if (isGranted === undefined) return [];
    const names: string[] = [];
    for (const exported of caches.exports.byIndex(byNamespace, namespace)) {
      // It does not go on.
      if (isRevokedExport(exported)) continue;
      const { metadata, spec } = exported;
      const api = { group: spec.group, resource: spec.names.plural };
      const template = exportTemplates.template(api.group, api.resource);
      // One that is no longer offered has words of its own.
      if (template === undefined) continue;
      if (!(await isGranted(namespace, { ...api, template: templateRefOf(template) }, signal)))
        names.push(metadata.name ?? "");
    }
    return names.toSorted();
  }
}
