/** The HTTPS server of the gateway, and its parts. HTTP/2 and HTTP/1.1, as an API server has them. */
import { once } from "node:events";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { type ClusterConfig, createTransport, type KubeClient } from "@klutch/kube";
import {
  certificateFollower,
  ListenError,
  type Runnable,
  type Runtime,
  type ServedCertificate,
} from "@klutch/kube-runtime";
import { createAccountOf } from "./account.ts";
import { createAuthority } from "./authority.ts";
import { boundIn, exportNames, untilKnown } from "./bound.ts";
import { gatewayMetrics } from "./counts.ts";
import { createGateway, type GatewayOptions } from "./gateway.ts";
import type { HistoryBounds } from "./history.ts";
import { Kinds } from "./kinds.ts";
import type { TenantLimits } from "./tenant-limits.ts";

/** Connections for tenants' writes, which share none of them: many times the requests of one account. */
const bodyConnections = 2_048;

/** Options of `gatewayServer`. */
export interface GatewayServerOptions {
  readonly runtime: Pick<Runtime, "logger" | "metrics" | "clock" | "random">;
  /** The control plane, as the gateway's own account. */
  readonly cluster: ClusterConfig;
  /** Acts as the same account. */
  readonly client: KubeClient;
  readonly listen: { readonly host: string | undefined; readonly port: number };
  readonly tls: ServedCertificate;
  readonly bounds: HistoryBounds;
  readonly limits: TenantLimits & Pick<GatewayOptions, "askEveryMs">;
  /** Time for which an answer about rights counts. Default 10 000. */
  readonly keepRightsMs?: number | undefined;
  /** Called with the port once it listens. */
  readonly onListening?: ((port: number) => void) | undefined;
}

/** Returns the server as a part of a process. Fails with `ListenError` when its port is taken. */
export function gatewayServer(options: GatewayServerOptions): Runnable {
  const { runtime, cluster, client, listen, tls } = options;
  const { logger, metrics, clock, random } = runtime;
  const follow = certificateFollower(runtime);
  let problem: string | undefined = "not listening yet";
  return {
    name: "gateway",
    runs: "process",
    problem: () => problem,
    async start({ signal }) {
      await using stack = new AsyncDisposableStack();
      const userAgent = "klutch-gateway";
      const own = createTransport(cluster, { userAgent, clock });
      stack.defer(() => own.close());
      // Tenants' requests never share connections with the gateway's own credentials.
      const { impersonate: _impersonate, ...place } = cluster;
      const tenants = createTransport(
        { ...place, auth: { kind: "none" } },
        // Longer than an API server takes for a write with slow webhooks.
        { userAgent, clock, requestTimeoutMs: 65_000, bodyConnections },
      );
      stack.defer(() => tenants.close());
      // The gateway's questions never wait for tenants' requests.
      const questions = createTransport({ ...place, auth: { kind: "none" } }, { userAgent, clock });
      stack.defer(() => questions.close());
      const names = stack.use(exportNames(client, logger));
      names.start({ signal });
      const kinds = stack.use(new Kinds({ transport: own, clock, random, logger, bounds: options.bounds }));
      const { events, onAsked } = gatewayMetrics(metrics, () => kinds.caches());
      const authority = createAuthority({
        transport: questions,
        clock,
        onAsked,
        keepMs: options.keepRightsMs,
      });
      const accountOf = createAccountOf({ transport: questions, clock, onAsked });
      const isBound = boundIn(names);
      const parts = { accountOf, authority, kinds, isBound, clock, random, events };
      const { askEveryMs, ...limits } = options.limits;
      const gateway = createGateway({ ...parts, limits, askEveryMs, transport: tenants, signal });
      const server = createSecureServer({
        ...optionsOf(tls),
        allowHTTP1: true,
        settings: { maxConcurrentStreams: 250, enableConnectProtocol: false },
      });
      server.on("request", (request, answer) => void gateway(request, answer));
      const sockets = new Set<Socket>();
      server.on("secureConnection", (socket) => {
        sockets.add(socket);
        socket.on("close", () => sockets.delete(socket));
      });
      stack.defer(() => closed(server, sockets));
      await untilKnown(names, clock, signal);
      await listening(server, listen);
      problem = undefined;
      options.onListening?.((server.address() as AddressInfo).port);
      await follow(tls, (renewed) => server.setSecureContext(optionsOf(renewed)), { signal });
    },
  };
}

async function listening(server: Http2SecureServer, listen: GatewayServerOptions["listen"]): Promise<void> {
  try {
    server.listen(listen.port, listen.host);
    await once(server, "listening");
  } catch (cause) {
    throw new ListenError("the gateway", listen, cause);
  }
}

/** Ends all connections: agents come back to another replica, or to this one. */
function closed(server: Http2SecureServer, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of sockets) socket.destroy();
  });
}

function optionsOf({ cert, key }: ServedCertificate): { readonly cert: string; readonly key: string } {
  return { cert, key: key.reveal() };
}
