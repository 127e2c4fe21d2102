/** a9s PostgreSQL. */
import { described, oneOf } from "@klutch/schema";
import { type DataService, sqlConnection } from "../src/data-service.ts";
import { parameters, refusedParameters } from "./parameters.ts";
import { offerings, planRules, plans } from "./plans.ts";

/** The whole of it. */
export const postgresql: DataService = {
  type: "postgresql",
  title: "PostgreSQL",
  about:
    "A PostgreSQL server of one's own, alone or with replicas. Each binding gets a user of its own in the instance's database.",
  kind: "PostgresqlInstance",
  offerings,
  plans,
  rules: planRules,
  parametersAbout: "Settings of the database server. What is not set is as the broker has it.",
  parameters,
  refusedParameters,
  fields: {
    expose: described(
      oneOf(["Internal", "LoadBalancer"]),
      "Not used here: it is for databases that run in the cluster.",
    ),
  },
  credentialKeys: ["host", "hosts", "name", "password", "port", "uri", "username"],
  connectionDetails: sqlConnection,
  examples: [
    {
      file: "postgresql-instance",
      about: "A small PostgreSQL database.",
      name: "orders",
      spec: { service: "a9s-postgresql17", plan: "postgresql-single-nano" },
    },
    {
      file: "postgresql-instance-parameters",
      about: "A replicated PostgreSQL database with settings of its own.",
      name: "orders-replicated",
      spec: {
        service: "a9s-postgresql17",
        plan: "postgresql-replica-small",
        compositionRef: { name: "a9s-postgresql" },
        parameters: {
          maxConnections: 200,
          statementTimeout: 60000,
          logStatement: "ddl",
          rolePrivileges: ["CREATEDB"],
        },
      },
    },
  ],
};
