/** Reads samples out of the Prometheus text format, as kube-apiserver and agents expose it. */

/** One sample line. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const labelPattern = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** Returns the samples of one metric; none when it is not there. Escapes in label values stay as they are. */
export function samplesOf(text: string, name: string): Sample[] {
  const lines = text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? +(\\S+)`, "gm"));
  return [...lines].map(([, labels = "", value]) => ({
    labels: Object.fromEntries(
      [...labels.matchAll(labelPattern)].map(([, key = "", label = ""]) => [key, label]),
    ),
    value: Number(value),
  }));
}

/** Returns the open watches that an API server's metrics count: one sample for each resource, with labels such as `group` and `resource`. */
export function openWatchesIn(text: string): readonly Sample[] {
  return samplesOf(text, "apiserver_longrunning_requests").filter(({ labels }) => labels["verb"] === "WATCH");
}
