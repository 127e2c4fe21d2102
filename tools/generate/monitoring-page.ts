/** Prints the page on monitoring with its alerts, from the table of alerts. */
import { formatYaml } from "@klutch/kube";
import { alerts } from "../alerts/alerts.ts";
import { anchorOf, rulesFile } from "../alerts/print.ts";
import { filled, table } from "./page.ts";

/** Returns the page in Markdown. */
export function monitoringPage(): string {
  const rows = alerts.map((alert) => [
    `[${alert.name}](troubleshooting.md#${anchorOf(alert)})`,
    alert.charts.map((chart) => (chart === "klutch" ? "control plane" : "app cluster")).join(", "),
    alert.severity,
    `${alert.forMinutes} min`,
  ]);
  return filled("tools/generate/monitoring.md", {
    TABLE: table(["alert", "where", "severity", "after"], rows).join("\n"),
    RULES: formatYaml(rulesFile()),
  });
}
