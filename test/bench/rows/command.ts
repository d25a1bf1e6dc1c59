import { join } from 'node:path';
import { spreadOf } from '../figures.js';
import { newPlace } from '../place.js';
import { startProcess } from '../process.js';
import type { Row } from '../row.js';

const CHILD = join(import.meta.dirname, '..', 'command-child.js');
/** The first is not counted: nothing of the process is warm. */
const RUNS = 7;
const COMMANDS = 6;

const DOCKER_HOST = process.env['DOCKER_HOST'] ?? process.env['HOLDFAST_TEST_DOCKER_HOST'];
const IMAGE = process.env['BENCH_IMAGE'] ?? 'holdfast-test/busybox:1';

export const hasDocker = (): boolean => DOCKER_HOST !== undefined;

/** What a durable command of a run costs against a container for each. The first of a run makes the container. */
export const COMMAND: Row = {
  name: 'command',
  title: 'a durable command of a run, against a container for each, PostgreSQL and a container engine',
  needsPostgres: true,
  needsDocker: true,
  sides: ['holdfast', 'docker', 'docker run'],
  measure: async (side, scale) => {
    const place = await newPlace('postgres');
    const runs = scale === 'quick' ? 3 : RUNS;
    const job = { place, dockerHost: DOCKER_HOST, image: IMAGE, side, runs, commands: COMMANDS };
    const child = startProcess([CHILD, JSON.stringify(job)]);
    const took = ((await child.line()) as number[][]).slice(1);
    await child.gone;
    // A container for each command is as far as a first one of a run has to go, each time.
    const later = took.flatMap(([first = Number.NaN, ...others]) => (others.length > 0 ? others : [first]));
    const firsts = took.flatMap(([first = Number.NaN]) => first);
    return {
      'the first': { value: spreadOf(firsts).median, unit: 'ms' },
      'p50 of the others': { value: spreadOf(later).median, unit: 'ms' },
    };
  },
};
