/** As `Promise.all`, but waits for all even when one fails: what the others start must be known before it can be stopped. */
export async function together<const T extends readonly Promise<unknown>[]>(
  promises: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
