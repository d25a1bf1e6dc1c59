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

/** As a fast model does before it answers. */
const THINKS_MS = 1000;

/** The first command of a run alone: of a container that is opened beside the first model call, against one that the command opens. */
export const FIRST_COMMAND: Row = {
  name: 'first-command',
  title: 'the first command of a run whose container is opened early, against one that the command opens',
  needsPostgres: true,
  needsDocker: true,
  notQuick: true,
  sides: ['early', 'holdfast', 'docker run'],
  measure: async (side, scale) => {
    const place = await newPlace('postgres');
    const runs = scale === 'quick' ? 3 : RUNS;
    const job = { place, dockerHost: DOCKER_HOST, image: IMAGE, side, runs, commands: 1, thinksMs: THINKS_MS };
    const child = startProcess([CHILD, JSON.stringify(job)]);
    const took = ((await child.line()) as number[][]).slice(1).flat();
    await child.gone;
    return { 'the first': { value: spreadOf(took).median, unit: 'ms' } };
  },
};

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
