/** Holds a way to break each rule: a change of the fake's answer. */
import type { Json, OsbOperation } from "@klutch/osb/internal";
import type { RuleId } from "../rules.ts";
import {
  type FakeAnswer,
  type FakeRequest,
  goodOffering,
  goodPlans,
  type MemoryBroker,
} from "./memory-broker.ts";

/** Changes an answer, and leaves alone the parts that it need not break. */
export type Alter = (answer: FakeAnswer, request: FakeRequest, broker: MemoryBroker) => FakeAnswer;

/** One broken rule. `make` is called for each broker, because some remember. */
export interface Break {
  /** Default true. */
  readonly asynchronous?: boolean;
  readonly make: () => Alter;
}

type When = (answer: FakeAnswer, request: FakeRequest, broker: MemoryBroker) => boolean;

type Change = Partial<FakeAnswer> | ((answer: FakeAnswer) => Partial<FakeAnswer>);

/** Answers that fit are others. */
function change(when: When, to: Change): Break {
  const changed = (answer: FakeAnswer): FakeAnswer => ({
    ...answer,
    ...(typeof to === "function" ? to(answer) : to),
  });
  return {
    make:
      () =>
      (answer, ...rest) =>
        when(answer, ...rest) ? changed(answer) : answer,
  };
}

const always: When = () => true;
const of =
  (verb: OsbOperation): When =>
  (_answer, request) =>
    request.verb === verb;
const is =
  (verb: OsbOperation, code: number, and: (request: FakeRequest) => boolean = () => true): When =>
  (answer, request) =>
    request.verb === verb && answer.status === code && and(request);
const refusedAs =
  (verb: OsbOperation, error: string): When =>
  (answer, request) =>
    request.verb === verb && answer.body["error"] === error;
const unauthorized =
  (hasCredentials: boolean): When =>
  (answer, { headers }) =>
    answer.status === 401 && (headers["authorization"] !== undefined) === hasCredentials;
const unfetched =
  (isProvisioning: boolean): When =>
  (answer, { verb, path }, broker) =>
    verb === "fetch_instance" && answer.status === 404 && broker.isProvisioning(path) === isProvisioning;

/** Answers of this verb and status get another status. */
function status(verb: OsbOperation, from: number, to: number): Break {
  return change(is(verb, from), { status: to });
}

/** Accepts a request that the broker refused because this field, and only this one, is missing. */
function taken(verb: OsbOperation, field: string): Break {
  const has = ({ body, query }: FakeRequest, name: string): boolean =>
    body?.[name] !== undefined || query.has(name);
  const other = field === "service_id" ? "plan_id" : "service_id";
  const isMissing = is(verb, 400, (request) => !has(request, field) && has(request, other));
  return change(isMissing, { status: 200 });
}

/** Answers of this verb and status have other fields, too. */
function fields(verb: OsbOperation, from: number, more: Json): Break {
  return change(is(verb, from), ({ body }) => ({ body: { ...body, ...more } }));
}

/** AsyncRequired has another name. */
function misnamed(verb: OsbOperation, code = "AsyncRequired"): Break {
  return change(refusedAs(verb, code), { body: { error: "Other", description: "Something else." } });
}

/** Changes only the first answer that fits, or, with `later`, those from the second on. */
function counted(which: "first" | "later", when: When, to: Partial<FakeAnswer>): Break {
  return {
    make: () => {
      let seen = 0;
      return (answer, ...rest) => {
        if (!when(answer, ...rest)) return answer;
        seen++;
        return (which === "first") === (seen === 1) ? { ...answer, ...to } : answer;
      };
    },
  };
}

/** The first offering and plan, changed, and further offerings. */
function catalog(offering: Json, plan: Json = {}, ...more: readonly Json[]): Break {
  const [first = {}, ...others] = goodPlans;
  const services = [{ ...goodOffering, plans: [{ ...first, ...plan }, ...others], ...offering }, ...more];
  return change(of("catalog"), { body: { services } });
}

