/** What is checked: each rule with the section of the OSB 2.17 specification that makes it, and how strict that is. */

/** A rule of the specification. `SHOULD` stands for RECOMMENDED, too. */
export interface Rule {
  readonly section: string;
  readonly level: "MUST" | "SHOULD";
  /** What a broker does that keeps it. */
  readonly text: string;
}

function must(section: string, text: string): Rule {
  return { section, level: "MUST", text };
}

function should(section: string, text: string): Rule {
  return { section, level: "SHOULD", text };
}

const catalog = "Catalog Management";
const errors = "Service Broker Errors";
const authentication = "Platform to Service Broker Authentication";
const polling = "Polling Last Operation";
const provisioning = "Provisioning";
const fetchingInstance = "Fetching a Service Instance";
const updating = "Updating a Service Instance";
const binding = "Binding";
const fetchingBinding = "Fetching a Service Binding";
const unbinding = "Unbinding";
const deprovisioning = "Deprovisioning";

/** Name of a rule. */
export type RuleId =
  | "version-missing"
  | "request-identity"
  | "extension-fields"
  | "auth-missing"
  | "auth-wrong"
  | "error-fields"
  | "error-unchanged"
  | "content-type"
  | "body-malformed"
  | "catalog-status"
  | "catalog-services"
  | "catalog-stable"
  | "offering-fields"
  | "offering-names"
  | "offering-plans"
  | "plan-fields"
  | "plan-names"
  | "catalog-ids"
  | "catalog-types"
  | "catalog-maintenance"
  | "catalog-schemas"
  | "catalog-names"
  | "catalog-guids"
  | "provision-service-id"
  | "provision-plan-id"
  | "provision-organization"
  | "provision-space"
  | "provision-unknown-plan"
  | "provision-async-required"
  | "provision-accepted"
  | "provision-operation"
  | "provision-dashboard"
  | "provision-resent"
  | "provision-again"
  | "provision-conflict"
  | "last-operation"
  | "last-operation-description"
  | "retry-after"
  | "polling-duration"
  | "concurrency-error"
  | "fetch-instance"
  | "fetch-instance-fields"
  | "fetch-instance-missing"
  | "fetch-instance-provisioning"
  | "update-service-id"
  | "update-unchanged"
  | "update-async-required"
  | "update-accepted"
  | "update-operation"
  | "update-resent"
  | "update-plan"
  | "bind-service-id"
  | "bind-plan-id"
  | "bind-async-required"
  | "bind-accepted"
  | "bind-operation"
  | "bind-secret"
  | "bind-information"
  | "bind-requires"
  | "bind-endpoints"
  | "bind-again"
  | "bind-conflict"
  | "fetch-binding"
  | "fetch-binding-information"
  | "fetch-binding-missing"
  | "unbind-service-id"
  | "unbind-plan-id"
  | "unbind-async-required"
  | "unbind-accepted"
  | "unbind-operation"
  | "unbind-gone"
  | "deprovision-service-id"
  | "deprovision-plan-id"
  | "deprovision-async-required"
  | "deprovision-accepted"
  | "deprovision-operation"
  | "deprovision-resent"
  | "deprovision-gone";

