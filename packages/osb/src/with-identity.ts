/** A client that says with every call who asks. */
import type { OsbClient } from "./client.ts";
import type { CallOptions } from "./requests.ts";
import type { OriginatingIdentity } from "./types.ts";

/** Returns a client that adds `identity` to each call without one. Disposing one disposes the other. */
export function withIdentity(client: OsbClient, identity: OriginatingIdentity): OsbClient {
  const named = <O extends CallOptions>(
    options: O | undefined,
  ): O | { readonly identity: OriginatingIdentity } =>
    options?.identity === undefined ? { ...options, identity } : options;
  return {
    catalog: (options) => client.catalog(named(options)),
    provision: (request, options) => client.provision(request, named(options)),
    update: (request, options) => client.update(request, named(options)),
    deprovision: (request, options) => client.deprovision(request, named(options)),
    fetchInstance: (instanceId, options) => client.fetchInstance(instanceId, named(options)),
    bind: (request, options) => client.bind(request, named(options)),
    unbind: (request, options) => client.unbind(request, named(options)),
    fetchBinding: (instanceId, bindingId, options) =>
      client.fetchBinding(instanceId, bindingId, named(options)),
    lastOperation: (request, options) => client.lastOperation(request, named(options)),
    checkHealth: (path, options) => client.checkHealth(path, named(options)),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}
