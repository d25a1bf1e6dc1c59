import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Agent } from '@openai/agents';
import { createEngine } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { onServer } from '../bench/place.js';
import type { Arrivals } from './arrivals.js';
import { simulate } from './simulation.js';

/** `npm run simulate`: the dispatcher's rules under many workers, tenants and runs, by a clock of its own. Needs DATABASE_URL. */

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '100' },
    slots: { type: 'string', default: '10' },
    tenants: { type: 'string', default: '1000' },
    runs: { type: 'string', default: '100000' },
    arrivals: { type: 'string', default: 'burst' },
    dying: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
  },
});

const SERVER = process.env['DATABASE_URL'];
if (SERVER === undefined)
  throw new Error('DATABASE_URL is not set. Set it to a PostgreSQL on which databases may be made.');
if (values.arrivals !== 'burst' && values.arrivals !== 'backlog')
  throw new Error(`--arrivals is ${values.arrivals}; expected burst or backlog.`);
const counts = Object.fromEntries(
  (['workers', 'slots', 'tenants', 'runs', 'dying', 'seed'] as const).map((name) => [name, Number(values[name])]),
) as Record<'workers' | 'slots' | 'tenants' | 'runs' | 'dying' | 'seed', number>;
const wrong = Object.entries(counts).find(([, count]) => !Number.isSafeInteger(count) || count < 0);
if (wrong !== undefined) throw new Error(`--${wrong[0]} is no whole number.`);

const name = `holdfast_simulation_${randomBytes(6).toString('hex')}`;
await onServer(`create database ${name}`);
try {
  const databaseUrl = Object.assign(new URL(SERVER), { pathname: `/${name}` }).href;
  const place = { databaseUrl, dataDir: '' };
  await (await createEngine({ agents: [new Agent({ name: 'agent' })], databaseUrl, workerId: 'tables' })).stop();
  const database = await openDatabase(place);
  const begin = performance.now();
  const report = await simulate(database, { ...counts, arrivals: values.arrivals as Arrivals });
  await database.close();
  console.log(JSON.stringify({ ...counts, arrivals: values.arrivals, ...report }, null, 2));
  console.log(`${Math.round((performance.now() - begin) / 1000)} s of real time`);
} finally {
  await onServer(`drop database if exists ${name} with (force)`);
}
process.exit(0);
