import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { againstOrder, largeFolders, lines, longFiles, sizes, typeCycles, valueCycles } from './measures.js';
import { longPages } from './pages.js';
import { ROOT } from './sources.js';
import { allowed, compared, LIST, vocabulary } from './vocabulary.js';
import { WALKS, walked } from './walks.js';

/** `npm run architecture`: prints how the source is built. `-- --write` writes the counts of the vocabulary that shrank. */

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const list = (title: string, items: readonly string[]): void => {
  print(`${title}: ${items.length}`);
  for (const item of items) print(`  ${item}`);
};

const { files, lines: all, median, longest, exceptions } = sizes();
print(`${files} files, ${all} lines, median ${median}, longest ${longest}`);
list(
  'folders over 25 files',
  largeFolders().map(([folder, count]) => `${folder} ${count}`),
);
list(
  'files over 400 lines',
  longFiles().map((path) => `${path} ${lines(path)}`),
);
list(
  'value cycles',
  valueCycles().map((cycle) => cycle.join(' ')),
);
list(
  'type cycles',
  typeCycles().map((cycle) => `${cycle.length}: ${cycle.join(' ')}`),
);
print(`imports against the order of shelves: ${againstOrder().length} (listed in test/shelves.ts: ${exceptions})`);
print('walks (files that control passes through; with what these functions call):');
for (const walk of WALKS) {
  const { files: passed, beside, problems } = walked(walk);
  print(`  ${walk.name}: ${passed.length}, target ${walk.most}; ${beside.length}`);
  for (const problem of problems) print(`    broken: ${problem}`);
}
list('pages over 600 words, without generated parts', longPages());

const now = vocabulary();
const total = Object.values(now).reduce((sum, one) => ({
  idioms: sum.idioms + one.idioms,
  names: sum.names + one.names,
}));
print(`vocabulary: ${total.idioms} idioms, ${total.names} metaphors in names`);
const { grown, shrunk } = compared(now, allowed());
list('more than scripts/architecture/vocabulary.json allows', grown);
list('less than it allows', shrunk);
if (process.argv.includes('--write') && grown.length === 0) {
  const text = `${JSON.stringify(now, null, 2)}\n`;
  if (readFileSync(LIST, 'utf8') !== text) writeFileSync(LIST, text);
  print(`${join('.', LIST.slice(ROOT.length + 1))} written`);
}
