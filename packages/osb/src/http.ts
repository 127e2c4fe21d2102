/** HTTP as the parts of this package use it: what went wrong says who was asked for what. */
import {
  createHttpClient,
  HttpFailure,
  type HttpFailureCode,
  type HttpOptions,
  type HttpRequest,
  type HttpResponse,
} from "@klutch/http-client";
import { OsbTransportError } from "./errors.ts";

/** A request with what it is called in errors. */
export interface NamedRequest extends HttpRequest {
  /** Method and path without secrets, such as `GET /v2/catalog`. */
  readonly action: string;
}

/** Sends requests over kept connections. Throws `OsbTransportError`, or the reason of the caller's signal. */
export interface NamedClient extends AsyncDisposable {
  send(request: NamedRequest): Promise<HttpResponse>;
}

/** `peer` is who answers, for errors: `the broker`. */
export function createNamedClient(peer: string, options: HttpOptions): NamedClient {
  const http = createHttpClient(options);
  return {
    async send({ action, ...request }) {
      try {
        return await http.send(request);
      } catch (error) {
        if (!(error instanceof HttpFailure)) throw error;
        throw new OsbTransportError(error.code, sentences[error.code](peer, action, error.detail));
      }
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

const sentences: Readonly<Record<HttpFailureCode, (peer: string, action: string, detail: string) => string>> =
  {
    Unreachable: (peer, _action, detail) => `${peer} cannot be reached (${detail})`,
    Tls: (peer, _action, detail) =>
      `no trusted TLS connection to ${peer} (${detail}); check the authority that is trusted (ca), the name in its certificate, and that its address speaks TLS`,
    Timeout: (peer, action, detail) => `${peer} did not answer ${action} ${detail}`,
    Broken: (peer, action, detail) => `the connection to ${peer} broke during ${action} (${detail})`,
    TooLarge: (peer, action, detail) => `${peer} answered ${action} with too much (${detail})`,
    Garbage: (peer, action, detail) =>
      `${peer} answered ${action} with something that is not HTTP (${detail})`,
  };
