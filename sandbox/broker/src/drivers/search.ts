/** Search: an OpenSearch server for each instance. Bindings of an instance read and write the same indices, each with a login of its own. */
import { hostInUrl } from "@klutch/data-servers";
import type { OpensearchProgram } from "@klutch/engines";
import type { ServerKind } from "./driver.ts";
import {
  initialiseOpensearch,
  javaParameters,
  launchOpensearch,
  opensearchPatienceMs,
  opensearchSession,
  tlsParameters,
} from "./opensearch-server.ts";

/** Returns the kind whose program `obtain` finds, or fetches when the first instance needs it. */
export function searchKind(obtain: () => Promise<OpensearchProgram>): ServerKind {
  return {
    type: "search",
    program: "OpenSearch",
    patienceMs: opensearchPatienceMs,
    parameters: { ...javaParameters, ...tlsParameters() },
    obstacle: "this broker makes no backups of search engines; index the documents again",
    async initialise(place) {
      await obtain();
      await initialiseOpensearch(place);
    },
    launch: async (place, spec) => launchOpensearch(place, spec, await obtain()),
    open: (place) => Promise.resolve(opensearchSession(place, refuseBackups)),
    credentials({ port, reach: { host } }, { username, password }, authority) {
      const url = `https://${hostInUrl(host)}:${port}`;
      return { cacrt: authority, host: [url], hosts: [host], password, port, scheme: "https", username };
    },
  };
}

function refuseBackups(): Promise<never> {
  return Promise.reject(new Error("search engines have no backups"));
}
