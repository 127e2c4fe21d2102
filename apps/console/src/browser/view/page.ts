/** Describes a page: columns, details and words of one collection. */
import type { ReactNode } from "react";

export interface Column<R> {
  readonly id: string;
  readonly title: string;
  /** Value to sort by; rows without one come last in both directions. */
  readonly value: (row: R) => string | number | undefined;
  /** Shows the cell; defaults to `value` as text. */
  readonly show?: (row: R) => ReactNode;
  /** Share of the width; defaults to 1. */
  readonly share?: number;
  /** Stays on a phone. */
  readonly phone?: true;
  /** Makes room for the panel when a row is open. */
  readonly wide?: true;
  readonly numeric?: true;
}

/** A label and what stands beside it in the panel. */
export type Detail = readonly [label: string, value: ReactNode];

export interface Page<R> {
  readonly title: string;
  /** One row and several, as in "1 app cluster". */
  readonly noun: readonly [one: string, several: string];
  readonly columns: readonly Column<R>[];
  /** Column that rows are sorted by at first, with a minus in front for descending; the server's order otherwise. */
  readonly sort?: string;
  /** Pixels of a row; defaults to 44. */
  readonly rowHeight?: number;
  readonly empty: { readonly sign: string; readonly title: string; readonly text: string };
  /** Heading of the panel. */
  readonly heading: (row: R) => string;
  readonly details: (row: R) => readonly Detail[];
  /** More in the panel, above the details. */
  readonly more?: (row: R) => ReactNode;
}
