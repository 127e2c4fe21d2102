/** A backend that needs no login: it sends the browser straight back with a prepared answer. */
import { type BindingResponse, encodeBindingResponse } from "@klutch/api";
import { providerDescription, serveLoopback } from "./loopback.ts";

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
  const server = await serveLoopback((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", server.url);
    if (pathname === "/export") response.end(JSON.stringify(providerDescription(server.url, more)));
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
  return {
    url: `${server.url}/export`,
    clusterIds,
    clusterNames,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
