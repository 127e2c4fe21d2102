/** Parameters of PostgreSQL instances. */
import { boolean, described, integer, list, number, oneOf, type Schema, string } from "@klutch/schema";
import type { DataService, Parameter } from "../src/data-service.ts";

const parameter = <T>(name: string, brokerKey: string, about: string, schema: Schema<T>): Parameter => ({
  name,
  brokerKey,
  schema: described(schema, about),
});
const atLeast = (minimum: number): Schema<number> => integer({ minimum });
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
  parameter(
    "dataChecksums",
    "data_checksums",
    "Whether the server guards its data pages with checksums.",
    oneOf(["enabled", "disabled"]),
  ),
  parameter("maxConnections", "max_connections", "The most sessions at the same time.", number()),
  parameter(
    "effectiveCacheSize",
    "effective_cache_size",
    "Memory that the planner takes to be there for caching, such as 4GB.",
    string(),
  ),
  parameter(
    "workMem",
    "work_mem",
    "Memory of one sort or hash table before it goes to disk, such as 4MB.",
    string(),
  ),
  parameter(
    "maintenanceWorkMem",
    "maintenance_work_mem",
    "Memory of one maintenance operation such as VACUUM, such as 64MB.",
    string(),
  ),
  parameter(
    "tempFileLimit",
    "temp_file_limit",
    "The most temporary files of one session, in kilobytes; -1 is no limit of its own.",
    integer({
      rules: [
        {
          rule: "self == -1 || self > 0",
          message: "Must be either -1 (no limit) or a limit specified in kilobytes",
        },
      ],
    }),
  ),
  parameter(
    "trackIoTiming",
    "track_io_timing",
    "Whether the time of reading and writing blocks is measured.",
    oneOf(["on", "off"]),
  ),
  parameter(
    "archiveTimeout",
    "archive_timeout",
    "Seconds after which the server begins a new file of the write-ahead log; 0 is never.",
    integer(),
  ),
  parameter(
    "statementTimeout",
    "statement_timeout",
    "Milliseconds after which a statement is ended; 0 is never.",
    integer(),
  ),
  parameter(
    "idleInTransactionSessionTimeout",
    "idle_in_transaction_session_timeout",
    "Milliseconds after which a session that idles in a transaction is ended; 0 is never.",
    atLeast(0),
  ),
  parameter(
    "rolePrivileges",
    "role_privileges",
    "Attributes of the users that bindings get.",
    list(oneOf(["CREATEDB", "CREATEROLE", "REPLICATION"])),
  ),
  parameter(
    "walLevelLogical",
    "wal_level_logical",
    "Whether the write-ahead log holds what logical replication needs.",
    boolean(),
  ),
  parameter(
    "walWriterDelay",
    "wal_writer_delay",
    "Milliseconds between two writes of the write-ahead log.",
    atLeast(1),
  ),
  parameter("maxReplicationSlots", "max_replication_slots", "The most replication slots.", atLeast(0)),
  parameter(
    "maxWalSenders",
    "max_wal_senders",
    "The most connections of replicas and of base backups at the same time.",
    atLeast(0),
  ),
  parameter(
    "synchronousCommit",
    "synchronous_commit",
    "What a commit waits for before the client learns of it.",
    oneOf(["on", "off", "local", "remote_write", "remote_apply"]),
  ),
  parameter(
    "clientMinMessages",
    "client_min_messages",
    "The lowest severity of messages that clients get.",
    oneOf([...severities, "LOG", "NOTICE", "WARNING", "ERROR"]),
  ),
  parameter(
    "logMinMessages",
    "pg_log_min_messages",
    "The lowest severity of messages that are logged.",
    oneOf(serverSeverities),
  ),
  parameter(
    "logMinErrorStatement",
    "pg_log_min_error_statement",
    "The lowest severity of an error with which its statement is logged.",
    oneOf(serverSeverities),
  ),
  parameter(
    "logStatement",
    "log_statement",
    "Which statements are logged.",
    oneOf(["none", "ddl", "mod", "all"]),
  ),
  parameter(
    "logErrorVerbosity",
    "log_error_verbosity",
    "How much of each message is logged.",
    oneOf(["DEFAULT", "VERBOSE", "TERSE"]),
  ),
];

const refused = "Not supported: a claim that sets it is refused.";

/** Parameters that only a8s PostgreSQL has. A claim that sets one is refused with a text that names it. */
export const refusedParameters: NonNullable<DataService["refusedParameters"]> = [
  { name: "maxLocksPerTransaction", schema: described(atLeast(10), refused) },
  { name: "sslCiphers", schema: described(string(), refused) },
  {
    name: "sslMinProtocolVersion",
    schema: described(oneOf(["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"]), refused),
  },
];
