/** Waiting with a limit. */

/** The promise's value, or an error that names what was waited for. `details` is asked only then. */
export async function within<T>(
  promise: Promise<T>,
  timeoutMs: number,
  what: string,
  details?: () => Promise<string>,
): Promise<T> {
  const late = Promise.withResolvers<"late">();
  const timer = setTimeout(() => late.resolve("late"), timeoutMs);
  try {
    const first = await Promise.race([promise.then((value) => ({ value })), late.promise]);
    if (first !== "late") return first.value;
  } finally {
    clearTimeout(timer);
  }
  throw new Error(`waited ${timeoutMs / 1000} s for ${what}\n${(await details?.()) ?? ""}`);
}
