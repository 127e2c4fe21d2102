/** Reads samples out of the Prometheus text format, as kube-apiserver and agents expose it. */

/** One sample line. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const labelPattern = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** The samples of one metric; empty when it is not there. Escapes in label values stay as they are. */
export function samplesOf(text: string, name: string): Sample[] {
  const samples: Sample[] = [];
  // Line by line with indexOf: an API server's answer has tens of thousands of lines of other metrics.
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
    const next = text[at + name.length];
    if ((at > 0 && text[at - 1] !== "\n") || (next !== "{" && next !== " ")) continue;
    const end = text.indexOf("\n", at);
    const line = text.slice(at + name.length, end < 0 ? undefined : end);
    const close = line.lastIndexOf("}");
    const labels = Object.fromEntries(
      [...line.slice(0, close + 1).matchAll(labelPattern)].map(([, key = "", value = ""]) => [key, value]),
    );
    samples.push({
      labels,
      value: Number(
        line
          .slice(close + 1)
          .trim()
          .split(" ")[0],
      ),
    });
  }
  return samples;
}
