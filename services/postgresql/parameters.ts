/** Parameters of PostgreSQL instances. */
import { boolean, integer, list, number, oneOf, string } from "@klutch/schema";
import type { DataService, Field, Parameter } from "../src/data-service.ts";

const parameter = (name: string, brokerKey: string, schema: Field): Parameter => ({
  name,
  brokerKey,
  schema,
});
const atLeast = (minimum: number): Field => integer({ minimum });
const severities = ["DEBUG5", "DEBUG4", "DEBUG3", "DEBUG2", "DEBUG1"] as const;
const serverSeverities = [
  ...severities,
  "INFO",
  "NOTICE",
  "WARNING",
  "ERROR",
  "LOG",
  "FATAL",
  "PANIC",
] as const;

/** All of them, in the order in which they are printed. */
export const parameters: readonly Parameter[] = [
  parameter("dataChecksums", "data_checksums", oneOf(["enabled", "disabled"])),
  parameter("maxConnections", "max_connections", number()),
  parameter("effectiveCacheSize", "effective_cache_size", string()),
  parameter("workMem", "work_mem", string()),
  parameter("maintenanceWorkMem", "maintenance_work_mem", string()),
  parameter(
    "tempFileLimit",
    "temp_file_limit",
    integer({
      rules: [
        {
          rule: "self == -1 || self > 0",
          message: "Must be either -1 (no limit) or a limit specified in kilobytes",
        },
      ],
    }),
  ),
  parameter("trackIoTiming", "track_io_timing", oneOf(["on", "off"])),
  parameter("archiveTimeout", "archive_timeout", integer()),
  parameter("statementTimeout", "statement_timeout", integer()),
  parameter("idleInTransactionSessionTimeout", "idle_in_transaction_session_timeout", atLeast(0)),
  parameter("rolePrivileges", "role_privileges", list(oneOf(["CREATEDB", "CREATEROLE", "REPLICATION"]))),
  parameter("walLevelLogical", "wal_level_logical", boolean()),
  parameter("walWriterDelay", "wal_writer_delay", atLeast(1)),
  parameter("maxReplicationSlots", "max_replication_slots", atLeast(0)),
  parameter("maxWalSenders", "max_wal_senders", atLeast(0)),
  parameter(
    "synchronousCommit",
    "synchronous_commit",
    oneOf(["on", "off", "local", "remote_write", "remote_apply"]),
  ),
  parameter(
    "clientMinMessages",
    "client_min_messages",
    oneOf([...severities, "LOG", "NOTICE", "WARNING", "ERROR"]),
  ),
  parameter("logMinMessages", "pg_log_min_messages", oneOf(serverSeverities)),
  parameter("logMinErrorStatement", "pg_log_min_error_statement", oneOf(serverSeverities)),
  parameter("logStatement", "log_statement", oneOf(["none", "ddl", "mod", "all"])),
  parameter("logErrorVerbosity", "log_error_verbosity", oneOf(["DEFAULT", "VERBOSE", "TERSE"])),
];

/** Parameters that only a8s PostgreSQL has. A claim that sets one is refused with a text that names it. */
export const refusedParameters: NonNullable<DataService["refusedParameters"]> = [
  { name: "maxLocksPerTransaction", schema: atLeast(10) },
  { name: "sslCiphers", schema: string() },
  { name: "sslMinProtocolVersion", schema: oneOf(["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"]) },
];
