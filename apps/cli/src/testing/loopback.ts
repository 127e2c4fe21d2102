/** A server of a test on loopback, at a port that is free. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";

/** A running one; disposing it cuts off requests in progress. */
export interface LoopbackServer extends AsyncDisposable {
  /** URL without a slash at the end. */
  readonly url: string;
}

/** Starts it. */
export async function serveLoopback(answer: RequestListener): Promise<LoopbackServer> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The description of itself that a backend at this URL gives, with `more` fields. */
export function providerDescription(url: string, more: object = {}): object {
  const oauth2CodeGrant = { authenticatedURL: `${url}/authorize` };
  return {
    kind: "BindingProvider",
    apiVersion: "v1alpha1",
    providerPrettyName: "Example",
    version: "v1.6.0",
    authenticationMethods: [{ method: "OAuth2CodeGrant", oauth2CodeGrant }],
    ...more,
  };
}
