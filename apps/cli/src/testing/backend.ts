/** A backend that needs no login: it sends the browser straight back with a prepared answer. */
import { once } from "node:events";
import { createServer } from "node:http";
import { type BindingResponse, encodeBindingResponse } from "@klutch/api";

/** A running fake backend. */
export interface FakeBackend extends AsyncDisposable {
  /** The address for `kubectl bind`. */
  readonly url: string;
  /** Cluster ids that browsers came with. */
  readonly clusterIds: readonly string[];
  /** Cluster names that browsers came with. */
  readonly clusterNames: readonly (string | null)[];
}

/** Starts it on loopback. */
export async function startBackend(
  kubeconfig: string,
  requests: BindingResponse["requests"],
  /** More fields of the description, right or wrong. */
  more: object = {},
): Promise<FakeBackend> {
  const clusterIds: string[] = [];
  const clusterNames: (string | null)[] = [];
  let base = "";
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", base);
    if (pathname === "/export") response.end(JSON.stringify({ ...descriptionOf(base), ...more }));
    else if (pathname !== "/authorize") response.writeHead(404).end();
    else {
      clusterIds.push(searchParams.get("c") ?? "");
      clusterNames.push(searchParams.get("n"));
      const answer: BindingResponse = {
        kind: "BindingResponse",
        apiVersion: "klutch.anynines.com/v1alpha1",
        authentication: { oauth2CodeGrant: { sid: searchParams.get("s") ?? "", id: "issuer/jane" } },
        kubeconfig: Buffer.from(kubeconfig).toString("base64"),
        requests,
      };
      const query = new URLSearchParams({ response: encodeBindingResponse(answer) }).toString();
      const location = `http://localhost:${searchParams.get("p")}/callback?${query}`;
      response.writeHead(302, { location }).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  base = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  return {
    url: `${base}/export`,
    clusterIds,
    clusterNames,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function descriptionOf(base: string): object {
  return {
    kind: "BindingProvider",
    apiVersion: "v1alpha1",
    providerPrettyName: "Example",
    version: "v1.6.0",
    authenticationMethods: [
      { method: "OAuth2CodeGrant", oauth2CodeGrant: { authenticatedURL: `${base}/authorize` } },
    ],
  };
}
