/** Which metrics a server shows. */

/** Names of the metrics in an exposition text, sorted; those of the process itself are left out. */
export function metricNames(text: string): readonly string[] {
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = ""]) => name);
  return names.filter((name) => !/^(process|nodejs)_/.test(name)).toSorted();
}
