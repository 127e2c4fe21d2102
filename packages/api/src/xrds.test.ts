import assert from "node:assert/strict";
import { test } from "node:test";
import * as schema from "@klutch/schema";
import { type CompositeResourceDefinition, postgresqlInstanceXrd, serviceBindingXrd, xrds } from "./xrds.ts";
import {
  compositions,
  configurationMeta,
  functionName,
  packageRepositories,
  providerName,
} from "./packages.ts";
import { postgresqlParameters } from "./postgresql-parameters.ts";
import { postgresqlPlans } from "./postgresql-plans.ts";
import { postgresqlInstanceClaims, serviceBindingClaims } from "./resources.ts";
import { contractLines } from "./testing/contract-lines.ts";

const severities = '"DEBUG5","DEBUG4","DEBUG3","DEBUG2","DEBUG1"';
const serverSeverities = `${severities},"INFO","NOTICE","WARNING","ERROR","LOG","FATAL","PANIC"`;

/** reference/provider.md §5.1–5.3. */
const postgresqlInstance = `
  name xpostgresqlinstances.anynines.com
  composite {"kind":"XPostgresqlInstance","plural":"xpostgresqlinstances"}
  claim {"kind":"PostgresqlInstance","plural":"postgresqlinstances"}
  composition {"name":"a9s-postgresql"}, delete policy "Foreground"
  version ["v1",true,true]
  spec: object, required
  spec rule: Unsupported service used for postgresql
  spec rule: Unsupported plan used for postgresql
  spec rule: Bionic plans are only supported by a9s PostgreSQL 13
  spec rule: Transition from bigger to smaller plan size is not supported.
  spec rule: Plan migrations not possible from Non-SSL to SSL and SSL to Non-SSL
  spec rule: Plan migrations not possible from Non-Bionic to Bionic and Bionic to Non-Bionic
  spec rule: Migration from replicated to single Data Service Instance is not supported.
  spec rule: parameters.maxLocksPerTransaction is not supported for a9s-postgresql
  spec rule: parameters.sslCiphers is not supported for a9s-postgresql
  spec rule: parameters.sslMinProtocolVersion is not supported for a9s-postgresql
  spec.service: string maxLength 64, required
  spec.service rule: Service is an immutable field
  spec.plan: string maxLength 64, required
  spec.acceptsIncomplete: boolean
  spec.expose: string enum ["Internal","LoadBalancer"]
  spec.parameters: object
  spec.parameters.dataChecksums: string enum ["enabled","disabled"]
  spec.parameters.maxConnections: number
  spec.parameters.effectiveCacheSize: string
  spec.parameters.workMem: string
  spec.parameters.maintenanceWorkMem: string
  spec.parameters.tempFileLimit: integer
  spec.parameters.tempFileLimit rule: Must be either -1 (no limit) or a limit specified in kilobytes
  spec.parameters.trackIoTiming: string enum ["on","off"]
  spec.parameters.archiveTimeout: integer
  spec.parameters.statementTimeout: integer
  spec.parameters.idleInTransactionSessionTimeout: integer minimum 0
  spec.parameters.rolePrivileges: list of string enum ["CREATEDB","CREATEROLE","REPLICATION"]
  spec.parameters.walLevelLogical: boolean
  spec.parameters.walWriterDelay: integer minimum 1
  spec.parameters.maxReplicationSlots: integer minimum 0
  spec.parameters.maxWalSenders: integer minimum 0
  spec.parameters.synchronousCommit: string enum ["on","off","local","remote_write","remote_apply"]
  spec.parameters.clientMinMessages: string enum [${severities},"LOG","NOTICE","WARNING","ERROR"]
  spec.parameters.logMinMessages: string enum [${serverSeverities}]
  spec.parameters.logMinErrorStatement: string enum [${serverSeverities}]
  spec.parameters.logStatement: string enum ["none","ddl","mod","all"]
  spec.parameters.logErrorVerbosity: string enum ["DEFAULT","VERBOSE","TERSE"]
  spec.parameters.maxLocksPerTransaction: integer minimum 10
  spec.parameters.sslCiphers: string
  spec.parameters.sslMinProtocolVersion: string enum ["TLSv1","TLSv1.1","TLSv1.2","TLSv1.3"]
  status: object
  status.managed: object free`;

