import { testBackups } from "../testing/backup-lives.ts";
import { inTurn } from "../testing/fault-plans.ts";

await testBackups(inTurn, 12);
