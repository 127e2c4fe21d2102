/** Makes a server for each Postgresql, with settings from its parameters. */
import { postgres } from "@klutch/data-servers";
import { isDeleting, type KubeObject, plainText, refOfObject } from "@klutch/kube-core";
import { type Reconcile, TerminalError } from "@klutch/kube-runtime";
import { databaseOf } from "./database.ts";
import { type Postgresql, postgresqls, type ServiceBinding } from "./kinds.ts";
import { type OperatorParts, type Ready, type Writer, writerOf } from "./parts.ts";

const longestWords = 500;
/** Wait before standbys that catch up are looked at again. */
const waitMs = 1_000;
/** Wait before standbys that follow are looked at again. The end of their processes is noticed at once. */
const lookMs = 15_000;

/** Returns the reconcile function, by the key of the instance. */
export function createInstanceReconcile(parts: OperatorParts): Reconcile {
  const { servers, instances } = parts;
  return async (key, { signal }) => {
    const instance = instances.get(key);
    if (instance === undefined) {
      await servers.keepOnly(new Set([...instances.list()].map(({ metadata }) => metadata.uid ?? "")));
      return undefined;
    }
    const writer = writerOf(parts, postgresqls, signal);
    if (isDeleting(instance)) {
      await remove(parts, writer, instance);
      return undefined;
    }
    await writer.addFinalizer(instance);
    return run(parts, writer, instance);
  };
}

/** Tells whether the binding names this instance, which must be in its own namespace. */
export function isOf(binding: ServiceBinding, instance: KubeObject): boolean {
  const { namespace, name } = refOfObject(instance);
  return binding.metadata.namespace === namespace && binding.spec.instance.name === name;
}

async function run({ servers }: OperatorParts, writer: Writer, instance: Postgresql) {
  const { replicas, parameters = {} } = instance.spec;
  const uid = instance.metadata.uid ?? "";
  try {
    const settings = serverSettings(parameters);
    await servers.with(uid, async () =>
      postgres.ensureDatabase(databaseOf(await servers.start(uid, settings))),
    );
  } catch (error) {
    const ready = { isReady: false, reason: "ServerFailed", message: wordsOf(error) };
    await writer.report(instance, ready, { clusterStatus: "Progressing", readyReplicas: 0 });
    throw error;
  }
  const say = (ready: Ready, readyReplicas: number): Promise<void> =>
    writer.report(instance, ready, { clusterStatus: "Running", readyReplicas });
  try {
    const following = await servers.with(uid, () => servers.follow(uid, replicas - 1));
    const readiness = readinessOf(replicas, following);
    await say(readiness, 1 + (following ?? 0));
    return replicas === 1 ? undefined : { requeueAfterMs: readiness.isReady ? lookMs : waitMs };
  } catch (error) {
    await say({ isReady: false, reason: "StandbyFailed", message: wordsOf(error) }, 1);
    throw error;
  }
}

/**
 * Decides whether an instance whose first server runs is ready. `following` counts the standbys that follow now; undefined when this machine
 * cannot make any.
 */
export function readinessOf(replicas: number, following: number | undefined): Ready {
  if (following === undefined && replicas > 1)
    return {
      isReady: false,
      reason: "OneServer",
      message: `spec.replicas is ${replicas}, but this operator runs one server for each instance, because the PostgreSQL here has no pg_basebackup; install the package postgresql-15 and make a new instance, or choose a plan of one server`,
    };
  const running = 1 + (following ?? 0);
  if (running >= replicas) return { isReady: true, reason: "Running" };
  const message = `${running} of ${replicas} servers are there; the other standbys are copied or catch up`;
  return { isReady: false, reason: "StandbysMissing", message };
}

async function remove(parts: OperatorParts, writer: Writer, instance: Postgresql): Promise<void> {
  const { servers, bindings, recorder } = parts;
  const bound = [...bindings.list()].filter((binding) => isOf(binding, instance));
  if (bound.length > 0) {
    const names = bound.map(({ metadata }) => metadata.name).join(", ");
    const message = `still bound by ${names}; delete these ServiceBindings first`;
    recorder.recordWarning({ ...instance }, "StillBound", message);
    return;
  }
  const uid = instance.metadata.uid ?? "";
  await servers.with(uid, () => servers.remove(uid));
  await writer.removeFinalizer(instance);
}

function wordsOf(error: unknown): string {
  return plainText(error instanceof Error ? error.message : String(error), longestWords);
}

/** Settings by the names of a8s. */
const settingNames: Readonly<Record<string, string>> = {
  maxConnections: "max_connections",
  maxLocksPerTransaction: "max_locks_per_transaction",
  maxReplicationSlots: "max_replication_slots",
  maxWALSenders: "max_wal_senders",
  synchronousCommit: "synchronous_commit",
  sslCiphers: "ssl_ciphers",
  sslMinProtocolVersion: "ssl_min_protocol_version",
  clientMinMessages: "client_min_messages",
  logMinMessages: "log_min_messages",
  logMinErrorStatement: "log_min_error_statement",
  logStatement: "log_statement",
  logErrorVerbosity: "log_error_verbosity",
  trackIOTiming: "track_io_timing",
  archiveTimeoutSeconds: "archive_timeout",
  statementTimeoutMillis: "statement_timeout",
  tempFileLimitKiloBytes: "temp_file_limit",
  walWriterDelayMillis: "wal_writer_delay",
};

/** Sessions that tenants cannot take. */
const reserved = 5;
const defaultConnections = 100;
/** More than the standbys of the largest instance need while they are copied. */
const forStandbys = 10;
/** Kept of what standbys have not received; a standby that is further behind is copied again. */
const keptForStandbys = "1GB";

/** Returns the server's settings. Throws a `TerminalError` for an unknown parameter: some settings run programs (`archive_command`). */
export function serverSettings(parameters: Readonly<Record<string, number | string>>): postgres.Settings {
  const settings = Object.entries(parameters).map(([name, value]) => {
    const setting = Object.hasOwn(settingNames, name) ? settingNames[name] : undefined;
    if (setting === undefined)
      throw new TerminalError(
        `spec.parameters.${name} is no parameter; possible: ${Object.keys(settingNames).join(", ")}`,
      );
    return [setting, String(value)] as const;
  });
  const connections = Number(parameters["maxConnections"] ?? defaultConnections);
  return {
    ...Object.fromEntries(settings),
    max_wal_senders: String(Number(parameters["maxWALSenders"] ?? 0) + forStandbys),
    max_replication_slots: String(Number(parameters["maxReplicationSlots"] ?? 0) + forStandbys),
    max_slot_wal_keep_size: keptForStandbys,
    max_connections: String(connections + reserved),
    superuser_reserved_connections: String(reserved),
  };
}
