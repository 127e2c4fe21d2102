/**
 * Managed resources as other providers left them. `recorded.json` holds objects that this provider wrote before it had the room `operations/`,
 * and objects as the existing Go provider writes them. Each goes on where it was: nothing is made, changed or deleted a second time.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  type Backup,
  type ManagedServiceBinding,
  type Restore,
  type ServiceInstance,
  usageAnnotation,
} from "@klutch/api";
import {
  type Backup as FoundBackup,
  BackupManagerError,
  type BackupManagerClient,
} from "@klutch/backup-manager";
import type { ExternalClient, Managed } from "@klutch/crossplane";
import { isRecord } from "@klutch/kube-core";
import { VirtualClock } from "@klutch/kube-testing";
import { type OsbClient, OsbError } from "@klutch/osb";
import { BackupClient } from "../backup/external-client.ts";
import { InstanceLocks } from "../backup-manager/instance-locks.ts";
import { RestPace } from "../broker/rest-pace.ts";
import { RestoreClient } from "../restore/external-client.ts";
import { ServiceBindingClient } from "../service-binding/external-client.ts";
import { ServiceInstanceClient } from "../service-instance/external-client.ts";
import { catalogOf } from "../testing/catalog.ts";

const recorded = JSON.parse(
  readFileSync(new URL("../testing/recorded.json", import.meta.url), "utf8"),
) as Readonly<Record<string, Recorded>>;
const instance = {
  status: { atProvider: { instanceId: "i", serviceId: "s", planId: "p", state: "provisioned" } },
};

/** The trace of one reconcile: each call of the backend, each annotation it writes, and the observation that decided on it. */
interface Seen {
  readonly calls: readonly string[];
  readonly writes: readonly unknown[];
  readonly observed: string;
}

/** `seen` is what the provider did with the object when both were recorded. */
interface Recorded {
  readonly object: Managed;
  readonly seen: Seen;
}

const catalog = catalogOf({ name: "a9s-postgresql17" }, [{ name: "postgresql-single-nano" }]);
const working = { state: "in progress", description: "" };
const accepted = { kind: "accepted", operation: "key" };

/** Answers each question truthfully, accepts each call, and notes both. `isGone`: it knows no instance. */
function broker(calls: string[], isGone: boolean): OsbClient {
  const say = (verb: string, request: unknown): void => {
    const { instanceId = "", bindingId, operation } = isRecord(request) ? request : {};
    const words = [verb, instanceId, bindingId, operation].filter((word) => typeof word === "string");
    calls.push(words.join(" "));
  };
  const does =
    (verb: string, answer: object) =>
    async (request: unknown): Promise<object> => {
      say(verb, request);
      return answer;
    };
  const osb = {
    provision: does("provision", accepted),
    update: does("update", accepted),
    deprovision: does("deprovision", accepted),
    bind: does("bind", accepted),
    unbind: does("unbind", accepted),
    lastOperation: does("poll", working),
    fetchInstance: async (instanceId: string) => {
      say("fetch", { instanceId });
      if (isGone) throw new OsbError({ status: 404, error: "", description: "", own: true, action: "GET x" });
      return { serviceId: "s", planId: "p", parameters: { color: "red" } };
    },
    fetchBinding: async (instanceId: string, bindingId: string) => {
      say("fetch", { instanceId, bindingId });
      return { credentials: { password: "new" } };
    },
  };
  return osb as unknown as OsbClient;
}

const found: FoundBackup = {
  id: 2,
  state: "done",
  downloadable: true,
  triggeredAtMs: Date.UTC(2026, 0, 1, 0, 3),
};

