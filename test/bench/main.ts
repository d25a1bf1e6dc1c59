import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { type Figure, figuresOf, tableOf } from './figures.js';
import { documentedRatios, worseThanDocumented } from './gate.js';
import { dropAll, dropPlaces, hasPostgres, onServer } from './place.js';
import { killAll } from './process.js';
import type { Row, Scale, Values } from './row.js';
import { hasDocker } from './rows/command.js';
import { ROWS } from './rows.js';

/** `npm run bench`: measures Holdfast against plain DBOS, in turns, and prints a table. */

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    list: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
  },
});

const scale: Scale = options.quick ? 'quick' : 'full';
const rounds = Number(options.rounds ?? (options.quick ? 2 : 4));
if (!Number.isSafeInteger(rounds) || rounds < 1) throw new Error(`--rounds is ${options.rounds}; expected 1 or more.`);

function chosenRows(): readonly Row[] {
  if (options.only === undefined)
    return ROWS.filter((row) => row.onDemand !== true && !(options.quick && row.notQuick));
  const names = options.only.split(',');
  const unknown = names.filter((name) => !ROWS.some((row) => row.name === name));
  if (unknown.length > 0)
    throw new Error(`There is no row ${unknown.join(', ')}. Known: ${ROWS.map((row) => row.name).join(', ')}.`);
  return ROWS.filter((row) => names.includes(row.name));
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

const progress = (text: string): void => void process.stderr.write(`${text}\n`);

async function measure(row: Row): Promise<readonly Figure[]> {
  const done: Map<string, Values>[] = [];
  for (let round = 0; round < Math.min(rounds, row.roundsMax ?? rounds); round++) {
    const values = new Map<string, Values>();
    for (const side of row.sides) {
      values.set(side, await row.measure(side, scale));
      await dropPlaces();
      progress(`${row.name}, round ${round + 1}, ${side}: ${briefly(values.get(side) ?? {})}`);
    }
    done.push(values);
  }
  return figuresOf(row, done);
}

const briefly = (values: Values): string =>
  Object.entries(values)
    .map(([figure, { value, unit }]) => `${figure} ${value.toPrecision(4)} ${unit}`)
    .join(', ');

async function machine(): Promise<object> {
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  const about = { cores: cpus().length, memoryGb, node: process.version };
  if (!hasPostgres()) return { ...about, postgres: null };
  const asked = "select version(), current_setting('fsync') as fsync, current_setting('synchronous_commit') as commits";
  const [row] = await onServer(asked);
  const postgres = /PostgreSQL [\d.]+/.exec(String(row?.['version']))?.[0] ?? null;
  return { ...about, postgres, fsync: row?.['fsync'], synchronousCommit: row?.['commits'] };
}

async function main(): Promise<void> {
  if (options.list) return console.log(ROWS.map(({ name, title }) => `${name.padEnd(18)} ${title}`).join('\n'));
  const rows = chosenRows().filter((row) => {
    const missing = (row.needsPackages ?? []).filter((name) => !isInstalled(name));
    if (missing.length > 0) progress(`${row.name} is left out: npm install --no-save ${missing.join(' ')}`);
    if (row.needsPostgres && !hasPostgres()) progress(`${row.name} is left out: DATABASE_URL is not set`);
    if (row.needsDocker && !hasDocker()) progress(`${row.name} is left out: DOCKER_HOST is not set`);
    return missing.length === 0 && (!row.needsPostgres || hasPostgres()) && (!row.needsDocker || hasDocker());
  });
  const about = await machine();
  const figures: Figure[] = [];
  for (const row of rows) figures.push(...(await measure(row)));
  console.log(`${JSON.stringify(about)}, ${rounds} rounds${options.quick ? ', quick' : ''}\n\n${tableOf(figures)}`);
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ machine: about, rounds, scale, figures }, null, 2)}\n`);
  if (options.gate) gate(figures);
}

/** Exit code 1 where a ratio is worse than the page says. */
function gate(figures: readonly Figure[]): void {
  const page = readFileSync('docs/operate/measurements.md', 'utf8');
  const { judged, worse } = worseThanDocumented(figures, documentedRatios(page));
  console.log(`\n${judged} ratios compared with docs/operate/measurements.md, ${worse.length} worse`);
  for (const one of worse) console.log(`- ${one}`);
  if (worse.length > 0 || judged === 0) process.exitCode = 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.once('exit', killAll);
try {
  await main();
} finally {
  killAll();
  await dropAll();
}
