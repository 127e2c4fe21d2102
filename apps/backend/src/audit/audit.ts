/** Records each decision about access, yes or no, as one JSON line of the logger `audit` (docs/reference/audit.md) and in a metric. */
import { crdNameOf } from "@klutch/api";
import { plainText } from "@klutch/kube-core";
import type { Logger, Metrics } from "@klutch/telemetry";
import { UserError } from "../errors.ts";
import type { Identity } from "../identity.ts";
import { auditDecisions } from "../metrics.ts";

/** Decisions, by the names that records have. */
export type Decision =
  | "bind"
  | "addMember"
  | "renew"
  | "export"
  | "acceptClaims"
  | "revoke"
  | "act"
  | "login"
  | "logout";

/** Ways in which a decision was asked for. */
export type Way =
  | "confirmed"
  | "device"
  | "redirect"
  | "ci"
  | "token"
  | "session"
  | "renewal"
  | "controller"
  | "operator";

/** An API by its group and resource. */
interface Api {
  readonly group?: string | undefined;
  readonly resource: string;
}

/** A person or program that asks. A session of a login is one; a konnector that comes back has no person. */
export interface Asker extends Partial<Identity> {
  /** Name in the control plane's RBAC. */
  readonly user?: string | undefined;
  /** Name of the app cluster for people. */
  readonly clusterName?: string | undefined;
  readonly way?: Way | undefined;
  /** Address of the client, as far as the backend knows it. */
  readonly address?: string | undefined;
}

/** One decision. Texts may be anyone's: the record cleans and cuts them. */
export interface AuditRecord {
  readonly decision: Decision;
  readonly allowed: boolean;
  /** One word in UpperCamelCase, for programs; the field `reason` of the line. */
  readonly outcome: string;
  /** The words that the person got, for people. Of an `act` also what was done. */
  readonly detail?: string | undefined;
  readonly asker?: Asker | undefined;
  /** The cluster namespace. */
  readonly tenant?: string | undefined;
  /** Default: the asker's. */
  readonly way?: Way | undefined;
  readonly apis?: readonly Api[] | undefined;
  /** Accepted permission claims, by the names of their resources. */
  readonly permissionClaims?: readonly string[] | undefined;
}

/** Writes records. Never throws. */
export interface Audit {
  record(record: AuditRecord): void;
}

/** Writes nothing. */
export const silentAudit: Audit = { record() {} };

/** The longest name, and the longest sentence, in UTF-16 units. */
const longestName = 256;
const longestDetail = 1_024;
/** Names in one list. */
const mostNames = 100;

/** Creates the writer. `logger` is one of its own, whose level does not follow that of the other logs. */
export function createAudit(parts: { readonly logger: Logger; readonly metrics: Metrics }): Audit {
  const counter = parts.metrics.counter(auditDecisions);
  return {
    record(record) {
      const { decision, allowed, outcome: reason } = record;
      counter.labels({ decision, allowed: String(allowed), reason }).inc();
      parts.logger.info("decided", lineOf(record));
    },
  };
}

/** Returns the fields of the line. Absent values have no field. */
export function lineOf(record: AuditRecord): Readonly<Record<string, unknown>> {
  const { decision, allowed, outcome, detail, asker, tenant, apis = [], permissionClaims = [] } = record;
  return present({
    decision,
    allowed,
    reason: outcome,
    detail: detail && plainText(detail, longestDetail),
    person: asker && personOf(asker),
    tenant: tenant && name(tenant),
    cluster: asker?.clusterName && name(asker.clusterName),
    apis: names(apis.slice(0, mostNames).map(({ group = "", resource }) => crdNameOf({ group, resource }))),
    permissionClaims: names(permissionClaims),
    way: record.way ?? asker?.way,
    address: asker?.address && plainText(asker.address, 64),
  });
}

/** Runs the call. Its refusal, and a failure that ends it without a yes, is recorded and thrown on. */
export async function recordRefusal<T>(
  audit: Audit,
  subject: Omit<AuditRecord, "allowed" | "outcome" | "detail">,
  call: () => T | Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    audit.record({ ...subject, allowed: false, ...whyNot(error) });
    throw error;
  }
}

/** Only the words of a `UserError` are for others: those of another error may hold anything. */
function whyNot(error: unknown): Pick<AuditRecord, "outcome" | "detail"> {
  return error instanceof UserError
    ? { outcome: error.outcome, detail: error.message }
    : { outcome: "Failed", detail: "The backend failed; its log says why." };
}

function personOf({ issuer, subject, user }: Asker): Readonly<Record<string, unknown>> | undefined {
  if (issuer === undefined || subject === undefined) return undefined;
  return present({ issuer: name(issuer), subject: name(subject), user: user && name(user) });
}

function name(text: string): string {
  return plainText(text, longestName);
}

function names(list: readonly string[]): readonly string[] | undefined {
  return list.length === 0 ? undefined : list.slice(0, mostNames).map(name);
}

function present(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ""),
  );
}
