/** Follows a media query. */
import { useSyncExternalStore } from "react";

const phone = matchMedia("(max-width: 47.99rem)");

function subscribe(listener: () => void): () => void {
  phone.addEventListener("change", listener);
  return () => phone.removeEventListener("change", listener);
}

/** Returns true on a screen that has no room for a panel beside the rows. */
export function useIsPhone(): boolean {
  return useSyncExternalStore(subscribe, () => phone.matches);
}
