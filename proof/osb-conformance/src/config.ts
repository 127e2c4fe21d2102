/** Flags and environment of `npm run osb:check`. Secrets come by the environment only: flags are seen by every process. */
import { parseArgs } from "node:util";
import type { TlsSettings } from "@klutch/http-client";
import { type BrokerAuth, type Json, isObject } from "@klutch/osb/internal";
import type { CheckOptions } from "./run.ts";

/** What the command does. */
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

export const usage = `Checks a service broker against the Open Service Broker API 2.17.

It provisions, updates, binds and deletes instances of one plan, which may cost money, and deletes everything it made.

  npm run osb:check -- --url https://broker.example --username admin

  --url URL                 of the broker, without /v2
  --username NAME           for basic authentication; the password is in OSB_PASSWORD
  --token-url URL           for OAuth client credentials, with
  --client-id ID              whose secret is in OSB_CLIENT_SECRET
  --scope SCOPE
                            for a bearer token: OSB_TOKEN
  --ca-file, --cert-file, --key-file FILE
                            PEM: whom to trust, and the client certificate
  --server-name NAME        that the broker's certificate has
  --insecure-skip-verify    trusts every certificate
  --service, --plan NAME    what to provision; the first of the catalog
  --other-plan NAME         for changing the plan; the first other one
  --parameters JSON         of the instance
  --bind-parameters JSON    of the bindings
  --organization, --space ID  (osb-check)
  --api-version 2.N         the newest that the broker does not refuse
  --timeout SECONDS         of one request (60)
  --cleanup-timeout SECONDS for deleting everything at the end (900)
  --json                    the report as JSON
  --verbose                 what was sent and what came for every rule

It ends with 0; with 1 when a MUST failed or something could not be deleted; with 2 when not everything could be tested.`;

