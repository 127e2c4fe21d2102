/** Small questions about paths. */
import { access } from "node:fs/promises";

/** Tells whether the path exists and is visible to this process. */
export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
