/** The environment variables that tests on real clusters read. */
import { type KubernetesVersion, kubernetesVersions } from "@klutch/engines";

/** Names the socket of the pool of clusters that the test command runs; see `ClusterPool`. */
export const poolVariable = "KLUTCH_CLUSTER_POOL";

/** Path of that socket; undefined when a test file is run without the test command. */
export const poolSocket: string | undefined = process.env[poolVariable];

/** Names the versions of Kubernetes that clusters have: one for all, or that of control planes and that of app clusters, with a comma between. */
export const kubernetesVariable = "KLUTCH_KUBERNETES";

/** Versions of the clusters of a test process. */
export interface ChosenKubernetes {
  /** That of all clusters but those that say that they are app clusters. */
  readonly controlPlane: KubernetesVersion;
  readonly appCluster: KubernetesVersion;
}

/** Reads the variable's value. Default: the pinned version for all. Throws `RangeError` with the versions that exist. */
export function chosenKubernetes(value: string = process.env[kubernetesVariable] ?? ""): ChosenKubernetes {
  const [pinned] = kubernetesVersions;
  const wanted = value.split(",").filter((name) => name !== "");
  const [controlPlane = pinned, appCluster = controlPlane, ...more] = wanted.map((name) => {
    const known = kubernetesVersions.find((version) => version === name);
    if (known !== undefined) return known;
    const versions = kubernetesVersions.join(", ");
    throw new RangeError(`${kubernetesVariable}: "${name}" is no pinned version; choose from ${versions}`);
  });
  if (more.length > 0)
    throw new RangeError(
      `${kubernetesVariable}: "${value}" names more than two versions; name that of control planes and that of app clusters`,
    );
  return { controlPlane, appCluster };
}
