import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filled, generatedPages, ROOT } from './generated.js';

/** `npm run docs`: writes the generated blocks of all pages. */
for (const page of generatedPages()) {
  const path = join(ROOT, page);
  const text = readFileSync(path, 'utf8');
  const next = filled(text);
  if (next !== text) {
    writeFileSync(path, next);
    process.stdout.write(`${page} written\n`);
  }
}
