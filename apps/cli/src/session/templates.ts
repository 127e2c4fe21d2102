/** `klutch templates`: the APIs that the person of a session may bind now. */
import { crdNameOf, decodeSessionTemplates, type SessionTemplate, sessionUrls } from "@klutch/api";
import { pricesText } from "@klutch/services";
import { refused, usable } from "../bind/login.ts";
import { untilText, whoText } from "../bind/session-bind.ts";
import { forgetLogins } from "../bind/stored-logins.ts";
import type { CliContext } from "../context.ts";
import { getJson } from "../http.ts";
import { columns, yamlOf } from "../output.ts";
import type { ListFormat } from "../overview/table.ts";
import { chosenLogin } from "./chosen-login.ts";

/** Runs the command. */
export async function templates(
  context: CliContext,
  url: string | undefined,
  output: ListFormat | undefined,
): Promise<void> {
  const login = await chosenLogin(context, url);
  const { terminal } = context;
  const headers = { authorization: `Bearer ${login.session.reveal()}` };
  const answer = await getJson(context, sessionUrls(login.sessionUrl).templates, headers);
  if (answer.status === 401) await forgetLogins(context, [login]);
  if (answer.status !== 200) throw refused("did not list its APIs", answer, "");
  const { templates: items } = await usable(() => decodeSessionTemplates(answer.body));
  if (output === undefined) terminal.say(`Logged in as ${whoText(login)} until ${untilText(login)}.`);
  terminal.out(textOf(items, output));
}

function textOf(items: readonly SessionTemplate[], output: ListFormat | undefined): string {
  const list = { apiVersion: "klutch.anynines.com/v1alpha1", kind: "TemplateList", items };
  if (output === "json") return `${JSON.stringify(list, null, 4)}\n`;
  if (output === "yaml") return yamlOf(list);
  if (output !== "name") return tableOf(items, output === "wide");
  return items
    .filter(({ state }) => state === "Available")
    .map((item) => `${crdNameOf(item)}\n`)
    .join("");
}

function tableOf(items: readonly SessionTemplate[], isWide: boolean): string {
  const more = ["KIND", "PRICE", "PLANS AND FIELDS", "DESCRIPTION"];
  const header = ["API", "SERVICES", "STATE", ...(isWide ? more : [])];
  const rows = items.map((item) => {
    const { services, state, reason, kind = "", fields, description = "" } = item;
    const stateText = reason === undefined ? state : `${state}: ${reason}`;
    const wide = [
      kind,
      pricesText(item.prices),
      fields.map(({ name, about }) => `${name}: ${about}`).join("; "),
      description,
    ];
    return [crdNameOf(item), services.join(","), stateText, ...(isWide ? wide : [])];
  });
  return columns([header, ...rows]);
}
