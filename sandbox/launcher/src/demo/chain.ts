/** The life of an instance as its developer sees it: claim, bind, write, back up, destroy, restore, delete. */
import { waitFor } from "@klutch/kube-testing";
import { claimResource } from "@klutch/services";
import type { Application, Credentials } from "./applications/application.ts";
import { claimFile, type DemoService } from "./claims.ts";
import { applyFiles, claimReady, deleteClaim, readCredentials, shared, type Workplace } from "./developer.ts";

/** A service and what an application does with it. */
export interface Chain {
  /** Name for people. */
  readonly title: string;
  readonly service: DemoService;
  readonly application: Application;
  /** Reason for the lack of backups; undefined if they are available. */
  readonly withoutBackups?: string | undefined;
}

const words = "Hello from app cluster A";
/** User name in the Secret, by whichever key the service has it. */
const userOf = (credentials: Credentials): string | undefined =>
  credentials["username"] ?? credentials["valkey.username"];

/** Lives it; throws when any step does not end as it should. */
export async function liveThrough(chain: Chain, base: Workplace): Promise<void> {
  const { service, application, title } = chain;
  const workplace: Workplace = { ...base, progress: base.progress.beside(title) };
  const { progress } = workplace;
  const instances = claimResource(service.kind);
  await applyFiles(workplace, claimFile(service, "instance"), claimFile(service, "binding"));
  await progress.step("both claims are Ready", async () => {
    await claimReady(workplace, instances, service.name);
    await claimReady(workplace, shared.bindings, service.name);
  });
  const credentials = await readCredentials(workplace, service.name);
  const { server, who } = await application.write(credentials, words);
  if (who !== userOf(credentials)) throw new Error(`${title} sees ${who}, not ${userOf(credentials)}`);
  progress.say(`${server} took from ${who}: ${await application.read(credentials)}`);
  if (chain.withoutBackups === undefined) await backUpAndRestore(chain, workplace, credentials);
  else progress.say(chain.withoutBackups);
  await deleteClaim(workplace, shared.bindings, service.name);
  await deleteClaim(workplace, instances, service.name);
  await waitFor(`${title} to be gone at the broker`, () => application.isGone(credentials), {
    timeoutMs: 60_000,
  });
}

/** Throws if the restored data differ from the original. */
async function backUpAndRestore(
  { service, application }: Chain,
  workplace: Workplace,
  credentials: Credentials,
): Promise<void> {
  const { progress } = workplace;
  await applyFiles(workplace, claimFile(service, "backup"));
  await progress.step("the Backup is Ready", () => claimReady(workplace, shared.backups, service.name));
  progress.say(await application.destroy(credentials));
  await applyFiles(workplace, claimFile(service, "restore"));
  await progress.step("the Restore is Ready", () => claimReady(workplace, shared.restores, service.name));
  const back = await application.read(credentials);
  if (back !== words) throw new Error(`after the restore there is "${back}", not "${words}"`);
  progress.say(`restored: ${back}`);
  await deleteClaim(workplace, shared.restores, service.name);
  await deleteClaim(workplace, shared.backups, service.name);
}
