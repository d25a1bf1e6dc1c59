import { expect, it } from 'vitest';
import { collectable, type EngineImage, type PulledImage } from '../../../src/core/containers/image-collection.js';
import { fullImageName, imagePolicy } from '../../../src/core/containers/image-policy.js';

const NOW = 1_000_000_000_000;
const HOUR = 3_600_000;
const image = (id: string, changes: Partial<EngineImage> = {}): EngineImage => ({
  ...{ id, names: [`r.io/${id}:1`], sizeBytes: 10, isUsed: false },
  ...changes,
});
const pulled = (id: string, hours: number, names = [`r.io/${id}:1`]): PulledImage => ({
  ...{ id, names, usedAt: new Date(NOW - hours * HOUR) },
});
const due = (images: readonly EngineImage[], own: readonly PulledImage[], needed: readonly string[], collect: object) =>
  collectable(images, own, needed, { keep: [], ...collect }, NOW).map((one) => `${one.image.id} ${one.reason}`);

it('collects what was pulled and has been unused for long, the longest unused first', () => {
  const images = ['a', 'b', 'c', 'd'].map((id) => image(id));
  const own = [pulled('a', 30), pulled('b', 50), pulled('c', 2)];
  expect(due(images, own, [], { unusedHours: 24 })).toEqual(['b unused', 'a unused']);
  expect(due(images, own, [], { aboveGb: 1 })).toEqual(['b space', 'a space', 'c space']);
  expect(due(images, own, [], { unusedHours: 24, aboveGb: 1 })).toEqual(['b unused', 'a unused', 'c space']);
});

it('leaves what is needed, used, kept, new, gone, or named by others', () => {
  const leaves = (one: EngineImage | null, needed: string[] = [], keep: string[] = [], hours = 50) =>
    expect(due(one === null ? [] : [one], [pulled('a', hours)], needed, { aboveGb: 1, keep })).toEqual([]);
  leaves(null);
  leaves(image('a', { isUsed: true }));
  leaves(image('a'), ['r.io/a:1']);
  leaves(image('a'), [], ['r.io/a:1']);
  leaves(image('a'), [], [], 0.1);
  leaves(image('a', { names: ['r.io/a:1', 'mine:1'] }));
  const digest = `sha256:${'a'.repeat(64)}`;
  expect(due([image(digest)], [pulled(digest, 50)], ['a'.repeat(64)], { aboveGb: 1 })).toEqual([]);
  // Its tag is another image's now.
  expect(due([image('a', { names: [] })], [pulled('a', 50)], ['r.io/a:1'], { aboveGb: 1 })).toEqual(['a space']);
});

it('knows an image by each of its names', () => {
  const same = ['python', 'python:latest', 'library/python', 'docker.io/python', 'docker.io/library/python:latest'];
  expect(new Set(same.map(fullImageName))).toEqual(new Set(['docker.io/library/python:latest']));
  expect(fullImageName('r.io:5000/o/i')).toBe('r.io:5000/o/i:latest');
  expect(fullImageName('r.io:5000/o/i:2@sha256:aa')).toBe('r.io:5000/o/i@sha256:aa');
  expect(fullImageName('f'.repeat(64))).toBe(`sha256:${'f'.repeat(64)}`);
});

it('is refused without a bound, and where a removed image is not pulled again', () => {
  const problems = (collect: object, pull: string) =>
    imagePolicy.safeParse({ pull, collect }).error?.issues.map(({ path, message }) => `${path.join('/')} ${message}`);
  expect(problems({}, 'missing')).toEqual(['collect names neither unusedHours nor aboveGb']);
  expect(problems({ unusedHours: 1 }, 'never')).toEqual([expect.stringContaining('collect needs `pull: missing`')]);
  expect(problems({ unusedHours: 1 }, 'always')).toBeUndefined();
  expect(imagePolicy.safeParse({ ahead: ['python:3.13'] }).success).toBe(false);
});