const flags = {
  url: { type: "string" },
  username: { type: "string" },
  "token-url": { type: "string" },
  "client-id": { type: "string" },
  scope: { type: "string" },
  "ca-file": { type: "string" },
  "cert-file": { type: "string" },
  "key-file": { type: "string" },
  "server-name": { type: "string" },
  "insecure-skip-verify": { type: "boolean" },
  service: { type: "string" },
  plan: { type: "string" },
  "other-plan": { type: "string" },
  parameters: { type: "string" },
  "bind-parameters": { type: "string" },
  organization: { type: "string" },
  space: { type: "string" },
  "api-version": { type: "string" },
  timeout: { type: "string" },
  "cleanup-timeout": { type: "string" },
  json: { type: "boolean" },
  verbose: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** Flags that people try first, and where that belongs. */
const secretFlags: Readonly<Record<string, string>> = {
  password: "OSB_PASSWORD",
  token: "OSB_TOKEN",
  "client-secret": "OSB_CLIENT_SECRET",
};

type Texts = Readonly<Record<string, string | boolean | undefined>>;
type Environment = Readonly<Record<string, string | undefined>>;

/** Reads everything and lists every fault at once. */
export function readCheckCommand(
  args: readonly string[],
  env: Environment,
  readFile: (path: string) => string,
): CheckCommand {
  const faults: string[] = [];
  let values: Texts;
  try {
    ({ values } = parseArgs({ args: [...args], options: flags, strict: true }));
  } catch (error) {
    return { kind: "faults", faults: [wordsOf(error, args)] };
  }
  if (values["help"] === true) return { kind: "help" };
  const text = (flag: keyof typeof flags): string | undefined => {
    const value = values[flag];
    return typeof value === "string" ? value : undefined;
  };
  const url = urlOf(text("url"), faults);
  const options: CheckOptions = {
    url,
    auth: authOf(text, env, faults),
    tls: tlsOf(text, values["insecure-skip-verify"] === true, readFile, faults),
    ...(text("api-version") === undefined ? {} : { apiVersion: text("api-version") }),
    timeoutMs: secondsOf("timeout", text("timeout"), 60, faults) * 1000,
    cleanupMs: secondsOf("cleanup-timeout", text("cleanup-timeout"), 900, faults) * 1000,
    choice: { service: text("service"), plan: text("plan"), otherPlan: text("other-plan") },
    wishes: {
      organizationGuid: text("organization") ?? "osb-check",
      spaceGuid: text("space") ?? "osb-check",
      parameters: jsonOf("parameters", text("parameters"), faults),
      bindParameters: jsonOf("bind-parameters", text("bind-parameters"), faults),
    },
  };
  if (faults.length > 0) return { kind: "faults", faults };
  return { kind: "check", options, json: values["json"] === true, verbose: values["verbose"] === true };
}

type Text = (flag: keyof typeof flags) => string | undefined;

function urlOf(value: string | undefined, faults: string[]): string {
  const url = value === undefined ? null : URL.parse(value);
  if (value === undefined) faults.push("--url is missing");
  else if (url === null || !["http:", "https:"].includes(url.protocol))
    faults.push("--url is not an http or https URL");
  else if (url.username !== "" || url.password !== "")
    faults.push("--url has credentials; give them as --username and OSB_PASSWORD");
  else if (url.search !== "" || url.hash !== "") faults.push("--url has a query or a fragment");
  return value ?? "";
}

function authOf(text: Text, env: Environment, faults: string[]): BrokerAuth | undefined {
  const username = text("username");
  const tokenUrl = text("token-url");
  const clientId = text("client-id");
  const token = env["OSB_TOKEN"];
  const kinds = [
    username !== undefined,
    tokenUrl !== undefined || clientId !== undefined,
    token !== undefined,
  ];
  if (kinds.filter(Boolean).length > 1) {
    faults.push("--username, --token-url and OSB_TOKEN exclude each other");
    return undefined;
  }
  if (username !== undefined)
    return { kind: "basic", username, password: needed(env, "OSB_PASSWORD", "--username", faults) };
  if (token !== undefined) return { kind: "bearer", token };
  if (tokenUrl === undefined && clientId === undefined) return undefined;
  if (tokenUrl === undefined || clientId === undefined) {
    faults.push("--token-url and --client-id belong together");
    return undefined;
  }
  const clientSecret = needed(env, "OSB_CLIENT_SECRET", "--client-id", faults);
  return { kind: "oauth", tokenUrl, clientId, clientSecret, scope: text("scope") };
}

function needed(env: Environment, name: string, flag: string, faults: string[]): string {
  const value = env[name];
  if (value === undefined || value === "") faults.push(`${flag} needs the environment variable ${name}`);
  return value ?? "";
}

function tlsOf(
  text: Text,
  insecureSkipVerify: boolean,
  readFile: (path: string) => string,
  faults: string[],
): TlsSettings {
  const pem = (flag: "ca-file" | "cert-file" | "key-file"): string | undefined => {
    const path = text(flag);
    if (path === undefined) return undefined;
    try {
      return readFile(path);
    } catch {
      faults.push(`--${flag}: the file cannot be read`);
      return undefined;
    }
  };
  const [ca, cert, key] = [pem("ca-file"), pem("cert-file"), pem("key-file")];
  if ((text("cert-file") === undefined) !== (text("key-file") === undefined))
    faults.push("--cert-file and --key-file belong together");
  if (insecureSkipVerify && ca !== undefined)
    faults.push("--ca-file and --insecure-skip-verify exclude each other");
  return { ca, cert, key, serverName: text("server-name"), insecureSkipVerify };
}

function secondsOf(flag: string, value: string | undefined, otherwise: number, faults: string[]): number {
  if (value === undefined) return otherwise;
  const seconds = Number(value);
  if (Number.isInteger(seconds) && seconds > 0 && seconds <= 86_400) return seconds;
  faults.push(`--${flag} must be a whole number of seconds from 1 to 86400`);
  return otherwise;
}

function jsonOf(flag: string, value: string | undefined, faults: string[]): Json | undefined {
  if (value === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(value);
    if (isObject(parsed)) return parsed;
  } catch {
    // Said below.
  }
  faults.push(`--${flag} must be a JSON object`);
  return undefined;
}

/** Of a flag that is not known. The value of one that looks like a secret is not repeated. */
function wordsOf(error: unknown, args: readonly string[]): string {
  for (const [flag, variable] of Object.entries(secretFlags))
    if (args.some((argument) => argument === `--${flag}` || argument.startsWith(`--${flag}=`)))
      return `--${flag} is not a flag, because flags can be seen by every process; set ${variable}`;
  return error instanceof Error ? error.message : String(error);
}
