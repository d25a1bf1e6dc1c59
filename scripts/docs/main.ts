import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_ROUTES, clientRoutes } from './client-routes.js';
import { filled, generatedPages, ROOT } from './generated.js';

/** `npm run docs`: writes the generated blocks of all pages, and the routes of the client. */
function write(file: string, next: (text: string) => string): void {
  const path = join(ROOT, file);
  const text = readFileSync(path, 'utf8');
  if (next(text) === text) return;
  writeFileSync(path, next(text));
  process.stdout.write(`${file} written\n`);
}

for (const page of generatedPages()) write(page, filled);
write(CLIENT_ROUTES, clientRoutes);
