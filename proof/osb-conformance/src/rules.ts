/** Lists the rules that are checked, each with its section of the OSB 2.17 specification and its level. */

/** A rule of the specification. `SHOULD` stands for RECOMMENDED, too. */
export interface Rule {
  readonly section: string;
  readonly level: "MUST" | "SHOULD";
  /** The behaviour of a broker that keeps the rule. */
  readonly text: string;
}

/** Sections in the order of the report, and the rules of each. */
const sections = {
  "API Version Header": {
    "version-missing": "a request without X-Broker-API-Version is answered with 400",
  },
  "Request Identity": {
    "request-identity": "X-Broker-API-Request-Identity comes back with the answer",
  },
  "Vendor Extension Fields": {
    "extension-fields": "an unknown field of a request is ignored",
  },
  "Platform to Service Broker Authentication": {
    "auth-missing": "a request without credentials is answered with 401",
    "auth-wrong": "a request with wrong credentials is answered with 401",
  },
  "Service Broker Errors": {
    "error-fields": "error and description are texts that are not empty, or absent",
  },
  "Error Codes": {
    "error-unchanged": "a provision that was answered with 4xx leaves no instance",
  },
  "Content Type": {
    "content-type": "answers with a body say application/json",
    "body-malformed": "a body that is not JSON is answered with 400",
  },
  "Catalog Management": {
    "catalog-status": "the catalog is answered with 200 and a JSON object",
    "catalog-services": "services is a list",
    "catalog-stable": "a second catalog has the same ids for the same names",
    "catalog-ids": "no two offerings or plans have the same id",
    "catalog-types": "optional fields that are there have the type that they are defined with",
    "catalog-names": "names have letters, digits, periods and hyphens only",
    "catalog-guids": "ids of offerings and plans are GUIDs",
  },
  "Service Offering Object": {
    "offering-fields": "name, id and description are texts, bindable is a truth value",
    "offering-names": "names of offerings are unique",
    "offering-plans": "an offering has at least one plan",
  },
  "Service Plan Object": {
    "plan-fields": "name, id and description are texts that are not empty",
    "plan-names": "names of plans are unique within their offering",
  },
  "Maintenance Info Object": {
    "catalog-maintenance": "version is a semantic version",
  },
  "Input Parameters Schema Object": {
    "catalog-schemas": "schemas name $schema, stay in themselves and below 64 kB",
  },
  Provisioning: {
    "provision-service-id": "a provision without service_id is answered with 400",
    "provision-plan-id": "a provision without plan_id is answered with 400",
    "provision-organization": "a provision without organization_guid is answered with 400",
    "provision-space": "a provision without space_guid is answered with 400",
    "provision-unknown-plan": "a provision of a plan that is not in the catalog is answered with 400",
    "provision-accepted": "a provision is answered with 201 or 202",
    "provision-operation": "operation is a text of at most 10,000 characters, null or absent",
    "provision-dashboard": "dashboard_url is a text, null or absent",
    "provision-resent": "the same provision during the first is answered with 202 and the same operation",
    "provision-again": "the same provision of what exists is answered with 200",
    "provision-conflict": "a provision of the same id with another plan is answered with 409",
  },
  "Asynchronous Operations": {
    "provision-async-required":
      "a provision without accepts_incomplete is done at once or answered with 422 AsyncRequired",
    "update-async-required":
      "an update without accepts_incomplete is done at once or answered with 422 AsyncRequired",
    "bind-async-required":
      "a bind without accepts_incomplete is done at once or answered with 422 AsyncRequired",
    "unbind-async-required":
      "an unbind without accepts_incomplete is done at once or answered with 422 AsyncRequired",
    "deprovision-async-required":
      "a deprovision without accepts_incomplete is done at once or answered with 422 AsyncRequired",
  },
  "Polling Last Operation": {
    "last-operation":
      "last_operation is answered with 200 and a state of the three, with 410 only when deleting",
    "last-operation-description": "description is a text or absent",
    "retry-after": "Retry-After is a duration in seconds, or absent",
  },
  "Polling Interval and Duration": {
    "polling-duration": "operations end within the plan's maximum_polling_duration",
  },
  "Blocking Operations": {
    "concurrency-error": "what cannot be done during another operation is answered with 422 ConcurrencyError",
  },
  "Fetching a Service Instance": {
    "fetch-instance": "an instance can be fetched as soon as it is provisioned",
    "fetch-instance-fields":
      "service_id and plan_id are those of the instance, parameters an object, or absent",
    "fetch-instance-missing": "an instance that does not exist is answered with 404",
    "fetch-instance-provisioning": "an instance that is being provisioned is answered with 404",
  },
  "Updating a Service Instance": {
    "update-service-id": "an update without service_id is answered with 400",
    "update-unchanged": "an update that was answered with 4xx changes nothing",
    "update-accepted": "an update is answered with 200, 202 or, when it is not supported, 422",
    "update-operation": "operation is a text of at most 10,000 characters, null or absent",
    "update-resent": "the same update during the first is answered with 202 and the same operation",
    "update-plan": "after an update to another plan the instance has that plan",
  },
  Binding: {
    "bind-service-id": "a bind without service_id is answered with 400",
    "bind-plan-id": "a bind without plan_id is answered with 400",
    "bind-accepted": "a bind is answered with 201 or 202",
    "bind-operation": "operation is a text of at most 10,000 characters, null or absent",
    "bind-secret": "an answer of 202 has no credentials",
    "bind-information": "a binding has credentials, a drain, a route or volumes of the right types",
    "bind-requires": "drains, routes and volumes are given only by offerings that declare them in requires",
    "bind-again": "the same bind of what exists is answered with 200",
    "bind-conflict": "a bind of the same id with other parameters is answered with 409",
  },
  "Endpoint Object": {
    "bind-endpoints": "endpoints have a host, ports that are texts, and tcp, udp or all",
  },
  "Fetching a Service Binding": {
    "fetch-binding": "a binding can be fetched as soon as it is there",
    "fetch-binding-information": "a binding that was made asynchronously has its credentials",
    "fetch-binding-missing": "a binding that does not exist is answered with 404",
  },
  Unbinding: {
    "unbind-service-id": "an unbind without service_id is answered with 400",
    "unbind-plan-id": "an unbind without plan_id is answered with 400",
    "unbind-accepted": "an unbind is answered with 200 or 202",
    "unbind-operation": "operation is a text of at most 10,000 characters, null or absent",
    "unbind-gone": "an unbind of what does not exist is answered with 410",
  },
  Deprovisioning: {
    "deprovision-service-id": "a deprovision without service_id is answered with 400",
    "deprovision-plan-id": "a deprovision without plan_id is answered with 400",
    "deprovision-accepted": "a deprovision is answered with 200 or 202",
    "deprovision-operation": "operation is a text of at most 10,000 characters, null or absent",
    "deprovision-resent": "the same deprovision during the first is answered with 202 and the same operation",
    "deprovision-gone": "a deprovision of what does not exist is answered with 410",
  },
} as const;

type Sections = typeof sections;
/** Name of a rule. */
export type RuleId = { [Section in keyof Sections]: keyof Sections[Section] }[keyof Sections];

const recommended: ReadonlySet<RuleId> = new Set<RuleId>([
  "version-missing",
  "request-identity",
  "content-type",
  "body-malformed",
  "catalog-names",
  "catalog-guids",
  "provision-unknown-plan",
  "provision-again",
  "retry-after",
  "polling-duration",
  "bind-again",
]);

function isRuleId(id: string): id is RuleId {
  return Object.values(sections).some((texts) => Object.hasOwn(texts, id));
}

/** All rules in the order of the report. */
export const rules: readonly (Rule & { readonly id: RuleId })[] = Object.entries(sections).flatMap(
  ([section, texts]) =>
    Object.entries(texts).flatMap(([id, text]) => {
      if (!isRuleId(id)) return [];
      return [{ id, section, level: recommended.has(id) ? ("SHOULD" as const) : ("MUST" as const), text }];
    }),
);

/** The names of all rules. */
export const ruleIds: readonly RuleId[] = rules.map(({ id }) => id);
