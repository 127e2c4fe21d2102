/** Translates the parameters of an object to settings of its server. */
import { TerminalError } from "@klutch/kube-runtime";

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
export function serverSettings(
  parameters: Readonly<Record<string, number | string>>,
): Readonly<Record<string, string>> {
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
