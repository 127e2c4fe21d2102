/** Defines the type of a chart. */
import { klutchVersion, type Registry } from "@klutch/api";
import type { CustomResourceDefinition } from "@klutch/schema";
import type { ValueTable } from "./values.ts";

/** Folder of all charts. */
export const chartsFolder = "deploy/charts";

/** Annotation with the release of the kinds that charts and bundles install. */
export const releaseAnnotation = "klutch.anynines.com/release";

/** The kind as it came with this release, so that a chart can tell it from an older one. */
export function released<Kind extends Pick<CustomResourceDefinition, "metadata">>(crd: Kind): Kind {
  return { ...crd, metadata: { ...crd.metadata, annotations: { [releaseAnnotation]: klutchVersion } } };
}

/** A chart of ours. */
export interface ChartDefinition {
  /** Also its folder below `chartsFolder`. */
  readonly name: "klutch" | "klutch-konnector";
  readonly description: string;
  /** The namespace that its objects are in. */
  readonly namespace: string;
  /** Registry of its images, and of the chart itself. */
  readonly registry: Registry;
  readonly values: ValueTable;
  /** Printed templates by their paths in the chart. */
  readonly templates: Readonly<Record<string, string>>;
}

/** Helm wants versions without a `v`; images have one. */
export const chartVersion: string = klutchVersion.replace(/^v/, "");
