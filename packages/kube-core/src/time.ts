/** Times as Kubernetes prints them. */

/** RFC 3339 in UTC with whole seconds, as `metav1.Time` prints it. `now` is in milliseconds since the epoch. */
export function wholeSeconds(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
}

/** RFC 3339 in UTC with microseconds, as `metav1.MicroTime` prints it: in Leases and Events. Here the last three digits are zero. */
export function microTime(now: number): string {
  return new Date(now).toISOString().replace("Z", "000Z");
}
