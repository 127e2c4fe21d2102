/** The browser's clock, and one ticker that all ages on a page share. */
import { useSyncExternalStore } from "react";

/** Milliseconds since 1970. */
export function now(): number {
  return Date.now();
}

const tickMs = 10_000;
const listeners = new Set<() => void>();
let ticked = now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    ticked = now();
    for (const each of listeners) each();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Returns the time as of the last tick, and renders the component again at each tick. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => ticked);
}
