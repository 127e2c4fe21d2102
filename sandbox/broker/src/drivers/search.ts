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

/** Sets how another service uses these servers. */
export interface SearchOptions {
  /** Names the content of instances in messages. */
  readonly noun: string;
  /** Beginning of the names of parameters of TLS. */
  readonly tlsPrefix: string;
}

/** Returns the kind whose program `obtain` finds, or fetches when the first instance needs it. */
export function searchKind(
  obtain: () => Promise<OpensearchProgram>,
  { noun, tlsPrefix }: SearchOptions = { noun: "search engines", tlsPrefix: "" },
): ServerKind {
  const refuseBackups = (): Promise<never> => Promise.reject(new Error(`${noun} have no backups`));
  return {
    type: "search",
    program: "OpenSearch",
    patienceMs: opensearchPatienceMs,
    parameters: { ...javaParameters, ...tlsParameters(tlsPrefix) },
    obstacle: `this broker makes no backups of ${noun}; keep a copy where they come from`,
    async initialise(place) {
      await obtain();
      await initialiseOpensearch(place);
    },
    launch: async (place, spec) => launchOpensearch(place, spec, await obtain(), tlsPrefix),
    open: (place) => Promise.resolve(opensearchSession(place, refuseBackups)),
    credentials({ port, reach: { host } }, { username, password }, authority) {
      const url = `https://${hostInUrl(host)}:${port}`;
      return { cacrt: authority, host: [url], hosts: [host], password, port, scheme: "https", username };
    },
  };
}
