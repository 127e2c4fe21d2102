/** a9s MariaDB. */
import { boolean, described, integer, list, string } from "@klutch/schema";
import { type DataService, sqlConnection } from "../src/data-service.ts";
import { keeps, neverSmaller, staysReplicated } from "../src/plan-rules.ts";

const sizes = ["single-nano", "single-small", "single-big", "cluster-small", "cluster-big"];

/** The whole of it. */
export const mariadb: DataService = {
  type: "mariadb",
  title: "MariaDB",
  about:
    "A MariaDB server of one's own, alone or as a cluster. Each binding gets a user of its own in the instance's database.",
  kind: "MariadbInstance",
  offerings: ["a9s-mariadb106", "a9s-mariadb1011"],
  plans: sizes.flatMap((size) => [`mariadb-${size}`, `mariadb-${size}-ssl`]),
  rules: [
    {
      rule: 'self.service != "a9s-mariadb1011" || self.plan.contains("ssl")',
      message: "MariaDB v10.11 only supports ssl plans",
    },
    neverSmaller,
    keeps("ssl", "SSL"),
    staysReplicated("cluster"),
  ],
  parametersAbout: "Settings of the database server. What is not set is as the broker has it.",
  parameters: [
    {
      name: "binlogExpireDays",
      brokerKey: "binlog_expire_days",
      schema: described(integer({ minimum: 1 }), "After how many days binary logs are deleted."),
    },
    {
      name: "databases",
      brokerKey: "databases",
      schema: described(list(string()), "All databases that the instance shall have beside its first one."),
    },
    {
      name: "grantPerformanceSchemaPermissions",
      brokerKey: "grant_performance_schema_permissions",
      schema: described(boolean(), "Whether users of bindings may read the performance schema."),
    },
  ],
  columns: [{ name: "ManagedResource", type: "string", jsonPath: ".status.managed.state" }],
  credentialKeys: ["cacrt", "host", "hosts", "name", "password", "port", "uri", "username"],
  connectionDetails: sqlConnection,
  examples: [
    {
      file: "mariadb-instance",
      about: "A small MariaDB database.",
      name: "shop",
      spec: { service: "a9s-mariadb1011", plan: "mariadb-single-nano-ssl" },
    },
    {
      file: "mariadb-instance-parameters",
      about: "A MariaDB cluster with two more databases.",
      name: "shop-cluster",
      spec: {
        service: "a9s-mariadb1011",
        plan: "mariadb-cluster-small-ssl",
        parameters: { binlogExpireDays: 3, databases: ["stock", "invoices"] },
      },
    },
  ],
};
