/**
 * Draws a dashboard with the data of a real Prometheus, so that a person can look at it. It stands in for Grafana, which no registry has, and knows only
 * what our dashboards use: headings, lines over time, latest values with thresholds, units and legends.
 */
import { recordAt, recordsAt, textAt, valueAt } from "@klutch/kube-core";
import { inheritedEnvironment } from "@klutch/engines";
import type { AlertWatch, Line } from "./alert-watch.ts";
import { launchChromium, picture } from "./chromium.ts";
import { type DashboardName, readDashboard } from "./dashboards.ts";

/** Keeps a picture of the dashboard in both schemes when KLUTCH_SCREENSHOTS names a folder. `name`: of the file, without its end. */
export async function drawDashboard(
  watch: AlertWatch,
  dashboard: DashboardName,
  name: string,
): Promise<void> {
  if (inheritedEnvironment["KLUTCH_SCREENSHOTS"] === undefined) return;
  const panels = await Promise.all(
    recordsAt(await readDashboard(dashboard), "panels").map((panel) => draw(watch, panel)),
  );
  await using browser = await launchChromium();
  for (const scheme of ["light", "dark"] as const) {
    const page = await browser.newPage({ colorScheme: scheme, viewport: { width: 1500, height: 900 } });
    await page.setContent(`<!doctype html><style>${style}</style><main>${panels.join("")}</main>`);
    await picture(page, `${name}-${scheme}`);
  }
}

const style = `:root { color-scheme: light dark; --soft: light-dark(#5a6472, #9aa4b2); --line: light-dark(#d5dae1, #363d47) }
body { font: 13px sans-serif; margin: 8px; background: light-dark(#f4f5f7, #111217) }
main { display: grid; grid-template-columns: repeat(24, 1fr); grid-auto-rows: 34px; gap: 6px }
section { background: light-dark(#fff, #1a1c21); border: 1px solid var(--line); padding: 6px; overflow: hidden; display: flex; flex-direction: column }
h2 { font-size: 15px; margin: 8px 0 0 } h3 { font-size: 13px; margin: 0 } p { margin: 0; color: var(--soft); font-size: 11px }
svg { flex: 1; min-height: 0; width: 100% } ul { margin: 0; padding: 0; list-style: none; font-size: 11px; max-height: 40%; overflow: hidden }
.stats { display: flex; flex: 1; gap: 4px } .stats div { flex: 1; color: #fff; font-size: 22px; padding: 6px; overflow: hidden }`;
const colors = ["#3274d9", "#37872d", "#e0752d", "#8f3bb8", "#c4162a", "#0a7c86", "#806eb7", "#6d4c41"];
const stateColors: Readonly<Record<string, string>> = { red: "#c4162a", orange: "#c15c17", green: "#37872d" };

async function draw(watch: AlertWatch, panel: object): Promise<string> {
  const at = (key: string): number => Number(valueAt(panel, "gridPos", key));
  const place = `style="grid-area: ${at("y") + 1} / ${at("x") + 1} / span ${at("h")} / span ${at("w")}"`;
  const title = escaped(textAt(panel, "title") ?? "");
  if (textAt(panel, "type") === "row") return `<h2 ${place}>${title}</h2>`;
  const found = await Promise.all(
    recordsAt(panel, "targets").map(async (target) => {
      const lines = await watch.lines(textAt(target, "expr") ?? "");
      return lines.map((line) => ({ ...line, legend: legendOf(textAt(target, "legendFormat") ?? "", line) }));
    }),
  );
  const lines = found.flat();
  const content =
    lines.length === 0
      ? "<p>No data</p>"
      : textAt(panel, "type") === "stat"
        ? statsOf(panel, lines)
        : chartOf(panel, lines);
  const about = escaped(textAt(panel, "description") ?? "");
  return `<section ${place}><h3>${title}</h3><p>${about}</p>${content}</section>`;
}

type Drawn = Line & { readonly legend: string };

