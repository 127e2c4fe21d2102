/** Search: an OpenSearch server for each instance. Bindings of an instance read and write the same indices, each with a login of its own. */
import { hostInUrl } from "@klutch/data-servers";
import type { OpensearchProgram } from "@klutch/engines";
import type { ServerKind } from "./driver.ts";
import {
  initialiseOpensearch,
  javaParameters,
  launchOpensearch,
  opensearchExitCode,
  opensearchPatienceMs,
  opensearchSession,
  tlsParameters,
} from "./opensearch-server.ts";
import { dumpOpensearch, fillOpensearch, unpackOpensearch } from "./opensearch-snapshots.ts";

/** Returns the kind whose program `obtain` finds, or fetches when the first instance needs it. Names of its parameters of TLS begin with `tlsPrefix`. */
export function searchKind(obtain: () => Promise<OpensearchProgram>, tlsPrefix = ""): ServerKind {
  return {
    type: "search",
    program: "OpenSearch",
    patienceMs: opensearchPatienceMs,
    parameters: { ...javaParameters, ...tlsParameters(tlsPrefix) },
    exitCode: opensearchExitCode,
    async initialise(place, dump) {
      await obtain();
      await initialiseOpensearch(place);
      if (dump !== undefined) await unpackOpensearch(place, dump);
    },
    launch: async (place, spec) => launchOpensearch(place, spec, await obtain(), tlsPrefix),
    open: (place) =>
      Promise.resolve({
        ...opensearchSession(place),
        dump: (to, signal) => dumpOpensearch(place, to, signal),
        fill: (dump) => fillOpensearch(place, dump),
      }),
    credentials({ port, reach: { host } }, { username, password }, authority) {
      const url = `https://${hostInUrl(host)}:${port}`;
      return { cacrt: authority, host: [url], hosts: [host], password, port, scheme: "https", username };
    },
  };
}