/** In the order of the report. */
export const rules: Readonly<Record<RuleId, Rule>> = {
  "version-missing": should(
    "API Version Header",
    "a request without X-Broker-API-Version is answered with 400",
  ),
  "request-identity": should("Request Identity", "X-Broker-API-Request-Identity comes back with the answer"),
  "extension-fields": must("Vendor Extension Fields", "an unknown field of a request is ignored"),
  "auth-missing": must(authentication, "a request without credentials is answered with 401"),
  "auth-wrong": must(authentication, "a request with wrong credentials is answered with 401"),
  "error-fields": must(errors, "error and description are texts that are not empty, or absent"),
  "error-unchanged": must("Error Codes", "a provision that was answered with 4xx leaves no instance"),
  "content-type": should("Content Type", "answers with a body say application/json"),
  "body-malformed": should("Content Type", "a body that is not JSON is answered with 400"),

  "catalog-status": must(catalog, "the catalog is answered with 200 and a JSON object"),
  "catalog-services": must(catalog, "services is a list"),
  "catalog-stable": must(catalog, "a second catalog has the same ids for the same names"),
  "offering-fields": must(
    "Service Offering Object",
    "name, id and description are texts, bindable is a truth value",
  ),
  "offering-names": must("Service Offering Object", "names of offerings are unique"),
  "offering-plans": must("Service Offering Object", "an offering has at least one plan"),
  "plan-fields": must("Service Plan Object", "name, id and description are texts that are not empty"),
  "plan-names": must("Service Plan Object", "names of plans are unique within their offering"),
  "catalog-ids": must(catalog, "no two offerings or plans have the same id"),
  "catalog-types": must(catalog, "optional fields that are there have the type that they are defined with"),
  "catalog-maintenance": must("Maintenance Info Object", "version is a semantic version"),
  "catalog-schemas": must(
    "Input Parameters Schema Object",
    "schemas name $schema, stay in themselves and below 64 kB",
  ),
  "catalog-names": should(catalog, "names have letters, digits, periods and hyphens only"),
  "catalog-guids": should(catalog, "ids of offerings and plans are GUIDs"),

  "provision-service-id": must(provisioning, "a provision without service_id is answered with 400"),
  "provision-plan-id": must(provisioning, "a provision without plan_id is answered with 400"),
  "provision-organization": must(provisioning, "a provision without organization_guid is answered with 400"),
  "provision-space": must(provisioning, "a provision without space_guid is answered with 400"),
  "provision-unknown-plan": should(
    provisioning,
    "a provision of a plan that is not in the catalog is answered with 400",
  ),
  "provision-async-required": must(
    "Asynchronous Operations",
    "a provision without accepts_incomplete is done at once or answered with 422 AsyncRequired",
  ),
  "provision-accepted": must(provisioning, "a provision is answered with 201 or 202"),
  "provision-operation": must(
    provisioning,
    "operation is a text of at most 10,000 characters, null or absent",
  ),
  "provision-dashboard": must(provisioning, "dashboard_url is a text, null or absent"),
  "provision-resent": must(
    provisioning,
    "the same provision during the first is answered with 202 and the same operation",
  ),
  "provision-again": should(provisioning, "the same provision of what exists is answered with 200"),
  "provision-conflict": must(
    provisioning,
    "a provision of the same id with another plan is answered with 409",
  ),

  "last-operation": must(
    polling,
    "last_operation is answered with 200 and a state of the three, with 410 only when deleting",
  ),
  "last-operation-description": must(polling, "description is a text or absent"),
  "retry-after": should(polling, "Retry-After is a duration in seconds, or absent"),
  "polling-duration": should(
    "Polling Interval and Duration",
    "operations end within the plan's maximum_polling_duration",
  ),
  "concurrency-error": must(
    "Blocking Operations",
    "what cannot be done during another operation is answered with 422 ConcurrencyError",
  ),

  "fetch-instance": must(fetchingInstance, "an instance can be fetched as soon as it is provisioned"),
  "fetch-instance-fields": must(
    fetchingInstance,
    "service_id and plan_id are those of the instance, parameters an object, or absent",
  ),
  "fetch-instance-missing": must(fetchingInstance, "an instance that does not exist is answered with 404"),
  "fetch-instance-provisioning": must(
    fetchingInstance,
    "an instance that is being provisioned is answered with 404",
  ),

  "update-service-id": must(updating, "an update without service_id is answered with 400"),
  "update-unchanged": must(updating, "an update that was answered with 4xx changes nothing"),
  "update-async-required": must(
    "Asynchronous Operations",
    "an update without accepts_incomplete is done at once or answered with 422 AsyncRequired",
  ),
  "update-accepted": must(updating, "an update is answered with 200, 202 or, when it is not supported, 422"),
  "update-operation": must(updating, "operation is a text of at most 10,000 characters, null or absent"),
  "update-resent": must(
    updating,
    "the same update during the first is answered with 202 and the same operation",
  ),
  "update-plan": must(updating, "after an update to another plan the instance has that plan"),

  "bind-service-id": must(binding, "a bind without service_id is answered with 400"),
  "bind-plan-id": must(binding, "a bind without plan_id is answered with 400"),
  "bind-async-required": must(
    "Asynchronous Operations",
    "a bind without accepts_incomplete is done at once or answered with 422 AsyncRequired",
  ),
  "bind-accepted": must(binding, "a bind is answered with 201 or 202"),
  "bind-operation": must(binding, "operation is a text of at most 10,000 characters, null or absent"),
  "bind-secret": must(binding, "an answer of 202 has no credentials"),
  "bind-information": must(
    binding,
    "a binding has credentials, a drain, a route or volumes of the right types",
  ),
  "bind-requires": must(
    binding,
    "drains, routes and volumes are given only by offerings that declare them in requires",
  ),
  "bind-endpoints": must(
    "Endpoint Object",
    "endpoints have a host, ports that are texts, and tcp, udp or all",
  ),
  "bind-again": should(binding, "the same bind of what exists is answered with 200"),
  "bind-conflict": must(binding, "a bind of the same id with other parameters is answered with 409"),

  "fetch-binding": must(fetchingBinding, "a binding can be fetched as soon as it is there"),
  "fetch-binding-information": must(
    fetchingBinding,
    "a binding that was made asynchronously has its credentials",
  ),
  "fetch-binding-missing": must(fetchingBinding, "a binding that does not exist is answered with 404"),

  "unbind-service-id": must(unbinding, "an unbind without service_id is answered with 400"),
  "unbind-plan-id": must(unbinding, "an unbind without plan_id is answered with 400"),
  "unbind-async-required": must(
    "Asynchronous Operations",
    "an unbind without accepts_incomplete is done at once or answered with 422 AsyncRequired",
  ),
  "unbind-accepted": must(unbinding, "an unbind is answered with 200 or 202"),
  "unbind-operation": must(unbinding, "operation is a text of at most 10,000 characters, null or absent"),
  "unbind-gone": must(unbinding, "an unbind of what does not exist is answered with 410"),

  "deprovision-service-id": must(deprovisioning, "a deprovision without service_id is answered with 400"),
  "deprovision-plan-id": must(deprovisioning, "a deprovision without plan_id is answered with 400"),
  "deprovision-async-required": must(
    "Asynchronous Operations",
    "a deprovision without accepts_incomplete is done at once or answered with 422 AsyncRequired",
  ),
  "deprovision-accepted": must(deprovisioning, "a deprovision is answered with 200 or 202"),
  "deprovision-operation": must(
    deprovisioning,
    "operation is a text of at most 10,000 characters, null or absent",
  ),
  "deprovision-resent": must(
    deprovisioning,
    "the same deprovision during the first is answered with 202 and the same operation",
  ),
  "deprovision-gone": must(deprovisioning, "a deprovision of what does not exist is answered with 410"),
};

export const ruleIds: readonly RuleId[] = Object.keys(rules).filter((id): id is RuleId => id in rules);
