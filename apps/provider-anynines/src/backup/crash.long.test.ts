import { testBackups } from "../testing/backup-lives.ts";
import { everyFault } from "../testing/fault-plans.ts";

await testBackups(everyFault, 50);
