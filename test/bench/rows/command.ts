import { join } from 'node:path';
import { spreadOf } from '../figures.js';
import { newPlace } from '../place.js';
import { startProcess } from '../process.js';
import type { Row } from '../row.js';

const CHILD = join(import.meta.dirname, '..', 'command-child.js');
const COMMANDS = 40;

const DOCKER_HOST = process.env['DOCKER_HOST'] ?? process.env['HOLDFAST_TEST_DOCKER_HOST'];
const IMAGE = process.env['BENCH_IMAGE'] ?? 'holdfast-test/busybox:1';

export const hasDocker = (): boolean => DOCKER_HOST !== undefined;

/** What a durable command of a run costs against a container for each. The first of a run makes the container. */
export const COMMAND: Row = {
  name: 'command',
  title: 'a durable command of a run, against a container for each, PostgreSQL and a container engine',
  needsPostgres: true,
  needsDocker: true,
  sides: ['holdfast', 'docker'],
  measure: async (side, scale) => {
    const place = await newPlace('postgres');
    const commands = scale === 'quick' ? COMMANDS / 2 : COMMANDS;
    const job = { place, dockerHost: DOCKER_HOST, image: IMAGE, side, commands };
    const child = startProcess([CHILD, JSON.stringify(job)]);
    const [first = Number.NaN, ...others] = (await child.line()) as number[];
    await child.gone;
    return {
      'the first': { value: first, unit: 'ms' },
      'p50 of the others': { value: spreadOf(others).median, unit: 'ms' },
    };
  },
};