const firstPlanId = goodPlans[0]?.["id"];
const anotherId = "9d4b2a4e-0c51-4f33-9a0e-4d2f3c8e1aff";
const anotherPlan = { id: "9d4b2a4e-0c51-4f33-9a0e-4d2f3c8e1afe", name: "p", description: "A plan." };
const anotherOffering = {
  id: anotherId,
  name: "another",
  description: "Another one.",
  bindable: false,
  plans: [anotherPlan],
};
const synchronous = (broken: Break): Break => ({ ...broken, asynchronous: false });

/** A refused provision leaves an instance that can be deleted once. */
const leavesSomething: Break = {
  make: () => {
    const left = new Set<string>();
    return (answer, { verb, path }) => {
      if (verb === "provision" && answer.status === 400) left.add(path);
      return verb === "deprovision" && left.delete(path) ? { ...answer, status: 200, body: {} } : answer;
    };
  },
};

/** A refused update changes the parameters. */
const updatesWhatItRefuses: Break = {
  make: () => {
    let changed = false;
    return (answer, { verb }) => {
      changed ||= verb === "update" && answer.status === 400;
      return changed && verb === "fetch_instance" && answer.status === 200
        ? { ...answer, body: { ...answer.body, parameters: { a: 1 } } }
        : answer;
    };
  },
};

/** Provisioning never seems to end. */
const neverEnds = change(
  is("last_operation", 200, ({ query }) => query.get("operation") === "provision"),
  { body: { state: "in progress" } },
);

