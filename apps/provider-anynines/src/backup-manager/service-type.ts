/** Whether two managed resources speak of the same type of data service, as far as the names of their ProviderConfigs tell. */
import { ExternalError, type Managed } from "@klutch/crossplane";
import { typeOfProviderConfig } from "@klutch/services";
import { bareConfigName } from "../provider-config/reference.ts";
import { shownName } from "../claims/names.ts";

/** Throws when the type that was said is another than that of `other`. `what`: whose type was said, for people. */
export function checkType(managed: Managed, other: Managed, what: string): void {
  const [said, is] = [typeOf(managed), typeOf(other)];
  // Whoever composes managed resources themselves may name ProviderConfigs after something else than a type.
  if (said === undefined || is === undefined || said === is) return;
  throw new ExternalError(
    `serviceInstanceType of ${what} is ${said}, but ${shownName(other)} is of type ${is}; delete it and make it anew with serviceInstanceType ${is}`,
    { reason: "Refused" },
  );
}

/** Undefined when the name says nothing of a type. */
function typeOf(managed: Managed): string | undefined {
  const name = bareConfigName(managed);
  const type = typeOfProviderConfig(name);
  return type === name ? undefined : type;
}
