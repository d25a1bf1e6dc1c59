import { expect, it } from 'vitest';
import { PulledLayers } from '../../../src/containers/docker/pull-image.js';

it('adds up the layers of a pull as an engine tells them', () => {
  const layers = new PulledLayers();
  const tell = (id: string, status: string, current?: number, total?: number): void =>
    layers.add({ id, status, progressDetail: { ...(current && { current }), ...(total && { total }) } });
  for (const strange of [
    null,
    'Downloading',
    { status: 'Pulling from library/busybox', id: '1' },
    { id: 7, status: '' },
  ])
    layers.add(strange);
  expect(layers.sum()).toEqual({ doneBytes: 0, totalBytes: 0 });
  tell('a', 'Downloading', 10, 100);
  tell('b', 'Downloading', 5, 50);
  tell('c', 'Already exists');
  expect(layers.sum()).toEqual({ doneBytes: 15, totalBytes: 150 });
  tell('a', 'Download complete');
  tell('a', 'Extracting', 3, 100);
  tell('b', 'Pull complete');
  expect(layers.sum()).toEqual({ doneBytes: 150, totalBytes: 150 });
});