/** §5.4. The references are immutable here (8.4 item 10). */
const serviceBinding = `
  name xservicebindings.anynines.com
  composite {"kind":"XServiceBinding","plural":"xservicebindings"}
  claim {"kind":"ServiceBinding","plural":"servicebindings"}
  composition {"name":"a9s-servicebinding"}, delete policy none
  version ["v1",true,true]
  spec: object, required
  spec.instanceRef: string maxLength 253, required
  spec.instanceRef rule: InstanceRef is an immutable field
  spec.serviceInstanceType: string enum ["keyvalue","postgresql","mongodb","search","logme2","prometheus","messaging","mariadb"], required
  spec.serviceInstanceType rule: ServiceInstanceType is an immutable field
  spec.acceptsIncomplete: boolean
  status: object
  status.managed: object free`;

const tables: readonly (readonly [CompositeResourceDefinition, string])[] = [
  [postgresqlInstanceXrd, postgresqlInstance],
  [serviceBindingXrd, serviceBinding],
];
const lines = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .toSorted();

const xrdVersions = schema.list(
  schema.object({
    name: schema.string(),
    served: schema.boolean(),
    referenceable: schema.boolean(),
    schema: schema.object({ openAPIV3Schema: schema.anyObject() }),
  }),
  { minItems: 1, maxItems: 1 },
);

function describeXrd({ metadata, spec }: CompositeResourceDefinition): readonly string[] {
  const { names, claimNames, defaultCompositionRef, defaultCompositeDeletePolicy: policy, versions } = spec;
  assert.ok(schema.accepts(xrdVersions, versions));
  const json = JSON.stringify;
  return [
    `name ${metadata.name}`,
    `composite ${json(names)}`,
    `claim ${json(claimNames)}`,
    `composition ${json(defaultCompositionRef)}, delete policy ${policy === undefined ? "none" : json(policy)}`,
    ...versions.map(({ name, served, referenceable }) => `version ${json([name, served, referenceable])}`),
    ...versions.flatMap((version) => contractLines(version.schema.openAPIV3Schema)),
  ].toSorted();
}

for (const [xrd, text] of tables) {
  test(`every field, enum and rule of ${xrd.metadata.name} is the reference's`, () => {
    assert.deepEqual(describeXrd(xrd), lines(text));
  });
}

test("the broker's key of every parameter is the reference's", () => {
  const special: Readonly<Record<string, string>> = {
    logMinMessages: "pg_log_min_messages",
    logMinErrorStatement: "pg_log_min_error_statement",
  };
  for (const { name, brokerKey } of postgresqlParameters) {
    const snakeCase = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    assert.equal(brokerKey, special[name] ?? snakeCase);
  }
});

test("there are twenty plans, each by its size, its shape and its variant", () => {
  assert.equal(new Set(postgresqlPlans).size, 20);
  for (const plan of postgresqlPlans)
    assert.match(
      plan,
      /^postgresql-(single-(nano|small|big)|replica-(small|big))(-bionic|-ssl|-ssl-bionic)?$/,
    );
});

test("every composite has the Composition that its definition names, and the Composition our function", () => {
  for (const { spec } of xrds) {
    const { names, defaultCompositionRef } = spec;
    const composition = compositions.find(
      ({ metadata }) => JSON.stringify(metadata) === JSON.stringify(defaultCompositionRef),
    );
    assert.ok(composition !== undefined, JSON.stringify(defaultCompositionRef));
    const text = JSON.stringify(composition.spec);
    assert.ok(text.includes(`"functionRef":{"name":"${functionName}"}`));
    assert.ok(JSON.stringify(names).includes(/"kind":"(\w+)"/.exec(text)?.[1] ?? "none"));
  }
});

test("claims are served under the names the rest of Klutch uses for them", () => {
  for (const [{ spec }, resource] of [
    [postgresqlInstanceXrd, postgresqlInstanceClaims],
    [serviceBindingXrd, serviceBindingClaims],
  ] as const) {
    assert.deepEqual(spec["claimNames"], { kind: resource.kind, plural: resource.plural });
    assert.equal(spec["group"], resource.group);
  }
});

test("8.4 item 10: the Configuration depends on the function and the provider it needs", () => {
  const text = JSON.stringify(configurationMeta("registry.example.org"));
  for (const repository of [packageRepositories.function, packageRepositories.provider])
    assert.ok(text.includes(`"package":"registry.example.org/${repository}"`));
  // Crossplane names what it installs for a dependency after the repository's path.
  assert.equal(functionName, packageRepositories.function.replace("/", "-"));
  assert.equal(providerName, packageRepositories.provider.replace("/", "-"));
});
