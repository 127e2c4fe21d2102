/** Spreads a pause over 50–150 % of it, so that the pages of many people do not come back in one moment. */
export function spread(pauseMs: number): number {
  return pauseMs * (0.5 + Math.random());
}
