/** Checks the bindings of an app cluster. */
import { apiServiceBindings } from "@klutch/api";
import { conditionsOf, type DynamicObject, findCondition, isDeleting } from "@klutch/kube-core";
import type { ClusterReader } from "./reader.ts";
import { conditionObstacle, findings, type Findings } from "./report.ts";

/** All bindings, cluster-scoped ones as well. */
export function readBindings(reader: ClusterReader): Promise<readonly DynamicObject[]> {
  return reader.list(apiServiceBindings);
}

/** Reports bindings that are not Ready as obstacles; deleting.ts finds those that are being deleted. */
export function lookAtBindings(bindings: readonly DynamicObject[]): Findings {
  const running = bindings.map((binding) => {
    const ready = findCondition(conditionsOf(binding), "Ready")?.status ?? "absent";
    return {
      part: "binding",
      name: binding.metadata.name ?? "",
      version: "",
      state: `Ready ${ready}`,
    };
  });
  const against = bindings
    .filter((binding) => !isDeleting(binding))
    .flatMap((binding) => {
      const ready = findCondition(conditionsOf(binding), "Ready");
      const name = `APIServiceBinding ${binding.metadata.name ?? ""}`;
      return ready?.status === "True" ? [] : [conditionObstacle(name, "Ready", ready)];
    });
  return findings({ running, against });
}
