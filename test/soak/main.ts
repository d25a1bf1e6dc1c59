import { parseArgs } from 'node:util';
import { soak } from './soak.js';

/** `npm run soak`: lets workers run, kills them and their database at random, and looks whether everything came out right. */

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now()) },
    workers: { type: 'string', default: '3' },
  },
});

const minutes = Number(options.minutes);
const workers = Number(options.workers);
if (!(minutes > 0)) throw new Error(`--minutes is ${options.minutes}; expected more than 0.`);
if (!Number.isSafeInteger(workers) || workers < 2)
  throw new Error(`--workers is ${options.workers}; expected 2 or more, of which one is spared.`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const problems = await soak({ minutes, seed: options.seed, workers, say: (line) => console.log(line) });
process.exit(problems.length === 0 ? 0 : 1);
