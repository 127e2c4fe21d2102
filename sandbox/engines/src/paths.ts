/** Small questions about paths. */
import { access } from "node:fs/promises";

/** Whether something is there that this process can see. */
export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
