/** Defines the type of an alert. */

/** The chart that ships an alert: for the control plane, or for app clusters. */
export type AlertChart = "klutch" | "klutch-konnector";

/** One alert; each asks a person to do something. */
export interface Alert {
  readonly name: string;
  readonly charts: readonly AlertChart[];
  readonly severity: "critical" | "warning";
  /** Minutes for which the expression has to hold. */
  readonly forMinutes: number;
  /** PromQL. `$jobs` stands for the selector of our own processes, `$<threshold>` for a threshold. */
  readonly expression: string;
  /** One sentence, which may use Prometheus' templates. Its heading in docs/troubleshooting.md says what to do. */
  readonly summary: string;
}
