/**
 * Follows the files of a certificate that somebody renews while a server runs: cert-manager or Crossplane through a Secret, whose volume the
 * kubelet swaps as a whole by a symbolic link, or a person who copies one file after the other. Files are read again and again, because
 * that needs no watch, which is a scarce thing of the kernel, and works on every file system.
 */
import { serverMetrics } from "@klutch/telemetry";
import type { Runtime } from "./manager/runtime.ts";
import { readServedCertificate, type ServedCertificate } from "./served-certificate.ts";

/** Follows until the signal aborts. Gives each renewed certificate to `take`; when that throws, the previous one stays. */
export type FollowCertificate = (
  first: ServedCertificate,
  take: (renewed: ServedCertificate) => void,
  options: { readonly signal: AbortSignal },
) => Promise<void>;

/** Interval between looks, in milliseconds. A kubelet needs a minute to bring a renewed Secret. */
const lookEveryMs = 10_000;

/** The follower of a process. Its metrics are there, whether or not it gets something to follow. */
export function certificateFollower({
  logger,
  metrics,
  clock,
}: Pick<Runtime, "logger" | "metrics" | "clock">): FollowCertificate {
  const reads = metrics.counter(serverMetrics.certificateReads).labels({});
  const readErrors = metrics.counter(serverMetrics.certificateReadErrors).labels({});
  let served: ServedCertificate | undefined;
  metrics.read(serverMetrics.certificateExpiration, () =>
    served === undefined ? [] : [{ labels: {}, value: served.expiresAt / 1000 }],
  );
  return async (first, take, { signal }) => {
    served = first;
    let fault: string | undefined;
    while (await slept()) {
      reads.inc();
      try {
        const found = await readServedCertificate(first.files);
        if (found.digest !== served.digest) {
          take(found);
          served = found;
          logger.info("serving a renewed certificate", { until: new Date(found.expiresAt).toISOString() });
        }
        fault = undefined;
      } catch (error) {
        readErrors.inc();
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== fault)
          logger.warn("keeping the certificate: the renewed one cannot be served", { reason });
        fault = reason;
      }
    }

    /** False when it is over. */
    async function slept(): Promise<boolean> {
      await clock.sleep(lookEveryMs, { signal }).catch(() => undefined);
      return !signal.aborted;
    }
  };
}
