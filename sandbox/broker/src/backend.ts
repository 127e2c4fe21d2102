/** What makes instances of one kind of service real. */
import type { Binding, Instance } from "./store.ts";

/** It judges no request. Every step can be repeated after a crash. */
export interface Backend {
  /** Makes the instance if it is not there, and brings it and its bindings to its plan and parameters. */
  ensure(instance: Instance, bindings: readonly Binding[]): Promise<void>;
  /** The same for one that must be there: one that was lost is never made again, empty. */
  refresh(instance: Instance, bindings: readonly Binding[]): Promise<void>;
  /** Takes it away with everything it holds, whoever is connected. */
  drop(instance: Instance, bindings: readonly Binding[]): Promise<void>;
  /** Makes the binding's login; repeating it gives the same credentials and undoes what the login did to itself. */
  bind(binding: Binding, instance: Instance): Promise<Readonly<Record<string, unknown>>>;
  /** Ends the login's sessions and takes it away; what it made stays. */
  unbind(binding: Binding, instance: Instance): Promise<void>;
  /** The same answer for the same binding. */
  credentials(binding: Binding): Promise<Readonly<Record<string, unknown>>>;
}
