/** Every data service, and what is derived from the list of them. No I/O. */
export { compositions } from "./compositions.ts";
export {
  brokerParameters,
  type DataService,
  functionResource,
  providerConfigName,
  typeOfProviderConfig,
} from "./data-service.ts";
export { type ExampleFile, exampleFiles } from "./examples.ts";
export { exportTemplates } from "./export-templates.ts";
export { bindingResource } from "./function-input.ts";
export { services, serviceOfType } from "./list.ts";
export { pageOf } from "./page.ts";
export { type UsualTimes, usualTimes } from "./usual-times.ts";
export { type CompositeResourceDefinition, xrds } from "./xrds.ts";