export const breaks: Readonly<Record<RuleId, Break>> = {
  "version-missing": change(
    (answer, { headers }) => answer.status === 400 && headers["x-broker-api-version"] === undefined,
    { status: 412 },
  ),
  "request-identity": change(always, { headers: { "content-type": "application/json" } }),
  "extension-fields": change((_answer, { body }) => body?.["x-osb-check"] !== undefined, { status: 400 }),
  "auth-missing": change(unauthorized(false), { status: 200, body: {} }),
  "auth-wrong": change(unauthorized(true), { status: 403 }),
  "error-fields": change((answer) => answer.status === 409, { body: { error: "", description: 5 } }),
  "error-unchanged": leavesSomething,
  "content-type": change(always, ({ headers }) => ({
    headers: { ...headers, "content-type": "text/plain" },
  })),
  "body-malformed": change(
    is("provision", 400, ({ body }) => body === undefined),
    { status: 422 },
  ),

  "catalog-status": status("catalog", 200, 201),
  "catalog-services": change(of("catalog"), { body: { services: {} } }),
  "catalog-stable": {
    make: () => {
      let seen = 0;
      return (answer, { verb }) =>
        verb === "catalog" && ++seen > 2
          ? { ...answer, body: { services: [{ ...goodOffering, id: anotherId }] } }
          : answer;
    },
  },
  "offering-fields": catalog({ description: "" }),
  "offering-names": catalog({}, {}, { ...anotherOffering, name: "memory" }),
  "offering-plans": catalog({}, {}, { ...anotherOffering, plans: [] }),
  "plan-fields": catalog({}, { description: 5 }),
  "plan-names": catalog({}, { name: "plan-1" }),
  "catalog-ids": catalog({}, {}, { ...anotherOffering, id: firstPlanId }),
  "catalog-types": catalog({ tags: "sql" }),
  "catalog-maintenance": catalog({}, { maintenance_info: { version: "1" } }),
  "catalog-schemas": catalog(
    {},
    { schemas: { service_binding: { create: { parameters: { $schema: "x", $ref: "http://other/#" } } } } },
  ),
  "catalog-names": catalog({}, {}, { ...anotherOffering, name: "a name" }),
  "catalog-guids": catalog({}, {}, { ...anotherOffering, id: "one" }),

  "provision-service-id": taken("provision", "service_id"),
  "provision-plan-id": taken("provision", "plan_id"),
  "provision-organization": taken("provision", "organization_guid"),
  "provision-space": taken("provision", "space_guid"),
  "provision-unknown-plan": status("provision", 400, 404),
  "provision-async-required": misnamed("provision"),
  "provision-accepted": synchronous(status("provision", 201, 200)),
  "provision-operation": fields("provision", 202, { operation: 7 }),
  "provision-dashboard": fields("provision", 202, { dashboard_url: 5 }),
  "provision-resent": counted("later", is("provision", 202), { body: { operation: "another" } }),
  "provision-again": status("provision", 200, 201),
  "provision-conflict": status("provision", 409, 200),

  "last-operation": counted("first", is("last_operation", 200), { body: { state: "done" } }),
  "last-operation-description": fields("last_operation", 200, { description: 5 }),
  "retry-after": change(of("last_operation"), ({ headers }) => ({
    headers: { ...headers, "retry-after": "soon" },
  })),
  "polling-duration": neverEnds,
  "concurrency-error": misnamed("update", "ConcurrencyError"),

  "fetch-instance": status("fetch_instance", 200, 500),
  "fetch-instance-fields": fields("fetch_instance", 200, { plan_id: "another" }),
  "fetch-instance-missing": change(unfetched(false), { status: 410 }),
  "fetch-instance-provisioning": change(unfetched(true), { status: 200, body: {} }),

  "update-service-id": taken("update", "service_id"),
  "update-unchanged": updatesWhatItRefuses,
  "update-async-required": change(refusedAs("update", "AsyncRequired"), { status: 202, body: {} }),
  "update-accepted": synchronous(status("update", 200, 201)),
  "update-operation": fields("update", 202, { operation: "x".repeat(10_001) }),
  "update-resent": counted("later", is("update", 202), { status: 200, body: {} }),
  "update-plan": fields("fetch_instance", 200, { plan_id: firstPlanId }),

  "bind-service-id": taken("bind", "service_id"),
  "bind-plan-id": taken("bind", "plan_id"),
  "bind-async-required": misnamed("bind"),
  "bind-accepted": synchronous(status("bind", 201, 200)),
  "bind-operation": fields("bind", 202, { operation: 7 }),
  "bind-secret": fields("bind", 202, { credentials: {} }),
  "bind-information": synchronous(fields("bind", 201, { credentials: "a text" })),
  "bind-requires": synchronous(fields("bind", 201, { syslog_drain_url: "syslog://x" })),
  "bind-endpoints": synchronous(fields("bind", 201, { endpoints: [{ host: "x", ports: [] }] })),
  "bind-again": status("bind", 200, 201),
  "bind-conflict": status("bind", 409, 200),

  "fetch-binding": status("fetch_binding", 200, 500),
  "fetch-binding-information": change(is("fetch_binding", 200), { body: {} }),
  "fetch-binding-missing": status("fetch_binding", 404, 410),

  "unbind-service-id": taken("unbind", "service_id"),
  "unbind-plan-id": taken("unbind", "plan_id"),
  "unbind-async-required": misnamed("unbind"),
  "unbind-accepted": synchronous(
    change(
      is("unbind", 200, ({ query }) => query.has("accepts_incomplete")),
      { status: 204 },
    ),
  ),
  "unbind-operation": fields("unbind", 202, { operation: {} }),
  "unbind-gone": status("unbind", 410, 404),

  "deprovision-service-id": taken("deprovision", "service_id"),
  "deprovision-plan-id": taken("deprovision", "plan_id"),
  "deprovision-async-required": misnamed("deprovision"),
  "deprovision-accepted": status("deprovision", 202, 201),
  "deprovision-operation": fields("deprovision", 202, { operation: [] }),
  "deprovision-resent": counted("later", is("deprovision", 202), { status: 200, body: {} }),
  "deprovision-gone": status("deprovision", 410, 404),
};