function statsOf(panel: object, lines: readonly Drawn[]): string {
  const { unit } = defaultsOf(panel);
  const steps = recordsAt(panel, "fieldConfig", "defaults", "thresholds", "steps");
  const boxes = lines.map(({ legend, points }) => {
    const latest = points.at(-1)?.[1] ?? Number.NaN;
    const step = steps.findLast(({ value }) => value === null || latest >= Number(value));
    const color = stateColors[textAt(step, "color") ?? ""] ?? "gray";
    return `<div style="background: ${color}">${inUnit(latest, unit)}<br><small>${escaped(legend)}</small></div>`;
  });
  return `<div class="stats">${boxes.join("")}</div>`;
}

function chartOf(panel: object, lines: readonly Drawn[]): string {
  const { unit, min } = defaultsOf(panel);
  const points = lines.flatMap((line) => line.points.filter(([, value]) => Number.isFinite(value)));
  const [from, to] = extentOf(points.map(([moment]) => moment));
  const [least, most] = extentOf([...(min === undefined ? [] : [min]), ...points.map(([, value]) => value)]);
  const placed = ([moment, value]: readonly [number, number]): string =>
    `${(((moment - from) / (to - from || 1)) * 1000).toFixed(1)},${(195 - ((value - least) / (most - least || 1)) * 190).toFixed(1)}`;
  const drawn = lines.map(({ points: own }, index) => {
    const shown = own.filter(([, value]) => Number.isFinite(value)).map(placed);
    return `<polyline fill="none" stroke="${colorOf(index)}" stroke-width="2" vector-effect="non-scaling-stroke" points="${shown.join(" ")}"/>`;
  });
  const legends = lines.map(
    ({ legend, points: own }, index) =>
      `<li><span style="color: ${colorOf(index)}">■</span> ${escaped(legend)} ${inUnit(own.at(-1)?.[1] ?? Number.NaN, unit)}</li>`,
  );
  return `<p>${inUnit(most, unit)}</p><svg viewBox="0 0 1000 200" preserveAspectRatio="none">${drawn.join("")}</svg><p>${inUnit(least, unit)}</p><ul>${legends.join("")}</ul>`;
}

const colorOf = (index: number): string => colors[index % colors.length] ?? "gray";

function defaultsOf(panel: object): { readonly unit: string; readonly min: number | undefined } {
  const { unit, min } = recordAt(panel, "fieldConfig", "defaults");
  return { unit: String(unit), min: typeof min === "number" ? min : undefined };
}

function extentOf(values: readonly number[]): readonly [number, number] {
  return [Math.min(...values), Math.max(...values)];
}

function legendOf(format: string, { labels }: Line): string {
  return format.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? "").trim();
}

const names: Readonly<Record<string, string>> = { reqps: "req/s", ops: "ops/s", wps: "wr/s", cpm: "/min" };

/** Writes a value as Grafana does in this unit. */
export function inUnit(value: number, unit: string): string {
  if (!Number.isFinite(value)) return "–";
  if (unit === "s")
    return inSteps(value, [
      ["d", 86_400],
      ["h", 3_600],
      ["min", 60],
      ["s", 1],
      ["ms", 0.001],
    ]);
  if (unit === "bytes")
    return inSteps(value, [
      ["GiB", 2 ** 30],
      ["MiB", 2 ** 20],
      ["KiB", 2 ** 10],
      ["B", 1],
    ]);
  if (unit === "percentunit") return `${rounded(value * 100)} %`;
  return [unit === "none" ? String(Math.round(value)) : rounded(value), names[unit] ?? ""].join(" ").trim();
}

function inSteps(value: number, steps: readonly (readonly [string, number])[]): string {
  const [name, size] = steps.find(([, least]) => Math.abs(value) >= least) ?? steps.at(-1) ?? ["", 1];
  return `${rounded(value / size)} ${name}`;
}

const rounded = (value: number): string => String(Number(value.toPrecision(3)));

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
