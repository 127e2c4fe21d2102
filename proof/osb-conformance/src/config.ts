/** Flags and environment of `npm run osb:check`. Secrets come by the environment only: flags are seen by every process. */
import { parsedJson, type TlsSettings } from "@klutch/http-client";
import { type BrokerAuth, type Json, isObject } from "@klutch/osb/internal";
import {
  type Flag,
  FlagFault,
  helpText,
  optionalText,
  readFlags,
  text,
  toggle,
  wholeNumber,
} from "@klutch/program";
import type { CheckOptions } from "./run.ts";

/** The action that the command line asks for. */
export type CheckCommand =
  | { readonly kind: "help" }
  /** Each is a sentence. */
  | { readonly kind: "faults"; readonly faults: readonly string[] }
  | {
      readonly kind: "check";
      readonly options: CheckOptions;
      readonly json: boolean;
      readonly verbose: boolean;
    };

const name = (help: string): Flag<string | undefined> => optionalText({ value: "name", help });
const file = (help: string): Flag<string | undefined> => optionalText({ value: "file", help });
const secret = (env: string, help: string): Flag<string | undefined> =>
  optionalText({ env, envOnly: true, secret: true, help });
const seconds = (defaultValue: string, help: string): Flag<number> =>
  wholeNumber({ value: "seconds", default: defaultValue, help }, { least: 1, most: 86_400 });

const flags = {
  url: { ...text({ value: "url", help: "URL of the broker, without /v2" }), read: readUrl },
  username: name("User of basic authentication, with OSB_PASSWORD"),
  password: secret("OSB_PASSWORD", "Password of --username"),
  token: secret("OSB_TOKEN", "Bearer token"),
  "token-url": optionalText({ value: "url", help: "Where OAuth gives out tokens, with --client-id" }),
  "client-id": optionalText({ value: "id", help: "Client of OAuth, with OSB_CLIENT_SECRET" }),
  "client-secret": secret("OSB_CLIENT_SECRET", "Secret of --client-id"),
  scope: optionalText({ value: "scope", help: "Scope of OAuth" }),
  "ca-file": file("Certificates to trust, as PEM"),
  "cert-file": file("Client certificate, as PEM"),
  "key-file": file("Key of --cert-file, as PEM"),
  "server-name": name("Name that the broker's certificate has"),
  "insecure-skip-verify": toggle({ help: "Trust every certificate" }),
  service: name("Offering to provision; the first of the catalog"),
  plan: name("Plan to provision; the first of the offering"),
  "other-plan": name("Plan to change to; the first other one"),
  parameters: jsonObject("Parameters of the instance"),
  "bind-parameters": jsonObject("Parameters of the bindings"),
  organization: text({ value: "id", default: "osb-check", help: "organization_guid of the instance" }),
  space: text({ value: "id", default: "osb-check", help: "space_guid of the instance" }),
  "api-version": optionalText({ value: "2.N", help: "Version; the newest that the broker does not refuse" }),
  timeout: seconds("60", "Limit of one request"),
  "cleanup-timeout": seconds("900", "Limit for deleting everything at the end"),
  json: toggle({ help: "Print the report as JSON" }),
  verbose: toggle({ help: "Print what was sent and what came for every rule" }),
} as const;

/** Text of `--help`. */
export const usage: string = helpText({
  name: "npm run osb:check --",
  version: "2.17",
  summary: `checks a service broker against the Open Service Broker API.

It provisions, updates, binds and deletes instances of one plan, which may cost money, and deletes everything it made.
It ends with 0; with 1 when a MUST failed or something could not be deleted; with 2 when not everything could be tested.`,
  flags,
});

type Values = ReturnType<typeof readFlags<typeof flags>>["values"];
type Environment = Readonly<Record<string, string | undefined>>;