/** Has backup 2 and restore 3, and notes each call. */
function manager(calls: string[]): BackupManagerClient {
  const does =
    <T>(verb: string, answer: T) =>
    async (): Promise<T> => {
      calls.push(verb);
      return answer;
    };
  const restore = { id: 3, backupId: 2, state: "running", triggeredAtMs: Date.UTC(2026, 0, 1, 0, 4) };
  const all = {
    createBackup: does("create backup", { backupId: 9 }),
    listBackups: does("list backups", [found]),
    getBackup: does("get backup", found),
    deleteBackup: does("delete backup", { message: "" }),
    createRestore: does("create restore", { restoreId: 9 }),
    listRestores: does("list restores", [restore]),
    getRestore: async ({ restoreId }: { readonly restoreId: number }) => {
      calls.push("get restore");
      if (restoreId === 3) return restore;
      throw new BackupManagerError(
        { call: "getRestore", subject: "it" },
        { status: 404, error: "", description: "", own: true },
      );
    },
  };
  return all as unknown as BackupManagerClient;
}

/** Null: the annotation is removed. */
function parsed(text: string | undefined): unknown {
  return text?.startsWith("{") === true ? JSON.parse(text) : (text ?? null);
}

async function reconcile(recordedAs: string, managed: Managed): Promise<Seen> {
  const calls: string[] = [];
  const clock = new VirtualClock();
  await clock.advance(400_000);
  const writes: unknown[] = [];
  const updateCriticalAnnotations = async (
    changes: Readonly<Record<string, string | undefined>>,
  ): Promise<void> => {
    // Usage is counted since a later release: in the same writes, and of backups in one of its own.
    const known = Object.entries(changes).filter(([name]) => name !== usageAnnotation);
    if (known.length === 0 && usageAnnotation in changes) return;
    writes.push(Object.fromEntries(known.map(([name, text]) => [name, parsed(text)])));
  };
  const osb = broker(calls, /missing|lost$/.test(recordedAs));
  const common = { updateCriticalAnnotations, clock, confirmLossMs: 30_000 };
  const rest = { ...common, pace: new RestPace({ clock, intervalMs: 60_000 }) };
  const at = { osb, catalog: async () => catalog };
  const none = (): readonly string[] => [];
  const made = {
    ...common,
    manager: manager(calls),
    taken: { others: () => new Set<number>(), add: () => undefined },
    notice: () => undefined,
    locks: new InstanceLocks(() => true),
    applicant: () => ({ key: "k", name: "n", uid: "u", isOpen: true, open: [] }),
  };
  const clients: Readonly<Record<string, () => ExternalClient>> = {
    ServiceInstance: () =>
      new ServiceInstanceClient({
        ...rest,
        managed: managed as ServiceInstance,
        broker: at,
        users: () => ({ restores: [], bindings: [], backups: [] }),
        losses: () => ({ config: "c", target: "c", missing: 1, all: 9, accepted: false }),
      }),
    ServiceBinding: () =>
      new ServiceBindingClient({
        ...rest,
        managed: managed as ManagedServiceBinding,
        broker: at,
        missing: () => undefined,
        instance: () => ({ ...managed, spec: {}, ...instance }) as unknown as ServiceInstance,
        notice: () => undefined,
        beside: none,
        restores: none,
        pollIntervalMs: 60_000,
        secretIsMissing: async () => false,
        published: async () => ({ password: "old" }),
        publish: async () => void calls.push("publish"),
      }),
    Backup: () =>
      new BackupClient({
        ...made,
        managed: managed as Backup,
        instances: () => [],
        restoresInto: none,
        restoresOfThis: none,
      }),
    Restore: () =>
      new RestoreClient({ ...made, managed: managed as Restore, backups: () => [], instancesOf: () => [] }),
  };
  const client = clients[managed.kind]?.();
  assert.ok(client !== undefined);
  const { signal } = new AbortController();
  const { exists, upToDate, ready } = await client.observe({ signal });
  const deleting = managed.metadata.deletionTimestamp !== undefined;
  const action = deleting ? "delete" : exists ? "update" : "create";
  const isDue = deleting ? exists && ready !== "deleting" : !exists || !upToDate;
  if (isDue) await client[action]({ signal });
  return { calls, writes, observed: isDue ? `${ready}, ${action}` : ready };
}

for (const [name, { object, seen }] of Object.entries(recorded)) {
  test(`${name}: goes on where it was, and writes what it wrote then`, async () => {
    assert.deepEqual(await reconcile(name, object), seen);
  });
}
