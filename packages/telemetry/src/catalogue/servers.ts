/** Certificates that a server shows to its clients. */
import type { CounterDeclaration, GaugeDeclaration, ProcessName } from "../declaration.ts";

const withCertificate: readonly ProcessName[] = ["backend", "gateway", "function-klutch"];

export const certificateReads: CounterDeclaration = {
  name: "certwatcher_read_certificate_total",
  type: "counter",
  help: "Total number of certificate reads",
  notes:
    "As in controller-runtime. The files are read every ten seconds. Stays 0 in a backend that serves plain HTTP.",
  labels: [],
  processes: withCertificate,
};

export const certificateReadErrors: CounterDeclaration = {
  name: "certwatcher_read_certificate_errors_total",
  type: "counter",
  help: "Total number of certificate read errors",
  notes: "Each stands for ten seconds in which the files could not be served, and what was there before is.",
  labels: [],
  processes: withCertificate,
};

export const certificateExpiration: GaugeDeclaration = {
  name: "klutch_served_certificate_expiration_timestamp_seconds",
  type: "gauge",
  help: "When the certificate that is shown to clients ends, in seconds since the epoch",
  labels: [],
  processes: withCertificate,
};