/** Reads everything and lists every fault at once. No fault shows a secret, even one that was typed as a flag. */
export function readCheckCommand(
  args: readonly string[],
  env: Environment,
  readFile: (path: string) => string,
): CheckCommand {
  if (args.includes("--help") || args.includes("-h")) return { kind: "help" };
  for (const [flag, { env: variable, envOnly }] of Object.entries<Flag<unknown>>(flags)) {
    const isTyped = args.some((argument) => argument === `--${flag}` || argument.startsWith(`--${flag}=`));
    if (envOnly !== true || !isTyped) continue;
    const why = `--${flag} is not a flag, because flags can be seen by every process; set ${variable}`;
    return { kind: "faults", faults: [why] };
  }
  const { values, faults } = readFlags(flags, { args, env });
  const options: CheckOptions = {
    url: values.url,
    auth: authOf(values, faults),
    tls: tlsOf(values, readFile, faults),
    apiVersion: values["api-version"],
    timeoutMs: values.timeout * 1000,
    cleanupMs: values["cleanup-timeout"] * 1000,
    choice: { service: values.service, plan: values.plan, otherPlan: values["other-plan"] },
    wishes: {
      organizationGuid: values.organization,
      spaceGuid: values.space,
      parameters: values.parameters,
      bindParameters: values["bind-parameters"],
    },
  };
  if (faults.length > 0) return { kind: "faults", faults };
  return { kind: "check", options, json: values.json, verbose: values.verbose };
}

function readUrl([given = ""]: readonly string[]): string {
  const url = URL.parse(given);
  const fault = (message: string): FlagFault => new FlagFault(message, { showsValue: false });
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw fault("must be an http or https URL");
  if (url.username !== "" || url.password !== "")
    throw fault("must not have credentials; give them as --username and OSB_PASSWORD");
  if (url.search !== "" || url.hash !== "") throw fault("must not have a query or a fragment");
  return given;
}

function jsonObject(help: string): Flag<Json | undefined> {
  const fault = new FlagFault("must be a JSON object", { showsValue: false });
  return {
    value: "json",
    help,
    read([given]) {
      if (given === undefined) return undefined;
      const parsed = parsedJson(given);
      if (!isObject(parsed)) throw fault;
      return parsed;
    },
  };
}

function authOf(values: Values, faults: string[]): BrokerAuth | undefined {
  const { username, password, token, scope } = values;
  const { "token-url": tokenUrl, "client-id": clientId, "client-secret": clientSecret } = values;
  const kinds = [username, token, tokenUrl ?? clientId].filter((kind) => kind !== undefined);
  if (kinds.length > 1) faults.push("--username, --token-url and OSB_TOKEN exclude each other");
  else if (username !== undefined) {
    if (password === undefined) faults.push("--username needs the environment variable OSB_PASSWORD");
    return { kind: "basic", username, password: password ?? "" };
  } else if (token !== undefined) return { kind: "bearer", token };
  else if (tokenUrl !== undefined && clientId !== undefined) {
    if (clientSecret === undefined)
      faults.push("--client-id needs the environment variable OSB_CLIENT_SECRET");
    return { kind: "oauth", tokenUrl, clientId, clientSecret: clientSecret ?? "", scope };
  } else if (kinds.length > 0) faults.push("--token-url and --client-id belong together");
  return undefined;
}

function tlsOf(values: Values, readFile: (path: string) => string, faults: string[]): TlsSettings {
  const pem = (flag: "ca-file" | "cert-file" | "key-file"): string | undefined => {
    const path = values[flag];
    if (path === undefined) return undefined;
    try {
      return readFile(path);
    } catch {
      faults.push(`--${flag}: the file cannot be read`);
      return undefined;
    }
  };
  const [ca, cert, key] = [pem("ca-file"), pem("cert-file"), pem("key-file")];
  const insecureSkipVerify = values["insecure-skip-verify"];
  if ((values["cert-file"] === undefined) !== (values["key-file"] === undefined))
    faults.push("--cert-file and --key-file belong together");
  if (insecureSkipVerify && ca !== undefined)
    faults.push("--ca-file and --insecure-skip-verify exclude each other");
  return { ca, cert, key, serverName: values["server-name"], insecureSkipVerify };
}
