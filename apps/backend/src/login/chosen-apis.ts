/** Reads the APIs that a person chose on the page of a login that takes several. */
import { crdNameOf, mostApisOfLogin, resourceNamed } from "@klutch/api";
import { isDnsSubdomain, listAt, plainText, textAt } from "@klutch/kube-core";
import type { Api } from "../authorization/allowed-offers.ts";
import { UserError } from "../errors.ts";
import type { OfferedApi } from "../offered-api.ts";
import { servicesOf } from "./pages/service-groups.ts";

/** A form as Hono parses it with `all`: a repeated field is a list. */
export type Form = Readonly<Record<string, unknown>>;

/** Returns the texts of a field, whether it was sent once or several times. */
export function textsAt(form: Form, name: string): readonly string[] {
  const one = textAt(form, name);
  return one === undefined ? listAt(form, name).filter((value) => typeof value === "string") : [one];
}

/** Characters that the names of all chosen APIs may have: they travel in a ticket. */
const mostCharacters = 4_096;
const change = "Change the selection.";

/**
 * Returns the APIs of the form, each once, and those of its services. Throws `UserError` 400 for none or too many of them. The caller still has to
 * ask whether the person may bind them.
 */
export function chosenApis(form: Form, offers: readonly OfferedApi[]): readonly Api[] {
  const services = servicesOf(offers);
  const ofServices = textsAt(form, "service").flatMap((id) => {
    const service = services.find((one) => one.id === id);
    if (service === undefined)
      throw new UserError(404, `Service ${plainText(id, 80)} is not offered here.`, change);
    return service.apis;
  });
  const apis = new Map(
    [...textsAt(form, "api").map(readName), ...ofServices].map(({ resource, group }) => [
      crdNameOf({ resource, group }),
      { resource, group },
    ]),
  );
  if (apis.size === 0) throw new UserError(400, "You selected no API.", "Select at least one API.");
  if (apis.size > mostApisOfLogin)
    throw new UserError(
      400,
      `You selected ${apis.size} APIs, and one login binds at most ${mostApisOfLogin}.`,
      change,
    );
  if ([...apis.keys()].join("").length > mostCharacters)
    throw new UserError(400, "The names of the selected APIs are too long for one login.", change);
  return [...apis.values()];
}

function readName(name: string): Api {
  const api = resourceNamed(name);
  if (api.group !== "" && isDnsSubdomain(name)) return api;
  throw new UserError(400, `${JSON.stringify(plainText(name, 80))} is not an API.`, change);
}
