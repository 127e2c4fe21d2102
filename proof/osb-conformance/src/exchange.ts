/** Raw requests to a broker and their answers, in words without secrets. */
import { cleanerFor, type HttpRequest, type HttpResponse, parsedJson } from "@klutch/http-client";
import {
  type Credentials,
  type NamedClient,
  OsbTransportError,
  basicHeader,
  sendAuthorized,
} from "@klutch/osb/internal";

/** A request that may break rules itself. */
export interface RawRequest {
  readonly method: Exclude<HttpRequest["method"], "POST" | "HEAD">;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  /** An object is sent as JSON, a text as it is. */
  readonly body?: Readonly<Record<string, unknown>> | string | undefined;
  /** Default the run's own credentials. */
  readonly credentials?: "own" | "wrong" | "none" | undefined;
  /** Default true. */
  readonly versioned?: boolean | undefined;
}

/** A request and what came of it. */
export interface Exchange {
  readonly sent: string;
  readonly came: string;
  /** 0 when no answer came. */
  readonly status: number;
  /** The parsed body; undefined when it is none or not JSON. */
  readonly body: unknown;
  readonly text: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
  readonly requestIdentity: string;
}

export interface ExchangerOptions {
  readonly http: NamedClient;
  readonly url: string;
  /** Returns the API version for the next request. */
  readonly version: () => string;
  readonly credentials: Credentials;
  readonly newId: () => string;
  /** Texts that must never be shown. */
  readonly secrets: readonly string[];
  /** Called with each exchange. */
  readonly observe: (exchange: Exchange) => void;
}

/** Sends one request. What goes wrong with it is an exchange of status 0; only an abort is thrown. */
export type Exchanger = (request: RawRequest, signal: AbortSignal | undefined) => Promise<Exchange>;

export const identityHeader = "x-broker-api-request-identity";
const originator = `kubernetes ${Buffer.from(JSON.stringify({ username: "osb-check" })).toString("base64")}`;
/** Fields that may hold what opens a service. */
const secretFields = new Set([
  "credentials",
  "dashboard_url",
  "syslog_drain_url",
  "route_service_url",
  "mount_config",
]);

export function createExchanger(options: ExchangerOptions): Exchanger {
  const secrets = new Set(options.secrets);
  let clean = cleanerFor(options.secrets);
  const credentials: Credentials = {
    ...options.credentials,
    async header(signal) {
      const header = await options.credentials.header(signal);
      const secret = header?.split(" ")[1] ?? "";
      if (!secrets.has(secret)) clean = cleanerFor([...secrets.add(secret)]);
      return header;
    },
  };
  return async (request, signal) => {
    const requestIdentity = options.newId();
    let exchange: Exchange;
    try {
      const response = await send(request, requestIdentity, { ...options, credentials }, signal);
      const body = parsedJson(response.text);
      const came = clean(`HTTP ${response.status}${wordsOf(body, response)}`);
      exchange = { ...response, sent: clean(wordsOfRequest(request)), came, body, requestIdentity };
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof OsbTransportError)) throw error;
      const came = clean(`no usable answer: ${error.message}`);
      exchange = { ...noAnswer, sent: clean(wordsOfRequest(request)), came, requestIdentity };
    }
    options.observe(exchange);
    return exchange;
  };
}

const noAnswer = {
  status: 0,
  body: undefined,
  text: "",
  contentType: "",
  headers: {},
  retryAfterMs: undefined,
} as const;

async function send(
  request: RawRequest,
  requestIdentity: string,
  { http, url, version, credentials }: ExchangerOptions,
  signal: AbortSignal | undefined,
): Promise<HttpResponse> {
  const attempt = (own: string | undefined): Promise<HttpResponse> =>
    http.send({
      method: request.method,
      url: `${url.replace(/\/+$/, "")}${targetOf(request)}`,
      headers: headersOf(request, { requestIdentity, version: version(), own }),
      body: textOf(request),
      signal,
      action: `${request.method} ${request.path}`,
    });
  const isOwn = (request.credentials ?? "own") === "own";
  return isOwn ? sendAuthorized(credentials, attempt, signal) : attempt(await credentials.header(signal));
}

function headersOf(
  request: RawRequest,
  about: { readonly requestIdentity: string; readonly version: string; readonly own: string | undefined },
): Readonly<Record<string, string>> {
  const { own, requestIdentity, version } = about;
  const wrong = own?.startsWith("Basic ") === true ? basicHeader("osb-check", "wrong") : "Bearer wrong";
  const authorization = { own, wrong, none: undefined }[request.credentials ?? "own"];
  return {
    accept: "application/json",
    [identityHeader]: requestIdentity,
    "x-broker-api-originating-identity": originator,
    ...(request.versioned === false ? {} : { "x-broker-api-version": version }),
    ...(request.body === undefined ? {} : { "content-type": "application/json" }),
    ...(authorization === undefined ? {} : { authorization }),
  };
}

function targetOf({ path, query = {} }: RawRequest): string {
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) fields.set(name, value);
  return fields.size > 0 ? `${path}?${fields.toString()}` : path;
}

function textOf({ body }: RawRequest): string | undefined {
  return typeof body === "object" ? JSON.stringify(body) : body;
}

function wordsOfRequest(request: RawRequest): string {
  const { credentials = "own", versioned = true } = request;
  const notes = [
    ...(credentials === "own" ? [] : [`${credentials === "none" ? "no" : "wrong"} credentials`]),
    ...(versioned ? [] : ["no version"]),
  ];
  const note = notes.length > 0 ? ` (${notes.join(", ")})` : "";
  const text = textOf(request);
  return `${request.method} ${targetOf(request)}${note}${text === undefined ? "" : ` ${text}`}`;
}

/** Describes a JSON body by its fields, and any other only by its type and size: a page can hold anything. */
function wordsOf(body: unknown, { text, contentType }: HttpResponse): string {
  if (text === "") return " without a body";
  if (body === undefined) return ` with ${text.length} characters of ${contentType || "no type"}, not JSON`;
  const hide = (name: string, value: unknown): unknown =>
    secretFields.has(name) && value !== null ? "[redacted]" : value;
  return ` ${JSON.stringify(body, hide)}`;
}
