/** Headers, authentication and the catalog. */
import { isObject, isOptional, isText, listOf, objectOf } from "@klutch/osb/internal";
import { catalogFaults, catalogRules } from "../catalog-faults.ts";
import type { CheckParts } from "../context.ts";
import { type Exchange, identityHeader } from "../exchange.ts";
import type { Report } from "../report.ts";

/** The context of these checks, which come before a plan is chosen. */
type Bare = Pick<CheckParts, "send" | "report">;

/** Tests the rules that hold for every answer. */
export function expectWellFormed(report: Report, exchange: Exchange): void {
  const { status, body, text, contentType, headers, requestIdentity } = exchange;
  if (status === 0) return;
  const isEchoed = headers[identityHeader] === requestIdentity;
  report.expect("request-identity", exchange, isEchoed, "the header is missing or another");
  if (text === "") return;
  const isJson = contentType === "application/json";
  report.expect("content-type", exchange, isJson, `the type is ${contentType || "missing"}`);
  if (status < 400) return;
  const { error, description } = objectOf(body);
  const areTexts = isOptional(error, isText) && isOptional(description, isText);
  report.expect("error-fields", exchange, areTexts, "one is empty or no text");
}

/** Checks and returns the catalog; undefined when none can be read. */
export async function checkCatalog({ send, report }: Bare): Promise<unknown> {
  const first = await send({ method: "GET", path: "/v2/catalog" });
  if (first.status === 0) {
    report.skip(first.came, "catalog-status");
    return undefined;
  }
  const isCatalog = first.status === 200 && isObject(first.body);
  report.expect("catalog-status", first, isCatalog, "the status is not 200 or the body no object");
  if (!isObject(first.body)) return undefined;
  const faults = catalogFaults(first.body);
  for (const rule of catalogRules) {
    const found = faults.filter((fault) => fault.rule === rule).map(({ why }) => why);
    report.expect(rule, first, found.length === 0, found.join("; "));
  }
  const second = await send({ method: "GET", path: "/v2/catalog" });
  const before = idsByName(first.body);
  const changed = [...idsByName(second.body)].find(([name, id]) => (before.get(name) ?? id) !== id);
  const why = changed === undefined ? "" : `the id of ${JSON.stringify(changed[0])} is another`;
  report.expect("catalog-stable", second, changed === undefined, why);
  return first.body;
}

/** Ids of offerings and plans by their names. */
function idsByName(catalog: unknown): ReadonlyMap<string, unknown> {
  const offerings = listOf(objectOf(catalog)["services"]).map(objectOf);
  return new Map(
    offerings.flatMap(({ id, name, plans }) => [
      [String(name), id] as const,
      ...listOf(plans).map((plan) => {
        const { id: planId, name: planName } = objectOf(plan);
        return [`${String(name)}/${String(planName)}`, planId] as const;
      }),
    ]),
  );
}

export async function checkHeaders(
  { send, report }: Bare,
  { authenticates }: { readonly authenticates: boolean },
): Promise<void> {
  const unversioned = await send({ method: "GET", path: "/v2/catalog", versioned: false });
  report.expect("version-missing", unversioned, unversioned.status === 400, "the status is not 400");
  if (!authenticates) {
    report.skip("no credentials are configured", "auth-missing", "auth-wrong");
    return;
  }
  // A deprovision of what does not exist tells as much as a provision, and can make nothing.
  const nobody = "/v2/service_instances/05bc4ec0-0000-4000-8000-000000000000";
  for (const [method, path] of [
    ["GET", "/v2/catalog"],
    ["DELETE", nobody],
  ] as const) {
    const none = await send({ method, path, credentials: "none" });
    report.expect("auth-missing", none, none.status === 401, "the status is not 401");
    const wrong = await send({ method, path, credentials: "wrong" });
    report.expect("auth-wrong", wrong, wrong.status === 401, "the status is not 401");
  }
}
