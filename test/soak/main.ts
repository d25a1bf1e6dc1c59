import { parseArgs } from 'node:util';
import { hasPostgres } from '../bench/place.js';
import { soak } from './soak.js';
import { steady } from './steady.js';

/**
 * `npm run soak`: lets workers run, kills them and their database at random, and looks whether everything came out right. With
 * `--steady postgres` or `--steady pglite`: lets one process work lightly and undisturbed, and looks whether it grows.
 */

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now()) },
    workers: { type: 'string', default: '3' },
    steady: { type: 'string' },
    rate: { type: 'string', default: '2' },
  },
});

const minutes = Number(options.minutes);
const workers = Number(options.workers);
const perSecond = Number(options.rate);
const say = (line: string): void => console.log(line);
if (!(minutes > 0)) throw new Error(`--minutes is ${options.minutes}; expected more than 0.`);
if (!(perSecond > 0 && perSecond <= 20)) throw new Error(`--rate is ${options.rate}; expected more than 0, up to 20.`);
if (!Number.isSafeInteger(workers) || workers < 2)
  throw new Error(`--workers is ${options.workers}; expected 2 or more, of which one is spared.`);

async function undisturbed(database: string): Promise<readonly string[]> {
  if (database !== 'postgres' && database !== 'pglite')
    throw new Error(`--steady is ${database}; expected postgres or pglite.`);
  if (database === 'postgres' && !hasPostgres())
    throw new Error('DATABASE_URL is not set; expected a server where databases may be made.');
  const problems = await steady({ database, minutes, perSecond, say });
  for (const problem of problems.slice(0, 30)) say(`PROBLEM ${problem}`);
  say(problems.length === 0 ? 'all is well' : `${problems.length} problems`);
  return problems;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const problems =
  options.steady === undefined
    ? await soak({ minutes, seed: options.seed, workers, say })
    : await undisturbed(options.steady);
process.exit(problems.length === 0 ? 0 : 1);
