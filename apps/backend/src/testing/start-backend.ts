/** A backend's caches, controllers and routes in the test's own process. */
import { type Clock, type KubeClient, systemClock } from "@klutch/kube";
import { Manager, systemRuntime } from "@klutch/kube-runtime";
import { type TestCluster, waitFor } from "@klutch/kube-testing";
import { createMetrics, type Logger, type Metrics, silentLogger } from "@klutch/telemetry";
import { type Backend, createBackend } from "../backend.ts";
import { readConfig } from "../config.ts";

/** Settings of one test. */
export interface BackendOfTest {
  readonly flags: readonly string[];
  /** Client of the backend. Default: the cluster's administrator. */
  readonly client?: KubeClient | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
  readonly auditLogger?: Logger | undefined;
}

/** A backend at work. */
export interface RunningBackend {
  readonly backend: Backend;
  readonly metrics: Metrics;
  /** Ends it before the stack does. */
  readonly stop: () => Promise<void>;
}

/** Starts a backend without lease and probes, at which everyone may bind unless the flags say otherwise. Resolves when its caches are filled; ends with the stack. */
export async function startBackend(
  stack: AsyncDisposableStack,
  cluster: TestCluster,
  {
    flags,
    client = cluster.client,
    clock = systemClock,
    logger = silentLogger,
    auditLogger = silentLogger,
  }: BackendOfTest,
): Promise<RunningBackend> {
  const abort = new AbortController();
  const { signal } = abort;
  const metrics = createMetrics();
  const clients = { client, controllerClient: client };
  const config = await readConfig(["--bind-authorization=everyone", ...flags], {});
  const backend = createBackend({
    config,
    cluster: cluster.config,
    ...clients,
    logger,
    auditLogger,
    metrics,
    clock,
    signal,
  });
  const manager = new Manager(systemRuntime({ logger, metrics }));
  manager.add(...backend.parts);
  const running = manager.start({ signal });
  const stop = async (): Promise<void> => {
    abort.abort(new Error("the test is over"));
    await running;
  };
  stack.defer(stop);
  // An identity provider that is nowhere stays a problem.
  await waitFor("the caches", () => !(backend.problem() ?? "").includes("cache"));
  return { backend, metrics, stop };
}

/** Flags of a backend that serves its login; its identity provider is nowhere. */
export function loginFlags(url: string, cookieKey: Buffer): readonly string[] {
  return [
    "--oidc-issuer-url=http://127.0.0.1:1",
    "--oidc-issuer-client-id=x",
    "--oidc-issuer-client-secret=x",
    `--oidc-callback-url=${url}/callback`,
    `--cookie-signing-key=${cookieKey.toString("base64")}`,
  ];
}
