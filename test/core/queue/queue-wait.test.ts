import { expect, it } from 'vitest';
import { type LimitInForce, type QueueFacts, queueWaitOf } from '../../../src/core/queue/queue-wait.js';

const READY: QueueFacts = {
  ...{ needsContainer: false, engine: null, begins: true, limits: [] },
  ...{ workers: 2, ofVersion: 2, withEngine: 0, withCapacity: 1, requires: null, withRequired: 0 },
};
const REQUIRING = { needsContainer: true, withEngine: 2, withRequired: 1, requires: { cpuCores: 4 }, withCapacity: 0 };
const LIMIT: LimitInForce = {
  ...{ kind: 'agent', name: 'payer', concurrency: 3, busy: 2 },
  ...{ rateRuns: 5, ratePerMs: 1000, begun: 4 },
};

it.each<readonly [string, Partial<QueueFacts>, string]>([
  ['nothing is in the way', {}, 'turn'],
  ['no worker is at work', { workers: 0, ofVersion: 0, withCapacity: 0 }, 'worker'],
  ['all workers are of another version', { ofVersion: 0, withCapacity: 0 }, 'version'],
  ['no engine answers', { needsContainer: true }, 'container_engine'],
  ['no worker has the engine of its container', { needsContainer: true, engine: 'one' }, 'container_engine'],
  ['the workers with an engine have no room', { needsContainer: true, withEngine: 1, withCapacity: 0 }, 'capacity'],
  [
    'no worker has what it requires',
    { needsContainer: true, withEngine: 1, requires: { cpuCores: 4 } },
    'requirements',
  ],
  ['the workers that have it have no room', REQUIRING, 'capacity'],
  ['limits leave room', { limits: [LIMIT] }, 'turn'],
  ['as many runs are at work as may be', { limits: [LIMIT, { ...LIMIT, kind: 'tenant', busy: 3 }] }, 'limit'],
  ['as many runs have begun as may begin', { limits: [{ ...LIMIT, begun: 5 }] }, 'rate'],
  ['a rate holds back no run that has begun', { begins: false, limits: [{ ...LIMIT, begun: 5 }] }, 'turn'],
  ['there is no limit', { limits: [{ ...LIMIT, concurrency: null, busy: 9, rateRuns: null, begun: 9 }] }, 'turn'],
  ['workers are full', { withCapacity: 0 }, 'capacity'],
])('says why a run is in the queue where %s', (_, facts, code) => {
  expect(queueWaitOf({ ...READY, ...facts }).code).toBe(code);
});

it('names what has the limit', () => {
  const limits: readonly LimitInForce[] = [{ ...LIMIT, kind: 'model', name: 'm', busy: 3 }];
  expect(queueWaitOf({ ...READY, limits }).detail).toBe('The model "m" has reached its limit of 3 at work.');
  const tenants: readonly LimitInForce[] = [{ ...LIMIT, kind: 'tenants', name: '', busy: 3 }];
  expect(queueWaitOf({ ...READY, limits: tenants }).detail).toMatch(/^The tenant has reached/);
});

it('names the engine that has the container of a run', () => {
  const facts = { ...READY, needsContainer: true, engine: 'one' };
  expect(queueWaitOf(facts).detail).toContain('on the engine one, and no worker has this engine');
});

it('names what a run requires of a worker', () => {
  const requires = { labels: { gpu: 'a100' }, architecture: 'arm64', cpuCores: 4, memoryMb: 512 };
  expect(queueWaitOf({ ...READY, needsContainer: true, withEngine: 1, requires }).detail).toBe(
    'The run requires the label gpu=a100, the architecture arm64, 4 processors and 512 MB of memory, and no worker with a container engine has that.',
  );
});
