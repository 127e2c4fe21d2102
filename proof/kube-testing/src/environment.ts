/** The environment variables that tests on real clusters read. */

/** Names the socket of the pool of clusters that the test command runs; see `ClusterPool`. */
export const poolVariable = "KLUTCH_CLUSTER_POOL";

/** Path of that socket; undefined when a test file is run without the test command. */
export const poolSocket: string | undefined = process.env[poolVariable];
