/** Works like `Promise.all`, but waits for all even if one fails: the servers that the others start must be known to be stopped. */
export async function together<const T extends readonly Promise<unknown>[]>(
  promises: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
