/** The second step of `npm run generate`: writes every generated file. */
import { generatedFiles } from "./files.ts";
import { writeGenerated } from "./write.ts";

for (const [path, content] of generatedFiles()) await writeGenerated(path, content);
