/** Times of a backup manager as the status shows them. */

/** RFC 3339 in UTC with milliseconds. `timeMs`: since the epoch. */
export function timeText(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}
