/** Removes from `dist` what no application reads, before npm packs it: declarations that no entry of the package reaches. */
import { readFileSync, rmSync } from 'node:fs';
import { normalize } from 'node:path';
import { z } from 'zod';
import { unreachable } from './declarations.js';

const manifest = z.object({ exports: z.record(z.string(), z.object({ types: z.string() })) });
const { exports } = manifest.parse(JSON.parse(readFileSync('package.json', 'utf8')));
const entries = Object.values(exports).map(({ types }) => normalize(types));
for (const file of unreachable('dist', entries)) rmSync(file);
// An incremental build would believe that they are still there.
rmSync('dist/.tsbuildinfo', { force: true });
